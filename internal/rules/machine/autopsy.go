package machine

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
)

// Fit says how well a cause matches the facts about the machines.
type Fit string

// The fits, the most probable first. The facts about an Unseen cause could not be read.
const (
	Fits     Fit = "fits"
	Unseen   Fit = "unknown"
	Excluded Fit = "excluded"
)

// Candidate is a possible cause of an error.
type Candidate struct {
	Check    check.ID         `json:"check"` // its page
	Fit      Fit              `json:"fit"`
	Why      string           `json:"why"`
	Evidence []check.Evidence `json:"evidence,omitempty"`
	Fix      *check.Fix       `json:"fix,omitempty"`
}

// Autopsy says which causes of an error fit a machine, and how to tell the rest apart.
type Autopsy struct {
	Error      string      `json:"error"`
	Verdict    string      `json:"verdict"`
	Causes     []Candidate `json:"causes"`     // the most probable first
	Experiment string      `json:"experiment"` // with the meaning of its outcomes
	Commands   []string    `json:"commands"`
}

// LocalProtection explains IBV_WC_LOC_PROT_ERR (4, vendor error 81 = 0x51): the HCA could not reach registered memory.
// It takes a pod's Snapshot and, if there is one, its node's, since each shows facts that the other does not.
func LocalProtection(all ...host.Snapshot) Autopsy {
	causes := []Candidate{translatedCause(all), acsCause(all), peerCause(all), memlockCause(all), vfCause(all)}
	a := Autopsy{
		Error: "IBV_WC_LOC_PROT_ERR",
		Experiment: "Run once with GPUDirect RDMA off. If it works, slowly, the path between GPU and NIC is at fault " +
			"(IOMMU, ACS, peer memory). If it fails as before, registering host memory is at fault " +
			"(locked memory, driver, firmware).",
		Commands: []string{"export NCCL_NET_GDR_LEVEL=LOC"},
	}
	named := map[Fit][]string{}
	for _, fit := range []Fit{Fits, Unseen, Excluded} {
		for _, c := range causes {
			if c.Fit == fit {
				a.Causes, named[fit] = append(a.Causes, c), append(named[fit], string(c.Check))
			}
		}
	}
	fits, unseen := named[Fits], named[Unseen]
	switch {
	case len(fits) == 1 && len(unseen) == 0:
		a.Verdict = "one cause fits: " + fits[0]
	case len(fits) > 0:
		a.Verdict = "fits: " + strings.Join(fits, ", ")
	default:
		a.Verdict = "no known cause fits"
	}
	if len(unseen) > 0 {
		a.Verdict += "; unknown: " + strings.Join(unseen, ", ")
	}
	return a
}

// confirm makes a finding the reason why a cause fits.
func (c Candidate) confirm(f check.Finding) Candidate {
	return Candidate{Check: c.Check, Fit: Fits, Why: f.Summary, Evidence: f.Evidence, Fix: f.Fix}
}

func translatedCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: nccl.IOMMUPassthrough, Fit: Unseen, Why: "the type of the HCAs' IOMMU groups is unknown"}
	for _, s := range all {
		if f, translates := translated(&s); translates {
			return c.confirm(f)
		}
		unread := func(d host.Device) bool { return !untranslated(&s, d.Function) }
		if len(s.Devices) > 0 && !slices.ContainsFunc(s.Devices, unread) {
			c.Fit, c.Why = Excluded, "the HCAs' IOMMU groups do not translate, or there are none"
		}
	}
	return c
}

func acsCause(all []host.Snapshot) Candidate {
	c := Candidate{
		Check: ACSRedirect, Fit: Unseen,
		Why: "ACS of the bridges between GPUs and HCAs could not be read here, only on the node",
	}
	for _, s := range all {
		found := acsRedirect(&subject{Snapshot: s})
		switch {
		case len(found) == 0:
			c.Fit, c.Why = Excluded, "no bridge between GPUs and HCAs redirects"
		case found[0].Status > check.Unknown:
			return c.confirm(found[0])
		}
	}
	return c
}

func peerCause(all []host.Snapshot) Candidate {
	c := Candidate{
		Check: PeermemRegistered, Fit: Unseen, Why: "neither a peer-memory module nor support for DMA-BUF is visible",
	}
	for _, s := range all {
		if found := peermem(&subject{Snapshot: s}); len(found) > 0 && found[0].Status > check.Pass {
			return c.confirm(found[0])
		}
		works, known := nccl.DMABuf(s)
		switch {
		case len(s.GPUs) == 0:
		case works:
			c.Fit, c.Why = Excluded, "DMA-BUF works, and NCCL prefers it to a peer-memory module"
		case len(s.GPUDirect.Peermem) > 0:
			c.Fit, c.Why = Fits, "a peer-memory module registers GPU memory, not DMA-BUF: "+
				"a module that was built against another network driver registers it wrongly"
			c.Evidence = []check.Evidence{
				{Source: s.GPUDirect.Peermem[0], Got: "present"},
				{Source: "/proc/driver/nvidia/version", Got: "no DMA-BUF", Want: "Open Kernel Module"},
			}
			c.Fix = check.ByAdmin("Use NVIDIA's open kernel modules (DMA-BUF), "+
				"or build nvidia_peermem against the current network driver.", "modinfo nvidia_peermem", "ofed_info -s")
		case known:
			c.Fit, c.Why = Excluded, "GPUDirect RDMA is off: the NIC does not access GPU memory"
		}
	}
	return c
}

// memlockCause never fits: too little locked memory fails earlier, with ENOMEM. It is listed because people suspect it
// first.
func memlockCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: MemlockLimit, Fit: Unseen, Why: "the locked-memory limit is unknown"}
	for _, s := range all {
		switch locks(&s) {
		case enough:
			c.Fit, c.Why = Excluded, "locked memory is unlimited"
			return c
		case tooLittle, notEnforced:
			c.Fit = Excluded
			c.Why = "the locked-memory limit is too small, but that fails earlier, with \"Cannot allocate memory\""
		case notRead:
		}
	}
	return c
}

func vfCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: VFSettings, Fit: Excluded, Why: "no setting keeps the virtual functions from working"}
	virtual := false
	for _, s := range all {
		for _, f := range vfSettings(&subject{Snapshot: s}) {
			if f.Status > check.Unknown {
				return c.confirm(f)
			}
		}
		if showsVFs(&s) {
			return c
		}
		virtual = virtual || slices.ContainsFunc(s.Devices, host.Device.IsVirtual)
	}
	if virtual {
		c.Fit, c.Why = Unseen, "only the node shows the settings of virtual functions"
	}
	return c
}
