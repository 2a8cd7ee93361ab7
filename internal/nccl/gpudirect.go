package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

// gdrLevels are the accepted values of NCCL_NET_GDR_LEVEL, case-sensitive (NCCL src/graph/paths.cc), and how far each
// lets a GPU and a NIC be apart. NODE is nvidia-smi's word, not NCCL's.
var gdrLevels = map[string]rail.Distance{
	"LOC": rail.PIX, "NVL": rail.PIX, "NVB": rail.PIX, "C2C": rail.PIX, "PIX": rail.PIX, "PXB": rail.PXB, "P2C": rail.PXB,
	"PXN": rail.PXB, "PHB": rail.NODE, "SYS": rail.SYS,
}

// gdrDigits are the legacy values.
var gdrDigits = []string{"LOC", "PIX", "PXB", "PHB", "SYS"}

// GDRLevel checks a value for NCCL_NET_GDR_LEVEL; the error says what NCCL would do with it.
func GDRLevel(value string) error {
	if _, ok := gdrDistance(value); ok {
		return nil
	}
	if strings.EqualFold(value, "NODE") {
		return fmt.Errorf("%s is nvidia-smi's word: NCCL ignores it; say PHB", value)
	}
	return fmt.Errorf("NCCL ignores %q; levels are LOC, PIX, PXB, PHB, SYS (from 2.27 also P2C), in capitals", value)
}

func gdrDistance(value string) (rail.Distance, bool) {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 {
		value = gdrDigits[min(n, len(gdrDigits)-1)]
	}
	d, ok := gdrLevels[value]
	return d, ok
}

// gpuDirect sets the level that a flag gave and says where GPUDirect RDMA would be off, and why.
func (c *computation) gpuDirect() {
	limit := rail.PXB // NCCL's default
	value, set := c.value("NCCL_NET_GDR_LEVEL")
	switch {
	case c.policy.GDRLevel != "":
		c.set("NCCL_NET_GDR_LEVEL", c.policy.GDRLevel, Decided, "chosen with --gdr-level")
		limit, _ = gdrDistance(c.policy.GDRLevel)
	case set:
		c.set("NCCL_NET_GDR_LEVEL", value, UserSet, "")
		if err := GDRLevel(value); err != nil {
			c.say(check.Finding{
				Check: GDRLevelKnown, Status: check.Warn, Subject: "env/NCCL_NET_GDR_LEVEL", Summary: err.Error(),
				Evidence: []check.Evidence{{Source: c.origin("NCCL_NET_GDR_LEVEL"), Got: value, Want: "LOC, PIX, PXB, PHB or SYS"}},
				Fix:      &check.Fix{Text: "Give one of NCCL's levels.", Commands: []string{"export NCCL_NET_GDR_LEVEL=PHB"}, Who: check.User},
			})
		} else {
			limit, _ = gdrDistance(value)
		}
	}
	if len(rail.GPUs(*c.s)) == 0 {
		return
	}
	if !c.gpuDirectPossible() {
		return
	}
	c.gpuDirectDistance(limit)
	c.iommu()
}

// gpuDirectPossible needs a peer-memory module, or DMA-BUF: NVIDIA's open kernel modules and a kernel from 5.12 on.
func (c *computation) gpuDirectPossible() bool {
	g := c.s.GPUDirect
	if len(g.Peermem) > 0 || g.OpenModules.Or(false) && kernelAtLeast(c.s.Kernel.Value, 5, 12) {
		return true
	}
	f := check.Finding{
		Check: GPUDirectPossible, Status: check.Warn, Subject: "pod",
		Summary: "GPUDirect RDMA is off: neither a peer-memory module nor DMA-BUF; GPU data goes through host memory",
		Evidence: []check.Evidence{
			{Source: "/sys/module/nvidia_peermem", Got: "absent", Want: "loaded"},
			{Source: "/proc/driver/nvidia/version", Got: openModules(c), Want: "Open Kernel Module, with kernel 5.12 or later (DMA-BUF)"},
			{Source: "/proc/sys/kernel/osrelease", Got: c.s.Kernel.String()},
		},
		Fix: &check.Fix{
			Text:     "Use NVIDIA's open kernel modules (GPU Operator: driver.kernelModuleType: open), or load nvidia_peermem on the node.",
			Commands: []string{"modprobe nvidia_peermem"}, Who: check.Admin,
		},
	}
	if !g.OpenModules.IsKnown() { // no NVIDIA driver file in this container: nothing was seen either way
		f.Status = check.Unknown
		f.Summary = "whether GPUDirect RDMA is possible cannot be told: no peer-memory module, and /proc/driver/nvidia is not here"
	}
	c.say(f)
	return false
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
func kernelAtLeast(release string, major, minor int) bool {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return false
	}
	return slices.Compare([]int{atoi(parts[0]), atoi(parts[1])}, []int{major, minor}) >= 0
}

// gpuDirectDistance names the GPUs that are farther from every rail than NCCL accepts.
func (c *computation) gpuDirectDistance(limit rail.Distance) {
	gpus, matrix := rail.GPUs(*c.s), rail.Matrix(*c.s, c.rails)
	var far []string
	var evidence []check.Evidence
	worst := rail.PIX
	for g, row := range matrix {
		nearest := rail.Unmeasured
		for _, d := range row {
			if nearest.Farther(d) {
				nearest = d
			}
		}
		if nearest == rail.Unmeasured || !nearest.Farther(limit) {
			continue
		}
		if nearest.Farther(worst) {
			worst = nearest
		}
		far = append(far, fmt.Sprintf("GPU%d", g))
		evidence = append(evidence, check.Evidence{Source: fmt.Sprintf("GPU%d %s", g, gpus[g].Function.Address), Got: string(nearest), Want: string(limit) + " or nearer"})
	}
	if len(far) == 0 {
		return
	}
	level := "PHB"
	if worst == rail.SYS {
		level = "SYS"
	}
	c.say(check.Finding{
		Check: GPUDirectDistance, Status: check.Warn, Subject: "pod",
		Summary:  fmt.Sprintf("NCCL leaves GPUDirect RDMA off for %s: their nearest rail is %s away, farther than %s", strings.Join(far, ", "), worst, limit),
		Evidence: evidence,
		Fix: &check.Fix{
			Text:     "Measure whether GPUDirect over that distance is faster on this machine; if it is, raise the level.",
			Commands: []string{"railhead-pod run --gdr-level " + level + " -- ..."}, Who: check.User,
		},
	})
}

// iommu warns where the HCA's own group translates: GPU memory is then reached slowly, or not at all
// (IBV_WC_LOC_PROT_ERR). The group's type decides, never the kernel command line.
func (c *computation) iommu() {
	var evidence []check.Evidence
	var translated []string
	for _, r := range c.rails {
		f := r.Function.Value
		if kind, ok := f.IOMMUType.Get(); ok && strings.HasPrefix(kind, "DMA") {
			translated = append(translated, r.Name())
			evidence = append(evidence, check.Evidence{Source: fmt.Sprintf("/sys/kernel/iommu_groups/%d/type", f.IOMMUGroup.Value), Got: kind, Want: "identity"})
		}
	}
	if len(translated) == 0 {
		return
	}
	c.say(check.Finding{
		Check: IOMMUPassthrough, Status: check.Warn, Subject: "node",
		Summary:  fmt.Sprintf("the IOMMU translates for %s: GPUDirect RDMA may fail (IBV_WC_LOC_PROT_ERR) or be slow", strings.Join(translated, ", ")),
		Evidence: evidence,
		Fix:      &check.Fix{Text: "Boot the node with the kernel argument iommu=pt (on Intel also intel_iommu=on).", Commands: []string{"iommu=pt"}, Who: check.Admin},
	})
}
