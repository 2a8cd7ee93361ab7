package clusterrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// cliqueLabel names the NVLink clique of a node's GPUs, as ClusterUUID.CliqueID (NVIDIA GPU Feature Discovery).
const cliqueLabel = "nvidia.com/gpu.clique"

// nvlinkCliques finds jobs in one ComputeDomain whose nodes are not in one NVLink clique. Several cliques are no fault:
// a job may be larger than a rack. A node without a clique, next to others with one, has no NVLink to them.
func nvlinkCliques(v view) []check.Finding {
	inDomain := func(p cluster.Pod) bool {
		return slices.ContainsFunc(claimsOf(v.state, p), func(c cluster.ResourceClaim) bool {
			return slices.ContainsFunc(c.Devices, func(d cluster.ClaimedDevice) bool {
				return d.Driver == cluster.DRAIMEX
			})
		})
	}
	var jobs []string
	pods := map[string][]cluster.Pod{}
	for _, p := range detailed(v.state) {
		if _, known := v.state.Node(p.Node); !known || p.Finished() || !inDomain(p) {
			continue
		}
		job := p.Namespace + "/" + JobOf(p)
		if pods[job] == nil {
			jobs = append(jobs, job)
		}
		pods[job] = append(pods[job], p)
	}
	var findings []check.Finding
	for _, job := range jobs {
		findings = append(findings, cliquesOf(v.state, job, pods[job])...)
	}
	return findings
}

// cliquesOf compares the cliques of the nodes of a job.
func cliquesOf(s cluster.State, job string, pods []cluster.Pod) []check.Finding {
	nodes := map[string][]string{} // by their clique
	var refs []check.Ref
	for _, p := range pods {
		n, _ := s.Node(p.Node)
		clique := n.Labels[cliqueLabel]
		if ref := check.NodeRef(n.Name); !slices.Contains(refs, ref) {
			nodes[clique], refs = append(nodes[clique], n.Name), append(refs, ref)
		}
	}
	if len(nodes) < 2 {
		return nil
	}
	namespace, name, _ := strings.Cut(job, "/")
	f := check.Finding{
		Check: NVLinkClique, Status: check.Pass, About: refs,
		Subject: check.Ref{Kind: check.Job, Namespace: namespace, Name: name[strings.Index(name, "/")+1:]},
		Summary: fmt.Sprintf("the nodes of %s are in %d NVLink cliques: NVLink joins the nodes of each, and the rails "+
			"carry the data between them", name, len(nodes)),
		Fix: check.ByUser("For NVLink between all nodes, let the job have nodes of one clique only.",
			"kubectl get nodes -L "+cliqueLabel),
	}
	if without := nodes[""]; len(without) > 0 {
		f.Status = check.Warn
		f.Summary = fmt.Sprintf("%s of %s without an NVLink clique, which the others have: NVLink does not join %s to "+
			"them, although the job has a ComputeDomain", words.Count(len(without), "node"), name,
			words.Few(without, 4))
		f.Fix = check.ByAdmin("Look at the fabric of the GPUs of the node: its state must be Completed, with a "+
			"ClusterUUID. Fabric Manager and the switches of the rack decide that.",
			"oc debug node/"+without[0]+" -- chroot /host nvidia-smi -q", "kubectl get nodes -L "+cliqueLabel)
	}
	for clique, names := range nodes {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "label " + cliqueLabel + " of " + words.Few(names, 4), Got: cmp.Or(clique, "none"),
		})
	}
	slices.SortFunc(f.Evidence, func(a, b check.Evidence) int { return words.Natural(a.Source, b.Source) })
	return []check.Finding{f}
}
