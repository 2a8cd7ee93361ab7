package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
)

// VerifyNode judges a node that has the new configuration, by a snapshot taken in a pod on it: the kernel command line,
// the IOMMU group of each HCA, and the locked-memory limit of containers. Without findings all is well.
func VerifyNode(s host.Snapshot, o Options) []check.Finding {
	v := verification{s: s, subject: check.NodeRef(s.Node.Or("?"))}
	if !o.NoIOMMU {
		v.commandLine()
		v.groups()
	}
	if !o.NoMemlock {
		v.memlock()
	}
	return v.findings
}

type verification struct {
	s        host.Snapshot
	subject  check.Ref
	findings []check.Finding
}

func (v *verification) add(id check.ID, status check.Status, summary string, evidence ...check.Evidence) {
	v.findings = append(v.findings, check.Finding{
		Check: id, Status: status, Subject: v.subject, Summary: summary, Evidence: evidence,
		Fix: check.ByAdmin("The rollout is paused after this node. "+
			"Undo the configuration, or repair the node and run the setup again.",
			"railhead setup rollback", "railhead setup cluster --verify-first"),
	})
}

// passthroughTokens are the kernel arguments of which one must be set.
var passthroughTokens = []string{"iommu=pt", "iommu.passthrough=1"}

func (v *verification) commandLine() {
	line, ok := v.s.Cmdline.Get()
	e := check.Evidence{Source: "/proc/cmdline", Got: line, Want: strings.Join(passthroughTokens, " or ")}
	if !ok {
		e.Got = reasonOf(v.s.Cmdline)
		v.add(KernelArguments, check.Unknown, "the kernel command line could not be read", e)
		return
	}
	tokens := strings.Fields(line)
	if !slices.ContainsFunc(tokens, func(t string) bool { return slices.Contains(passthroughTokens, t) }) {
		v.add(KernelArguments, check.Fail, "the node did not boot with "+passthroughTokens[0], e)
	}
	for _, t := range tokens {
		if slices.Contains(translating, t) {
			v.add(KernelArguments, check.Warn, "the node booted with "+t+", which contradicts IOMMU passthrough",
				check.Evidence{Source: "/proc/cmdline", Got: t, Want: "without " + t})
		}
	}
}

// groups judges the IOMMU groups of the HCAs, which count whatever the kernel arguments say. A device without a group
// is behind no IOMMU.
func (v *verification) groups() {
	hardware := 0
	for _, d := range v.s.Devices {
		if d.IsSoftware() {
			continue
		}
		hardware++
		f, known := d.Function.Get()
		group := f.IOMMUGroup
		kind, read := f.IOMMUType.Get()
		e := check.Evidence{
			Source: fmt.Sprintf("/sys/class/infiniband/%s/device/iommu_group/type", d.Name),
			Got:    kind,
			Want:   "identity",
		}
		switch {
		case read && kind == "identity":
		case read:
			v.add(nccl.IOMMUPassthrough, check.Fail,
				fmt.Sprintf("the IOMMU translates for %s (group type %s)", d.Name, kind), e)
		case known && !group.IsKnown() && !group.IsUnreadable() && !f.IOMMUType.IsUnreadable():
		default:
			e.Got = reasonOf(f.IOMMUType)
			v.add(nccl.IOMMUPassthrough, check.Unknown,
				fmt.Sprintf("whether the IOMMU translates for %s could not be read", d.Name), e)
		}
	}
	if hardware == 0 {
		v.findings = append(v.findings, check.Finding{
			Check: nccl.IOMMUPassthrough, Status: check.Skipped, Subject: v.subject,
			Summary:  "the node has no HCA whose IOMMU group could be checked",
			Evidence: check.Observed("/sys/class/infiniband", "no hardware device", ""),
		})
	}
}

func (v *verification) memlock() {
	soft := v.s.Limits.MemlockSoft
	e := check.Evidence{Source: "/proc/self/limits Max locked memory, soft", Got: soft.String(), Want: "unlimited"}
	switch limit, ok := soft.Get(); {
	case !ok:
		e.Got = reasonOf(soft)
		v.add(NodeMemlock, check.Unknown, "the locked-memory limit of containers could not be read", e)
	case limit != host.Unlimited:
		v.add(NodeMemlock, check.Fail,
			fmt.Sprintf("the container runtime limits locked memory to %s bytes", limit), e)
	}
}

// reasonOf returns why a fact is unknown.
func reasonOf[T any](f host.Fact[T]) string { return cmp.Or(f.Why, "not found") }
