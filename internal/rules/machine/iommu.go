package machine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// iommuWords are the values of the kernel's IOMMU options (Documentation/admin-guide/kernel-parameters.txt). An option
// takes a list of them.
var iommuWords = map[string]string{
	"intel_iommu": " on off igfx_off forcedac strict sp_off sm_on sm_off tboot_noforce nobounce ",
	"amd_iommu": " off fullflush force_isolation force_enable pgtbl_v1 pgtbl_v2 irtcachedis nohugepages " +
		"v2_pgsizes_only ",
	"iommu": " on off force noforce biomerge nobiomerge panic nopanic merge nomerge soft nosoft pt nopt usedac " +
		"forcesac allowdac nodac memaper noagp ",
}

// unknownOptions returns the options of the kernel's command line that have no effect.
func unknownOptions(cmdline string) []string {
	var unknown []string
	for token := range strings.FieldsSeq(cmdline) {
		option, values, _ := strings.Cut(token, "=")
		known, ok := iommuWords[option]
		if !ok {
			continue
		}
		for value := range strings.SplitSeq(values, ",") {
			word, _, _ := strings.Cut(value, "=") // memaper=order
			if !strings.Contains(known, " "+word+" ") {
				unknown = append(unknown, option+"="+value)
			}
		}
	}
	return unknown
}

// translated reports the devices whose memory accesses the IOMMU translates.
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

// untranslated reports whether the IOMMU is known to leave the addresses of a function as they are.
func untranslated(s *host.Snapshot, f host.Fact[host.Function]) bool {
	groups, known := s.IOMMU.Groups.Get()
	return known && groups == 0 || f.Value.IOMMUType.Value == "identity"
}

// railsPassthrough has no finding in a pod without a GPU, where GPUDirect RDMA does not depend on the group.
func railsPassthrough(t *subject) []check.Finding {
	read := func(r rail.Rail) bool { return untranslated(&t.Snapshot, r.Function) }
	return t.ifRead(t.found(nccl.IOMMUPassthrough), read)
}

func iommuPassthrough(t *subject) []check.Finding {
	f, translates := translated(&t.Snapshot)
	unread := func(d host.Device) bool { return !d.IsSoftware() && !untranslated(&t.Snapshot, d.Function) }
	switch {
	case !translates && slices.ContainsFunc(t.Devices, unread):
		return noData()
	case !translates:
		return nil
	}
	if cmdline, ok := t.Cmdline.Get(); ok {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "/proc/cmdline", Got: cmp.Or(iommuTokens(cmdline), "no IOMMU option"), Want: "iommu=pt",
		})
	}
	return []check.Finding{f}
}

// iommuTokens returns the words of the command line that are about the IOMMU.
func iommuTokens(cmdline string) string {
	other := func(token string) bool { return !strings.Contains(token, "iommu") }
	return strings.Join(slices.DeleteFunc(strings.Fields(cmdline), other), " ")
}

// unlessTranslated skips a check whose facts were not read, unless that would hide an IOMMU that translates.
func (t *subject) unlessTranslated() []check.Finding {
	if _, translates := translated(&t.Snapshot); translates {
		return nil
	}
	return noData()
}

// iommuOptions warns only if the IOMMU translates: someone tried to turn translation off and failed.
func iommuOptions(t *subject) []check.Finding {
	unknown := unknownOptions(t.Cmdline.Value)
	switch {
	case !t.Cmdline.IsKnown():
		return t.unlessTranslated()
	case len(unknown) == 0:
		return nil
	}
	f := check.Finding{
		Summary: "the kernel ignores unknown options: " + strings.Join(unknown, ", "),
		Evidence: []check.Evidence{
			{Source: "/proc/cmdline", Got: iommuTokens(t.Cmdline.Value), Want: "iommu=pt"},
		},
		Fix: check.ByAdmin("Use iommu=pt (on Intel also intel_iommu=on); AMD's IOMMU is on by default.",
			"MachineConfig spec:\n  kernelArguments: [iommu=pt]"),
	}
	if _, translates := translated(&t.Snapshot); translates {
		f.Status = check.Warn
		f.Summary += "; the IOMMU translates for the HCAs: GPUDirect RDMA may fail (IBV_WC_LOC_PROT_ERR) or be slow"
	}
	return []check.Finding{f}
}

func iommuPresent(t *subject) []check.Finding {
	groups, known := t.IOMMU.Groups.Get()
	switch {
	case !known:
		return t.unlessTranslated()
	case groups > 0 || !hasVFs(&t.Snapshot):
		return nil
	}
	summary := "no IOMMU: a virtual function can access all memory, and none can be given to a virtual machine (vfio)"
	if tokens := iommuTokens(t.Cmdline.Value); tokens != "" {
		summary += "; kernel arguments: " + tokens
	}
	return []check.Finding{{
		Status: check.Warn, Summary: summary,
		Evidence: []check.Evidence{
			{Source: "/sys/kernel/iommu_groups", Got: "empty", Want: "a group for each device"},
		},
		Fix: check.ByAdmin("Enable VT-d or AMD-Vi in the firmware, and remove kernel arguments that disable it. "+
			"RDMA itself works without an IOMMU.", "ls /sys/kernel/iommu_groups"),
	}}
}
