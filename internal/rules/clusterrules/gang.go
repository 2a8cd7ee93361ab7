package clusterrules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// JobOf returns the job of a pod. Pods of one job should be alike.
func JobOf(p cluster.Pod) string {
	if job := cmp.Or(p.Labels[workload.LabelInstance], workload.AlikeOf(p)); job != "" {
		return "job/" + job
	}
	return cmp.Or(p.Owner, "pod/"+p.Name)
}

// Candidates returns the pods of a namespace to examine if the user named none: those that use RDMA or should. The
// second list has the other pods with GPUs.
func Candidates(s cluster.State, namespace string) (examine, others []cluster.Pod) {
	offers, should := s.RDMAOffers(), map[string]bool{}
	for _, g := range GangsWithoutRDMA(s) {
		for _, p := range g.Pods {
			should[p.Namespace+"/"+p.Name] = true
		}
	}
	for _, p := range s.Pods {
		switch {
		case p.Namespace != namespace || p.Finished() || p.Deleted:
		case should[p.Namespace+"/"+p.Name] || requestsRDMA(p, offers):
			examine = append(examine, p)
		case p.Requests.GPUs() > 0:
			others = append(others, p)
		}
	}
	return examine, others
}

// Gang holds the pods of one job.
type Gang struct {
	Name string // the value of its label
	Pods []cluster.Pod
}

// GangsWithoutRDMA returns the jobs whose pods have GPUs on several nodes that offer RDMA and request none of it.
func GangsWithoutRDMA(s cluster.State) []Gang {
	var gangs []Gang
	offers, of, at := s.RDMAOffers(), rdmaOfNodes(s), map[string]int{}
	for _, p := range detailed(s) {
		job := workload.GangOf(p)
		if job == "" || len(of[p.Node]) == 0 || p.Requests.GPUs() == 0 || requestsRDMA(p, offers) {
			continue
		}
		i, known := at[p.Namespace+"/"+job]
		if !known {
			i = len(gangs)
			at[p.Namespace+"/"+job] = i
			gangs = append(gangs, Gang{Name: job})
		}
		gangs[i].Pods = append(gangs[i].Pods, p)
	}
	return slices.DeleteFunc(gangs, func(g Gang) bool {
		return !slices.ContainsFunc(g.Pods, func(p cluster.Pod) bool { return p.Node != g.Pods[0].Node })
	})
}

// MayUseRDMA reports whether a pod requests GPUs or RDMA.
func MayUseRDMA(s cluster.State, p cluster.Pod) bool {
	return p.Requests.GPUs() > 0 || requestsRDMA(p, s.RDMAOffers())
}

// requestsRDMA reports whether a pod requests RDMA devices, is attached to networks, or has claims, which may be for
// RDMA.
func requestsRDMA(p cluster.Pod, offers []cluster.Offer) bool {
	return p.Annotations[networksAnnotation] != "" || len(p.Claims) > 0 ||
		slices.ContainsFunc(offers, func(o cluster.Offer) bool { return p.Requests[o.Resource] > 0 })
}

// rdmaRequested finds jobs that request GPUs alone. They run over the pod network without any error.
func rdmaRequested(v view) []check.Finding {
	var findings []check.Finding
	for _, g := range GangsWithoutRDMA(v.state) {
		first := g.Pods[0]
		offers := rdmaOfNodes(v.state)[first.Node]
		var names []string
		var about []check.Ref
		for _, p := range g.Pods {
			names = append(names, p.Name)
			about = append(about, check.PodRef(p.Namespace, p.Name))
		}
		f := check.Finding{
			Check: RDMARequested, Status: check.Fail, About: about,
			Subject: check.Ref{Kind: check.Job, Namespace: first.Namespace, Name: g.Name},
			Summary: fmt.Sprintf("%d pods of %s have GPUs on several nodes and request no RDMA resource: NCCL uses "+
				"TCP between them, which was measured "+rail.SlowerOverTCP+" slower than four 400 Gb/s rails",
				len(g.Pods), g.Name),
			Evidence: []check.Evidence{
				{
					Source: "requests of " + words.Few(names, 6),
					Got:    amounts(first.Requests),
					Want:   "also " + oneOfEach(offers),
				},
				{Source: "annotation " + networksAnnotation, Got: "none", Want: "a network for each rail"},
			},
			Fix: check.ByUser("Request the rails' resources and networks, or let railhead write them.",
				"railhead inject -f job.yaml"),
		}
		v.blameTrainer(&f, first, offers)
		findings = append(findings, f)
	}
	return findings
}
