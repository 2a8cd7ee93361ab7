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

// The fits, the most probable first. Unseen is a cause whose facts could not be read: it stays open.
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
	Experiment string      `json:"experiment"` // and the meaning of its outcomes
	Commands   []string    `json:"commands"`
}

// LocalProtection explains IBV_WC_LOC_PROT_ERR (4, vendor error 81 = 0x51): the HCA could not reach memory that was
// registered. It takes a pod's Snapshot and, where there is one, its node's: each fact is taken from that which has it.
func LocalProtection(all ...host.Snapshot) Autopsy {
	a := Autopsy{
		Error:      "IBV_WC_LOC_PROT_ERR",
		Experiment: "Run once with GPUDirect RDMA off. It works, slowly: the way between GPU and NIC is at fault (IOMMU, ACS, peer memory). It fails as before: registration of host memory is (locked memory, driver, firmware).",
		Commands:   []string{"export NCCL_NET_GDR_LEVEL=LOC"},
	}
	causes := []Candidate{translatedCause(all), acsCause(all), peerCause(all), memlockCause(all), vfCause(all)}
	named := map[Fit][]string{}
	for _, fit := range []Fit{Fits, Unseen, Excluded} {
		for _, c := range causes {
			if c.Fit == fit {
				a.Causes, named[fit] = append(a.Causes, c), append(named[fit], string(c.Check))
			}
		}
	}
	fits, open := named[Fits], named[Unseen]
	switch {
	case len(fits) == 1 && len(open) == 0:
		a.Verdict = "one cause fits: " + fits[0]
	case len(fits) > 0:
		a.Verdict = "fits: " + strings.Join(fits, ", ")
	default:
		a.Verdict = "none of the known causes fits what was read"
	}
	if len(open) > 0 {
		a.Verdict += "; not known: " + strings.Join(open, ", ")
	}
	return a
}

// caused fills a candidate from a finding.
func caused(f check.Finding) Candidate {
	return Candidate{Check: f.Check, Fit: Fits, Why: f.Summary, Evidence: f.Evidence, Fix: f.Fix}
}

func translatedCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: nccl.IOMMUPassthrough, Fit: Unseen, Why: "the type of no HCA's IOMMU group is known"}
	for _, s := range all {
		if f, translates := translated(&s); translates {
			return caused(f)
		}
		typed := slices.ContainsFunc(s.Devices, func(d host.Device) bool { return d.Function.Value.IOMMUType.IsKnown() })
		switch groups, known := s.IOMMU.Groups.Get(); {
		case typed:
			c.Fit, c.Why = Excluded, "the HCAs' IOMMU groups do not translate"
		case known && groups == 0:
			c.Fit, c.Why = Excluded, "there is no IOMMU"
		}
	}
	return c
}

func acsCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: ACSRedirect, Fit: Unseen, Why: "ACS of the bridges between GPUs and HCAs could not be read: look at the node"}
	for _, s := range all {
		if found := acsRedirect(&subject{Snapshot: s}); len(found) > 0 {
			return caused(found[0])
		}
		if len(s.GPUs) > 0 && len(s.Bridges) > 0 && !slices.ContainsFunc(s.Bridges, func(f host.Function) bool { return f.Config.ACS.IsUnreadable() }) {
			c.Fit, c.Why = Excluded, "no bridge between GPUs and HCAs redirects"
		}
	}
	return c
}

func peerCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: PeermemRegistered, Fit: Unseen, Why: "neither a peer-memory module nor what DMA-BUF needs is seen"}
	for _, s := range all {
		if found := peermem(&subject{Snapshot: s}); len(found) > 0 && found[0].Status > check.Pass {
			return caused(found[0])
		}
		works, known := nccl.DMABuf(s)
		switch {
		case len(s.GPUs) == 0:
		case works:
			c.Fit, c.Why = Excluded, "DMA-BUF works, and NCCL takes it before any peer-memory module"
		case len(s.GPUDirect.Peermem) > 0:
			c.Fit, c.Why = Fits, "GPU memory is registered by a peer-memory module, not DMA-BUF: one that was built against another network driver registers it wrongly"
			c.Evidence = []check.Evidence{{Source: s.GPUDirect.Peermem[0], Got: "there"}, {Source: "/proc/driver/nvidia/version", Got: "no DMA-BUF", Want: "Open Kernel Module"}}
			c.Fix = forAdmin("Use NVIDIA's open kernel modules (DMA-BUF), or build nvidia_peermem against the network driver that runs.", "modinfo nvidia_peermem", "ofed_info -s")
		case known:
			c.Fit, c.Why = Excluded, "GPUDirect RDMA is off: the NIC does not reach GPU memory at all"
		}
	}
	return c
}

// memlockCause: too little of it fails earlier, with ENOMEM; it is told because people suspect it first.
func memlockCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: MemlockLimit, Fit: Unseen, Why: "how much memory the process may lock is not known"}
	for _, s := range all {
		switch locks(s.Limits, len(s.Launched) > 0) {
		case enough:
			c.Fit, c.Why = Excluded, "memory is locked without a limit"
			return c
		case tooLittle, notEnforced:
			c.Fit, c.Why = Excluded, "the limit of locked memory is too small, but that fails earlier, with \"Cannot allocate memory\""
		case notRead:
		}
	}
	return c
}

func vfCause(all []host.Snapshot) Candidate {
	c := Candidate{Check: VFSettings, Fit: Excluded, Why: "nothing keeps the virtual functions from working"}
	virtual := false
	for _, s := range all {
		virtual = virtual || slices.ContainsFunc(s.Devices, host.Device.IsVirtual)
		for _, f := range vfSettings(&subject{Snapshot: s}) {
			if f.Status > check.Unknown {
				return caused(f)
			}
		}
		if slices.ContainsFunc(s.Links, func(l host.Link) bool { return len(l.VFs) > 0 }) {
			return c
		}
	}
	if virtual {
		c.Fit, c.Why = Unseen, "what the physical functions permit their virtual functions is seen on the node only"
	}
	return c
}
