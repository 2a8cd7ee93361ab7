package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// gangLabels are those by which controllers tell the pods that work together: JobSet (and of it Kubeflow Trainer), Kubeflow's
// training-operator, LeaderWorkerSet, Ray, Volcano, Kueue. Replicas of a Deployment, and pods of a bare Job, may do so or not.
var gangLabels = []string{
	"jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster", "volcano.sh/job-name",
	"kueue.x-k8s.io/pod-group-name",
}

// gangOf is the job that a pod works for with others; "" where nothing says so. Each group of a LeaderWorkerSet is one.
func gangOf(p cluster.Pod) string {
	for _, label := range gangLabels {
		if job := p.Labels[label]; job != "" {
			return strings.TrimSuffix(job+"-"+p.Labels["leaderworkerset.sigs.k8s.io/group-index"], "-")
		}
	}
	return ""
}

// JobOf is the job that a pod is of: those of one should be alike.
func JobOf(p cluster.Pod) string {
	for _, label := range []string{"app.kubernetes.io/instance", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name"} {
		if job := p.Labels[label]; job != "" {
			return "job/" + job
		}
	}
	return cmp.Or(p.Owner, "pod/"+p.Name)
}

// Patients are the pods of a namespace to look into when no pod was named: those that have to do with RDMA, and those that should.
// Beside them it returns those that have GPUs and neither.
func Patients(s cluster.State, namespace string) (look, passed []cluster.Pod) {
	offers, should := s.RDMAOffers(), map[string]bool{}
	for _, g := range gangsWithout(s) {
		for _, p := range g.pods {
			should[p.Namespace+"/"+p.Name] = true
		}
	}
	for _, p := range s.Pods {
		switch {
		case p.Namespace != namespace || p.Finished() || p.Deleted:
		case should[p.Namespace+"/"+p.Name] || asksRDMA(p, offers):
			look = append(look, p)
		case hasGPUs(p):
			passed = append(passed, p)
		}
	}
	return look, passed
}

// gang is the pods of one job.
type gang struct {
	name string // of its label
	pods []cluster.Pod
}

// gangsWithout are the jobs whose pods have GPUs on several nodes that offer RDMA, and ask for none of it.
func gangsWithout(s cluster.State) []gang {
	var gangs []gang
	offers, at := s.RDMAOffers(), map[string]int{}
	for _, p := range detailed(s) {
		job := gangOf(p)
		if job == "" || !hasGPUs(p) || p.Node == "" || asksRDMA(p, offers) || !slices.ContainsFunc(offers, func(o cluster.Offer) bool { return o.PerNode[p.Node] > 0 }) {
			continue
		}
		i, known := at[p.Namespace+"/"+job]
		if !known {
			i = len(gangs)
			at[p.Namespace+"/"+job] = i
			gangs = append(gangs, gang{name: job})
		}
		gangs[i].pods = append(gangs[i].pods, p)
	}
	return slices.DeleteFunc(gangs, func(g gang) bool {
		return !slices.ContainsFunc(g.pods, func(p cluster.Pod) bool { return p.Node != g.pods[0].Node })
	})
}

func hasGPUs(p cluster.Pod) bool {
	for resource, n := range p.Requests {
		if cluster.IsGPU(resource) && n > 0 {
			return true
		}
	}
	return false
}

// asksRDMA reports whether a pod asks for RDMA devices, is attached to networks, or has claims, which may be of them.
func asksRDMA(p cluster.Pod, offers []cluster.Offer) bool {
	return p.Annotations[networksAnnotation] != "" || len(p.Claims) > 0 || slices.ContainsFunc(offers, func(o cluster.Offer) bool { return p.Requests[o.Resource] > 0 })
}

// rdmaRequested: a job that asks for GPUs alone runs, over the pod network, and nothing says so.
func rdmaRequested(c clusterCase) []check.Finding {
	var findings []check.Finding
	for _, g := range gangsWithout(c.State) {
		first := g.pods[0]
		var offers, names []string
		for _, o := range c.RDMAOffers() {
			if o.PerNode[first.Node] > 0 {
				offers = append(offers, o.Resource)
			}
		}
		for _, p := range g.pods {
			names = append(names, p.Name)
		}
		f := check.Finding{
			Check: RDMARequested, Status: check.Fail, Subject: check.Subject("job/" + first.Namespace + "/" + g.name),
			Summary: fmt.Sprintf("%d pods of %s have GPUs on several nodes and ask for no RDMA resource: what NCCL sends between them goes over TCP, about 85 times slower", len(g.pods), g.name),
			Evidence: []check.Evidence{
				{Source: "requests of " + some(names), Got: amounts(first.Requests), Want: "also " + strings.Join(offers, ": 1, ") + ": 1"},
				{Source: "annotation " + networksAnnotation, Got: "none", Want: "a network for each rail"},
			},
			Fix: &check.Fix{Text: "Ask for the rails' resources and networks, or let railhead write them.", Who: check.User, Commands: []string{"railhead inject -f job.yaml"}},
		}
		c.erased(&f, first, offers)
		findings = append(findings, f)
	}
	return findings
}
