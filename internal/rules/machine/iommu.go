package machine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
)

// iommuWords are the values that the kernel knows of its IOMMU options
// (Documentation/admin-guide/kernel-parameters.txt); each may be a list.
var iommuWords = [...]struct{ option, words string }{
	{"intel_iommu", " on off igfx_off forcedac strict sp_off sm_on sm_off tboot_noforce nobounce "},
	{"amd_iommu", " off fullflush force_isolation force_enable pgtbl_v1 pgtbl_v2 irtcachedis nohugepages v2_pgsizes_only "},
	{"iommu", " on off force noforce biomerge nobiomerge panic nopanic merge nomerge soft nosoft pt nopt usedac forcesac allowdac nodac memaper noagp "},
}

// unknownOptions returns the options of the kernel's command line that have no effect.
func unknownOptions(cmdline string) []string {
	var unknown []string
	for token := range strings.FieldsSeq(cmdline) {
		option, values, _ := strings.Cut(token, "=")
		for _, known := range iommuWords {
			if known.option != option {
				continue
			}
			for value := range strings.SplitSeq(values, ",") {
				word, _, _ := strings.Cut(value, "=") // memaper=order
				if !strings.Contains(known.words, " "+word+" ") {
					unknown = append(unknown, option+"="+value)
				}
			}
		}
	}
	return unknown
}

// translated are the names and functions of the devices for which the IOMMU translates.
func translated(s *host.Snapshot) (check.Finding, bool) {
	var devices []check.Ref
	var functions []host.Function
	for i := range s.Devices {
		if d := &s.Devices[i]; d.Function.IsKnown() {
			devices, functions = append(devices, check.DeviceRef(d.Name)), append(functions, d.Function.Value)
		}
	}
	return nccl.Translated(devices, functions)
}

func iommuPassthrough(t *subject) []check.Finding {
	f, translates := translated(&t.Snapshot)
	if !translates {
		return nil
	}
	if cmdline, ok := t.Cmdline.Get(); ok {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "/proc/cmdline", Got: cmp.Or(iommuTokens(cmdline), "nothing of the IOMMU"), Want: "iommu=pt"})
	}
	return []check.Finding{f}
}

// iommuTokens are the words of the command line that are about the IOMMU.
func iommuTokens(cmdline string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(cmdline), func(token string) bool { return !strings.Contains(token, "iommu") }), " ")
}

// iommuOptions are graver where the IOMMU translates, as somebody tried to prevent.
func iommuOptions(t *subject) []check.Finding {
	unknown := unknownOptions(t.Cmdline.Value)
	if len(unknown) == 0 {
		return nil
	}
	status, so := check.Pass, ""
	if _, translates := translated(&t.Snapshot); translates {
		status, so = check.Warn, ", and the IOMMU translates for the HCAs: GPUDirect RDMA may fail (IBV_WC_LOC_PROT_ERR) or be slow"
	}
	return one(IOMMUOptions, status, check.Ref{Kind: check.Node}, strings.Join(unknown, ", ")+" is no option of the kernel and does nothing"+so,
		forAdmin("Say iommu=pt (on Intel also intel_iommu=on); AMD's IOMMU is on by itself.", "MachineConfig spec:\n  kernelArguments: [iommu=pt]"),
		check.Evidence{Source: "/proc/cmdline", Got: iommuTokens(t.Cmdline.Value), Want: "iommu=pt"})
}

func iommuPresent(t *subject) []check.Finding {
	groups, known := t.IOMMU.Groups.Get()
	gives := false
	for i := range t.Devices {
		f := &t.Devices[i].Function.Value
		gives = gives || f.PhysFn.IsKnown() || f.NumVFs.Value > 0
	}
	if !known || groups > 0 || !gives {
		return nil
	}
	summary := "no IOMMU: nothing keeps a virtual function from the memory of others, and none can be given to a virtual machine (vfio)"
	if tokens := iommuTokens(t.Cmdline.Value); tokens != "" {
		summary += "; the kernel's arguments say " + tokens
	}
	return one(IOMMUPresent, check.Warn, check.Ref{Kind: check.Node}, summary,
		forAdmin("Switch VT-d or AMD-Vi on in the firmware, and do not switch it off by the kernel's arguments. RDMA itself works without.", "ls /sys/kernel/iommu_groups"),
		check.Evidence{Source: "/sys/kernel/iommu_groups", Got: "empty", Want: "a group for each device"})
}
