package setup

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// CheckedNode is a node that has the new configuration, with a snapshot taken in a pod on it.
type CheckedNode struct {
	Name string
	host.Snapshot
}

// Verify judges the checked nodes of each pool: the kernel command line, the IOMMU group of each HCA, and the
// locked-memory limit of containers. Without findings all is well.
func Verify(s cluster.State, o Options, nodes ...CheckedNode) []check.Finding {
	var findings []check.Finding
	perPool := map[string][]CheckedNode{}
	for _, n := range nodes {
		findings = append(findings, verifyNode(n, o)...)
		node, _ := s.Node(n.Name)
		pool, _ := s.PoolOf(node)
		perPool[pool.Name] = append(perPool[pool.Name], n)
	}
	if o.NoIOMMU {
		return findings
	}
	for _, pool := range slices.Sorted(maps.Keys(perPool)) {
		findings = append(findings, withoutHCA(s, pool, perPool[pool])...)
	}
	return findings
}

func verifyNode(n CheckedNode, o Options) []check.Finding {
	v := verification{s: n.Snapshot, subject: check.NodeRef(n.Name)}
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

// passthroughTokens are kernel arguments. At least one of them must be set.
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
	for _, d := range v.s.Devices {
		if d.IsSoftware() {
			continue
		}
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
}

// withoutHCA reports a pool if none of its checked nodes has an HCA: then the check shows nothing about the IOMMU. The
// result is unknown if nodes of the pool have RDMA NICs or GPUs. The machine-config-operator picks the node that is
// updated first (pkg/controller/node/node_controller.go getAllCandidateMachines).
func withoutHCA(s cluster.State, pool string, nodes []CheckedNode) []check.Finding {
	software := false
	for _, n := range nodes {
		for _, d := range n.Devices {
			if !d.IsSoftware() {
				return nil
			}
			software = true
		}
	}
	last := nodes[len(nodes)-1]
	f := check.Finding{
		Check: nccl.IOMMUPassthrough, Status: check.Skipped, Subject: check.NodeRef(last.Name),
		Summary:  "the node has no HCA whose IOMMU group could be checked",
		Evidence: check.Observed("/sys/class/infiniband", "no hardware device", ""),
	}
	able := withRDMA(s, pool)
	if software || len(able) == 0 { // Soft-RoCE copies with the CPU
		return []check.Finding{f}
	}
	f.Status = check.Unknown
	f.Summary = fmt.Sprintf("the check shows nothing about the IOMMU: it saw no HCA on the node, "+
		"and %s of pool %s have RDMA NICs or GPUs", words.Count(len(able), "node"), pool)
	f.Evidence[0].Want = "an HCA, as on " + words.Few(able, 4)
	f.Fix = check.ByAdmin("The rollout is paused after this node. Continue without the check, "+
		"or undo it and set up the nodes with RDMA NICs or GPUs alone.", withoutCheck, "railhead setup rollback")
	if pool == cluster.WorkerPool {
		f.Fix.Commands = append(f.Fix.Commands, "railhead setup cluster --own-pool NAME --verify-first")
	}
	// A pod then sees only the devices of its own network namespace (rdma-system(8)).
	if last.RDMANetns.Value == "exclusive" {
		f.Evidence = append(f.Evidence, check.Observed(
			"/sys/module/ib_core/parameters/netns_mode", "exclusive: pods see no HCA of the node", "")...)
		f.Fix.Commands = slices.Insert(f.Fix.Commands, 0, "railhead doctor node/"+last.Name)
	}
	return []check.Finding{f}
}

// withoutCheck is the command that continues a rollout that is paused for the check of a node.
const withoutCheck = "railhead setup cluster --verify-first=false"

// withRDMA returns the nodes of a pool that have RDMA NICs or GPUs.
func withRDMA(s cluster.State, pool string) []string {
	_, able, _ := clusterrules.PoolsWithRDMA(s)
	var names []string
	for _, n := range s.NodesOf(pool) {
		if slices.Contains(able, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
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
