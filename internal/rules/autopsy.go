package rules

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rules/machine"
)

// Fit says how well a cause matches the facts about the machines.
type Fit string

// The fits, the most probable first. The facts about an Unseen cause could not be read.
const (
	Fits     Fit = "fits"
	Unseen   Fit = "unknown"
	Excluded Fit = "excluded"
)

// Autopsy says which causes of an error fit a pod and its node, and how to tell the rest apart.
type Autopsy struct {
	Machines   []check.Ref `json:"machines"` // pods with the same answer
	Error      string      `json:"error"`
	Verdict    string      `json:"verdict"`
	Causes     []Suspect   `json:"causes"`     // the most probable first
	Experiment string      `json:"experiment"` // with the meaning of its outcomes
	Commands   []string    `json:"commands"`
}

// Suspect is a possible cause of an error.
type Suspect struct {
	Check    check.ID         `json:"check"` // its page
	Fit      Fit              `json:"fit"`
	Why      string           `json:"why"`
	Evidence []check.Evidence `json:"evidence,omitempty"`
	Fix      *check.Fix       `json:"fix,omitempty"`
}

// suspect is a cause that one check decides about: a finding is the reason why it fits.
type suspect struct {
	check  check.ID
	unseen string // why, if it was not read
	passed string // why it is excluded, if the check passed
	failed string // why it is excluded although the check failed; "": it fits then
}

// localProtection lists the causes of IBV_WC_LOC_PROT_ERR (4, vendor error 81 = 0x51), apart from peer memory: the HCA
// could not reach registered memory. People suspect locked memory first.
var localProtection = []suspect{
	{
		check:  nccl.IOMMUPassthrough,
		unseen: "the type of the HCAs' IOMMU groups is unknown",
		passed: "the HCAs' IOMMU groups do not translate, or there are none",
	},
	{
		check:  machine.ACSRedirect,
		unseen: "ACS of the bridges between GPUs and HCAs could not be read here, only on the node",
		passed: "no bridge between GPUs and HCAs redirects",
	},
	{
		check:  machine.MemlockLimit,
		unseen: "the locked-memory limit is unknown",
		passed: "locked memory is unlimited",
		failed: "the locked-memory limit is too small, but that fails earlier, with \"Cannot allocate memory\"",
	},
	{
		check:  machine.VFSettings,
		unseen: "only the node shows the settings of virtual functions",
		passed: "no setting keeps the virtual functions from working",
	},
}

// weigh returns how well the suspect fits what the checks of a pod and its node found.
func (s suspect) weigh(reports []check.Report) Suspect {
	weight, f, _ := check.Proof{ShownBy: []check.ID{s.check}, ExcludedBy: []check.ID{s.check}}.Weigh(reports)
	switch {
	case weight == check.Shown && s.failed != "":
		return Suspect{Check: s.check, Fit: Excluded, Why: s.failed}
	case weight == check.Shown:
		return Suspect{Check: s.check, Fit: Fits, Why: f.Summary, Evidence: f.Evidence, Fix: f.Fix}
	case weight == check.Excluded:
		return Suspect{Check: s.check, Fit: Excluded, Why: s.passed}
	}
	return Suspect{Check: s.check, Fit: Unseen, Why: s.unseen}
}

// peerMemory judges the registration of GPU memory by the way that NCCL takes.
func peerMemory(reports []check.Report, way nccl.Way) Suspect {
	c := suspect{
		check: machine.PeermemRegistered, unseen: "neither a peer-memory module nor support for DMA-BUF is visible",
	}.weigh(reports)
	switch {
	case c.Fit == Fits:
	case way == nccl.DMABuf:
		c.Fit, c.Why = Excluded, "DMA-BUF works, and NCCL prefers it to a peer-memory module"
	case way == nccl.NoWay:
		c.Fit, c.Why = Excluded, "GPUDirect RDMA is off: the NIC does not access GPU memory"
	case way == nccl.PeerMemory:
		c.Fit, c.Why = Fits, "a peer-memory module registers GPU memory, not DMA-BUF: "+
			"a module that was built against another network driver registers it wrongly"
		c.Evidence = []check.Evidence{
			{Source: "/sys/module/nvidia_peermem", Got: "present"},
			{Source: "/proc/driver/nvidia/version", Got: "no DMA-BUF", Want: "Open Kernel Module"},
		}
		c.Fix = check.ByAdmin("Use NVIDIA's open kernel modules (DMA-BUF), "+
			"or build nvidia_peermem against the current network driver.", "modinfo nvidia_peermem", "ofed_info -s")
	}
	return c
}

// autopsies returns the likely cause of IBV_WC_LOC_PROT_ERR in each pod, judged with its node if that was examined.
func autopsies(machines []Judged) []Autopsy {
	nodes := map[string]*Judged{}
	for i := range machines {
		if m := &machines[i]; m.IsNode() && m.Unreached == "" {
			nodes[m.Node] = m
		}
	}
	var all []Autopsy
	for i := range machines {
		m := &machines[i]
		if m.IsNode() || m.Unreached != "" {
			continue
		}
		reports := m.reports
		if node := nodes[m.Node]; node != nil {
			reports = slices.Concat(reports, node.reports)
		}
		a := newAutopsy(reports, m)
		k := slices.IndexFunc(all, func(known Autopsy) bool { return known.Verdict == a.Verdict })
		if k < 0 {
			k = len(all)
			all = append(all, a)
		}
		all[k].Machines = append(all[k].Machines, m.Ref)
	}
	return all
}

func newAutopsy(reports []check.Report, pod *Judged) Autopsy {
	a := Autopsy{
		Error: "IBV_WC_LOC_PROT_ERR",
		Experiment: "Run once with GPUDirect RDMA off. If it works, slowly, the path between GPU and NIC is at fault " +
			"(IOMMU, ACS, peer memory). If it fails as before, registering host memory is at fault " +
			"(locked memory, driver, firmware).",
		Commands: []string{"export NCCL_NET_GDR_LEVEL=LOC"},
	}
	for _, s := range localProtection {
		if s.check == machine.MemlockLimit {
			a.Causes = append(a.Causes, peerMemory(reports, pod.GPUDirect()))
		}
		c := s.weigh(reports)
		if s.check == machine.VFSettings && c.Fit == Unseen && !pod.hasVF() {
			c.Fit, c.Why = Excluded, s.passed
		}
		a.Causes = append(a.Causes, c)
	}
	order := []Fit{Fits, Unseen, Excluded}
	slices.SortStableFunc(a.Causes, func(x, y Suspect) int {
		return slices.Index(order, x.Fit) - slices.Index(order, y.Fit)
	})
	named := map[Fit][]string{}
	for _, c := range a.Causes {
		named[c.Fit] = append(named[c.Fit], string(c.Check))
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
