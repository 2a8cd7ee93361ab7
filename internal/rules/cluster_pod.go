package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

const networksAnnotation = "k8s.v1.cni.cncf.io/networks"

// podResources: a pod whose attachments have a resource that it does not ask for has an interface, at best, and no verbs device.
func podResources(c clusterCase) []check.Finding {
	var findings []check.Finding
	for _, p := range detailed(c.State) {
		var missing []string
		for _, name := range attached(p) {
			n, there := c.Network(name[0], name[1])
			if there && n.Resource != "" && p.Requests[n.Resource] == 0 && !slices.Contains(missing, n.Resource) {
				missing = append(missing, n.Resource)
			}
		}
		if len(missing) > 0 {
			findings = append(findings, withoutResources(c, p, missing))
		}
	}
	return findings
}

func withoutResources(c clusterCase, p cluster.Pod, missing []string) check.Finding {
	f := check.Finding{
		Check: PodResources, Status: check.Fail, Subject: check.Subject("pod/" + p.Namespace + "/" + p.Name),
		Summary: fmt.Sprintf("pod %s is attached to networks and does not ask for %s: it gets no RDMA device", p.Name, strings.Join(missing, ", ")),
		Evidence: []check.Evidence{
			{Source: "annotation " + networksAnnotation, Got: p.Annotations[networksAnnotation]},
			{Source: "requests of its containers", Got: "none of " + strings.Join(missing, ", "), Want: strings.Join(missing, ": 1, ") + ": 1"},
		},
		Fix: &check.Fix{Text: "Ask for the resources in the container, or let railhead write them.", Who: check.User, Commands: []string{"railhead inject -f job.yaml"}},
	}
	c.erased(&f, p, missing)
	if t, asked := templateAsks(c, p, missing); asked {
		f.Evidence = append(f.Evidence, check.Evidence{Source: t + " template", Got: "asks for them", Want: "and so does the pod: a webhook or a controller has taken them out"})
	}
	return f
}

// erased adds that Kubeflow Trainer took the resources out of what its runtime asks for. Its pods have its label, or are of the
// JobSet that a TrainJob made, which are not known to everybody.
func (c clusterCase) erased(f *check.Finding, p cluster.Pod, missing []string) {
	job, made := c.TrainJobOf(p)
	labelled := slices.ContainsFunc(slices.Collect(maps.Keys(p.Labels)), func(label string) bool { return strings.HasPrefix(label, cluster.TrainerGroup+"/") })
	switch {
	case made && job.PerNode == nil, !made && !labelled:
		return
	case made:
		f.Summary += fmt.Sprintf("; resourcesPerNode of TrainJob %s takes the place of what its runtime asks for", job.Name)
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "TrainJob " + job.Name + " spec.trainer.resourcesPerNode", Got: amounts(job.PerNode), Want: "also " + strings.Join(missing, ": 1, ") + ": 1",
		})
	default:
		f.Summary += "; Kubeflow Trainer makes its pods with other resources than the container's own, where its TrainJob has resourcesPerNode"
	}
	f.Fix = &check.Fix{
		Text: "Name the RDMA resources in resourcesPerNode of the TrainJob, too, or leave it out where the runtime asks for them.", Who: check.User,
		Commands: []string{"TrainJob spec:\n  trainer:\n    resourcesPerNode:\n      limits:\n        " + strings.Join(missing, ": \"1\"\n        ") + ": \"1\""},
	}
}

// amounts are resources as a manifest has them, but for cpu and memory.
func amounts(r cluster.Resources) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if strings.Contains(name, "/") {
			all = append(all, fmt.Sprintf("%s: %d", name, r[name]))
		}
	}
	return orElse(strings.Join(all, ", "), "no device")
}

// templateAsks reports whether the workload that a pod is of asks for the resources.
func templateAsks(c clusterCase, p cluster.Pod, missing []string) (workload string, asks bool) {
	for _, o := range c.Objects {
		if o.Namespace == p.Namespace && (o.Kind+"/"+o.Name == p.Owner || o.Name == p.Labels["jobset.sigs.k8s.io/jobset-name"]) && mentions(o.Fields, missing[0]) {
			return o.Kind + " " + o.Name, true
		}
	}
	return "", false
}

// mentions reports whether a tree has the key.
func mentions(tree any, key string) bool {
	switch v := tree.(type) {
	case map[string]any:
		for k, below := range v {
			if k == key || mentions(below, key) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return mentions(below, key) })
	}
	return false
}

// attached are the networks that a pod names, as namespace and name: a list with commas, or JSON (multi-net-spec 4.1).
func attached(p cluster.Pod) [][2]string {
	text := p.Annotations[networksAnnotation]
	var all [][2]string
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		for _, n := range networkSelections(text) {
			all = append(all, [2]string{orElse(n.Namespace, p.Namespace), n.Name})
		}
		return all
	}
	for word := range strings.SplitSeq(text, ",") {
		word, _, _ = strings.Cut(strings.TrimSpace(word), "@")
		ns, name, qualified := strings.Cut(word, "/")
		if !qualified {
			ns, name = p.Namespace, word
		}
		if name != "" {
			all = append(all, [2]string{ns, name})
		}
	}
	return all
}
