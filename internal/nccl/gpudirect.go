package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// gdrLevels maps the values of NCCL_NET_GDR_LEVEL, case-sensitive (NCCL src/graph/paths.cc), to the greatest distance
// of GPU and NIC that each allows. NODE is a name of nvidia-smi, not of NCCL.
var gdrLevels = map[string]rail.Distance{
	"LOC": rail.Self, "NVL": rail.Self, "NVB": rail.Self, "C2C": rail.Self, // below PIX: no NIC is that near a GPU
	"PIX": rail.PIX, "PXB": rail.PXB, "P2C": rail.PXB, "PXN": rail.PXB, "PHB": rail.NODE, "SYS": rail.SYS,
}

// gdrDigits are the legacy values.
var gdrDigits = []string{"LOC", "PIX", "PXB", "PHB", "SYS"}

// GDRLevel checks a value for NCCL_NET_GDR_LEVEL. The error says how NCCL treats the value.
func GDRLevel(value string) error {
	if _, ok := gdrDistance(value); ok {
		return nil
	}
	if strings.EqualFold(value, "NODE") {
		return fmt.Errorf("%s is nvidia-smi's name for a distance: NCCL ignores it; use PHB", value)
	}
	return fmt.Errorf("NCCL ignores %q; levels are LOC, PIX, PXB, PHB, SYS (from 2.27 also P2C), in capitals", value)
}

func gdrDistance(value string) (rail.Distance, bool) {
	if value != "" && value[0] >= '0' && value[0] <= '9' {
		n, _ := number(value)
		value = gdrDigits[min(int(n), len(gdrDigits)-1)]
	}
	d, ok := gdrLevels[value]
	return d, ok
}

// Means reports whether a value of the variable has the same effect as its own. NCCL_NET_GDR_LEVEL has numbers for its
// words.
func (v Var) Means(value string) bool {
	a, isLevel := gdrDistance(v.Value)
	b, _ := gdrDistance(value)
	return v.Value == value || v.Name == "NCCL_NET_GDR_LEVEL" && isLevel && a == b
}

// gpuDirect sets the level that a flag gives, and reports where GPUDirect RDMA would be off, and why.
func (c *computation) gpuDirect() {
	limit := gdrLimit(c)
	topologyFile(c)
	if gpus := rail.GPUs(*c.s); len(gpus) == 0 || withoutGPUDirect(gpus) || !gpuDirectPossible(c) {
		return
	}
	c.gpuDirectDistance(limit)
	c.iommu()
}

// gdrLimit returns the greatest distance of GPU and NIC that NCCL allows. It computes no level, so that --override
// removes only unknown ones.
func gdrLimit(c *computation) rail.Distance {
	const name = "NCCL_NET_GDR_LEVEL"
	value, origin, set := c.s.UserSetting(name)
	limit, known := gdrDistance(value)
	switch {
	case c.policy.GDRLevel != "":
		c.set(name, c.policy.GDRLevel, Decided, "chosen with --gdr-level")
		limit, _ = gdrDistance(c.policy.GDRLevel)
		return limit
	case set && known:
		c.set(name, value, UserSet, "")
		return limit
	case set && c.policy.Override:
		c.leave(name, "NCCL does not know this level and uses its default")
	case set:
		c.set(name, value, UserSet, "")
		c.say(check.Finding{
			Check: GDRLevelKnown, Status: check.Warn, Subject: check.EnvRef(name),
			Summary:  GDRLevel(value).Error(),
			Evidence: []check.Evidence{{Source: origin, Got: value, Want: "LOC, PIX, PXB, PHB or SYS"}},
			Fix:      check.ByUser("Set one of NCCL's levels.", "export NCCL_NET_GDR_LEVEL=PHB"),
		})
	}
	return rail.PXB // NCCL's default
}

// peermem lists the files by which NCCL recognizes a peer-memory module (ncclIbGdrSupport in src/transport/net_ib.cc
// and net_ib/gdr.cc by tag), each with the versions that look for it.
var peermem = []struct {
	file        string
	from, until version // without until itself
}{
	{"/sys/kernel/mm/memory_peers/nv_mem/version", version{}, version{99}},
	{"/sys/kernel/mm/memory_peers/nvidia-peermem/version", version{}, version{2, 22, 0}},
	{"/sys/kernel/mm/memory_peers/nv_mem_nc/version", version{2, 22, 0}, version{99}},
	{"/sys/module/nvidia_peermem/version", version{2, 23, 0}, version{99}},
}

// withoutPeermem returns the versions of NCCL that look for none of the peer-memory files that exist.
func withoutPeermem(c *computation) []version {
	var all []version
	for _, v := range c.versions {
		sees := false
		for _, p := range peermem {
			sees = sees || slices.Contains(c.s.GPUDirect.Peermem, p.file) && !v.before(p.from) && v.before(p.until)
		}
		if !sees {
			all = append(all, v)
		}
	}
	return all
}

// gpuDirectPossible reports whether there is a peer-memory module that NCCL recognizes, or DMA-BUF: NVIDIA's open
// kernel modules and kernel 5.12 or later. GPUs of other vendors need neither.
func gpuDirectPossible(c *computation) bool {
	nvidia := func(g host.GPU) bool { return g.Function.Vendor.Value == "0x10de" }
	blind := withoutPeermem(c)
	if !slices.ContainsFunc(rail.GPUs(*c.s), nvidia) || len(c.s.GPUDirect.Peermem) > 0 && len(blind) == 0 {
		return true
	}
	works, known := worksByDMABuf(*c.s)
	if !works {
		c.sayImpossible(blind, known)
	}
	return works
}

func (c *computation) sayImpossible(blind []version, known bool) {
	f := check.Finding{
		Check: GPUDirectPossible, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Evidence: []check.Evidence{
			{Source: "/sys/module/nvidia_peermem", Got: "absent", Want: "loaded"},
			{
				Source: "/proc/driver/nvidia/version",
				Got:    openModules(c),
				Want:   "Open Kernel Module, with kernel 5.12 or later (DMA-BUF)",
			},
			{Source: "/proc/sys/kernel/osrelease", Got: c.s.Kernel.String()},
		},
		Fix: check.ByAdmin("Use NVIDIA's open kernel modules (GPU Operator: driver.kernelModuleType: open), "+
			"or load nvidia_peermem on the node.", "modprobe nvidia_peermem"),
	}
	module := "no peer-memory module"
	if found := c.s.GPUDirect.Peermem; len(found) > 0 {
		module = fmt.Sprintf("NCCL %s does not look for %s (2.23 and later do)", blind[0], found[0])
		f.Evidence[0] = check.Evidence{
			Source: found[0],
			Got:    "present",
			Want:   "a file that NCCL " + blind[0].String() + " looks for",
		}
		f.Fix = check.ByUser("Use NCCL 2.23 or later, or NVIDIA's open kernel modules.",
			"pip install -U nvidia-nccl-cu12")
	}
	switch {
	case !known:
		f.Status = check.Unknown
		f.Summary = "GPUDirect RDMA may be off: " + module + ", and support for DMA-BUF is unknown"
	case len(blind) < len(c.versions):
		f.Status = check.Unknown
		f.Summary = fmt.Sprintf("GPUDirect RDMA is off if the command loads NCCL %s and not %s: %s, no DMA-BUF",
			blind[0], c.versions[len(c.versions)-1], module)
	default:
		f.Summary = "GPUDirect RDMA is off: " + module + ", no DMA-BUF; GPU data goes through host memory"
	}
	if value, origin, off := dmaBufOff(c.s); off {
		f.Evidence = append(f.Evidence, check.Evidence{Source: origin, Got: dmaBufEnable + "=" + value})
		f.Fix = check.ByUser("Let NCCL use DMA-BUF.", "unset "+dmaBufEnable)
	}
	c.say(f)
}

const dmaBufEnable = "NCCL_DMABUF_ENABLE"

func dmaBufOff(s *host.Snapshot) (value, origin string, off bool) {
	value, origin, set := s.UserSetting(dmaBufEnable)
	n, ok := number(value)
	return value, origin, set && ok && n == 0
}

// worksByDMABuf reports whether NCCL can use DMA-BUF: driver and kernel have it, and the user did not turn it off
// (src/init.cc dmaBufSupported). It is not known in containers that do not show the driver's file.
func worksByDMABuf(s host.Snapshot) (works, known bool) {
	open, openKnown := s.GPUDirect.OpenModules.Get()
	recent, kernelKnown := kernelAtLeast(s.Kernel, 5, 12)
	_, _, off := dmaBufOff(&s)
	if off || openKnown && !open || kernelKnown && !recent {
		return false, true
	}
	return open && recent, openKnown && kernelKnown
}

// Way is how NICs reach the memory of GPUs.
type Way string

// The ways of GPUDirect RDMA. NCCL takes the first one that works.
const (
	DMABuf     Way = "DMA-BUF"
	PeerMemory Way = "peer-memory module"
	NoWay      Way = "none"
)

// GPUDirectWay returns the way that a machine with GPUs offers; "" if it has none or does not show it.
func GPUDirectWay(s host.Snapshot) Way {
	works, known := worksByDMABuf(s)
	switch {
	case len(rail.GPUs(s)) == 0:
	case withoutGPUDirect(rail.GPUs(s)):
		return NoWay
	case works:
		return DMABuf
	case len(s.GPUDirect.Peermem) > 0:
		return PeerMemory
	case known:
		return NoWay
	}
	return ""
}

func openModules(c *computation) string {
	switch open, known := c.s.GPUDirect.OpenModules.Get(); {
	case !known:
		return "absent"
	case open:
		return "open modules"
	default:
		return "closed modules"
	}
}

// kernelAtLeast compares "5.14.0-427.el9" with major.minor.
func kernelAtLeast(release host.Fact[string], major, minor int) (recent, known bool) {
	parts := strings.SplitN(release.Value, ".", 3)
	if !release.IsKnown() || len(parts) < 2 {
		return false, false
	}
	return slices.Compare([]int{host.Atoi(parts[0]), host.Atoi(parts[1])}, []int{major, minor}) >= 0, true
}

// gpuDirectDistance reports GPUs that are farther from every rail than NCCL accepts.
func (c *computation) gpuDirectDistance(limit rail.Distance) {
	gpus, matrix := rail.GPUs(*c.s), rail.Matrix(*c.s, c.rails)
	var far []string
	var evidence []check.Evidence
	worst := rail.PIX
	for g, row := range matrix {
		nearest, accepted := rail.Nearest(row), limit
		if byC2C(c, gpus[g]) {
			accepted = rail.NODE
		}
		unknown := nearest == rail.Unmeasured || rail.MayBeNearer(*c.s, gpus[g].Function, nearest)
		if unknown || !nearest.Farther(accepted) {
			continue
		}
		if nearest.Farther(worst) {
			worst = nearest
		}
		far = append(far, fmt.Sprintf("GPU%d", g))
		evidence = append(evidence, check.Evidence{
			Source: fmt.Sprintf("GPU%d %s", g, gpus[g].Function.Address),
			Got:    string(nearest),
			Want:   within(accepted),
		})
	}
	if len(far) == 0 {
		return
	}
	level := map[rail.Distance]string{rail.PIX: "PIX", rail.PXB: "PXB", rail.SYS: "SYS"}[worst]
	if level == "" {
		level = "PHB"
	}
	fix := check.ByUser("Measure whether GPUDirect over that distance is faster on this machine; "+
		"if it is, raise the level.", "railhead-pod run --gdr-level "+level+" -- ...")
	if c.s.Topology == nil && hidesPaths(c.s, c.rails) {
		fix = namePaths(level)
	}
	c.say(check.Finding{
		Check: GPUDirectDistance, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("NCCL leaves GPUDirect RDMA off for %s: their nearest rail is %s away, "+
			"and NCCL's level accepts %s", strings.Join(far, ", "), worst, within(limit)),
		Evidence: evidence, Fix: fix,
	})
}

func within(limit rail.Distance) string {
	if limit == rail.Self {
		return "no NIC"
	}
	return string(limit) + " or nearer"
}

func (c *computation) iommu() {
	var rails []check.Ref
	var functions []host.Function
	for _, r := range c.rails {
		rails, functions = append(rails, check.RailRef(r.Name())), append(functions, r.Function.Value)
	}
	if f, translates := Translated(rails, functions); translates {
		c.say(f)
	}
}

// Translated warns if the IOMMU translates for the group of an HCA: access to GPU memory is then slow, or fails with
// IBV_WC_LOC_PROT_ERR. The group's type decides, never the kernel command line. devices[i] is the device of
// functions[i].
func Translated(devices []check.Ref, functions []host.Function) (found check.Finding, translates bool) {
	var evidence []check.Evidence
	var translated []string
	var about []check.Ref
	for i, f := range functions {
		if kind, ok := f.IOMMUType.Get(); ok && strings.HasPrefix(kind, "DMA") {
			translated, about = append(translated, devices[i].String()), append(about, devices[i])
			evidence = append(evidence, check.Evidence{
				Source: fmt.Sprintf("/sys/kernel/iommu_groups/%d/type", f.IOMMUGroup.Value),
				Got:    kind,
				Want:   "identity",
			})
		}
	}
	return check.Finding{
		Check: IOMMUPassthrough, Status: check.Warn, Subject: check.Ref{Kind: check.Node},
		About: about,
		Summary: fmt.Sprintf("the IOMMU translates for %s: GPUDirect RDMA may fail (IBV_WC_LOC_PROT_ERR) or be slow",
			strings.Join(translated, ", ")),
		Evidence: evidence,
		Fix: check.ByAdmin("Boot the node with the kernel argument iommu=pt (on Intel also intel_iommu=on).",
			"MachineConfig spec:\n  kernelArguments: [iommu=pt]", "grubby --update-kernel=ALL --args=iommu=pt"),
	}, len(translated) > 0
}
