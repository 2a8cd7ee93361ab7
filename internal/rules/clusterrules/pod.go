package clusterrules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// podResources finds pods that do not request the resource of their attachment. They get an interface at best, and no
// RDMA device.
func podResources(v view) []check.Finding {
	var findings []check.Finding
	for _, p := range detailed(v.state) {
		var missing []string
		var about []check.Ref
		for _, name := range p.NetworkNames() {
			n, known := v.state.Network(name.Namespace, name.Name)
			without := p.Requests[n.Resource] == 0 || onlyWhileStarting(p, n.Resource)
			if known && n.Resource != "" && without && !slices.Contains(missing, n.Resource) {
				missing = append(missing, n.Resource)
				attachment := check.Ref{Kind: check.Attachment, Namespace: n.Namespace, Name: n.Name}
				about = append(about, check.Named(check.Resource, n.Resource), attachment)
			}
		}
		if len(missing) > 0 {
			f := v.withoutResources(p, missing)
			f.About = about
			findings = append(findings, f)
		}
		findings = append(findings, v.doubled(p)...)
	}
	return findings
}

// doubled finds pods that request twice as many devices as they have attachments: the injector adds one for each
// attachment to what the pod requests itself (network-resources-injector 1.9.0 pkg/webhook updateResourcePatch).
func (v view) doubled(p cluster.Pod) []check.Finding {
	attached := map[string]int64{}
	var resources []string
	for _, name := range p.NetworkNames() {
		n, known := v.state.Network(name.Namespace, name.Name)
		if !known || n.Resource == "" {
			continue
		}
		if attached[n.Resource]++; attached[n.Resource] == 1 {
			resources = append(resources, n.Resource)
		}
	}
	var evidence []check.Evidence
	for _, r := range resources {
		if p.Requests[r] == 2*attached[r] {
			evidence = append(evidence, check.Evidence{
				Source: "requests of " + r, Got: fmt.Sprint(p.Requests[r]),
				Want: fmt.Sprintf("%d, as attachments", attached[r]),
			})
		}
	}
	if len(evidence) == 0 || len(evidence) < len(resources) {
		return nil
	}
	return []check.Finding{{
		Check: PodResources, Status: check.Warn, Subject: check.PodRef(p.Namespace, p.Name),
		Summary: "pod " + p.Name + " requests twice as many devices as it has attachments: half of them have no " +
			"network, and fewer pods fit on a node",
		Evidence: evidence,
		Fix: check.ByAdmin("The network-resources-injector adds to what a pod requests if "+
			"enableHonorExistingResources is true: set it to false, or let pods request no devices of attachments "+
			"themselves.",
			"kubectl get configmaps -A | grep nri-control-switches"),
	}}
}

// onlyWhileStarting reports whether an init container of Railhead requests a resource and the container that it starts
// for does not: the kubelet passes devices on to containers that request them (kubernetes
// pkg/kubelet/cm/devicemanager/manager.go), and only the init container makes the pod request it.
func onlyWhileStarting(p cluster.Pod, resource string) bool {
	init, lacking := false, false
	for _, c := range p.Containers {
		switch has := slices.Contains(c.Injected, cluster.InjectedResource+resource); {
		case c.Init:
			init = init || has
		case has:
			return false
		case len(c.Injected) > 0:
			lacking = true
		}
	}
	return init && lacking
}

func (v view) withoutResources(p cluster.Pod, missing []string) check.Finding {
	all := strings.Join(missing, ", ")
	fault := "does not request " + all + ": it gets no RDMA device"
	if p.Requests[missing[0]] > 0 {
		fault = "only its init container requests " + all + ": the container that trains gets no RDMA device"
	}
	f := check.Finding{
		Check: PodResources, Status: check.Fail, Subject: check.PodRef(p.Namespace, p.Name),
		Summary: "pod " + p.Name + " is attached to networks but " + fault,
		Evidence: []check.Evidence{
			{Source: "annotation " + networksAnnotation, Got: p.Annotations[networksAnnotation]},
			{Source: "requests of its containers", Got: "none of " + all, Want: oneOfEach(missing)},
		},
		Fix: check.ByUser("Request the resources in the container, or let railhead write them.",
			"railhead inject -f job.yaml"),
	}
	v.blameTrainer(&f, p, missing)
	if workload, requests := v.templateRequests(p, missing); requests {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: workload + " template",
			Got:    "requests them",
			Want:   "the same in the pod: a webhook or a controller has removed them",
		})
	}
	return f
}

func oneOfEach(resources []string) string { return strings.Join(resources, ": 1, ") + ": 1" }

// blameTrainer adds that Kubeflow Trainer replaced the resources of its runtime. Its pods have its label, or belong to
// the JobSet of a TrainJob. Users may not be allowed to list TrainJobs.
func (v view) blameTrainer(f *check.Finding, p cluster.Pod, missing []string) {
	job, known := v.state.TrainJobOf(p)
	ofTrainer := func(label string) bool { return strings.HasPrefix(label, cluster.TrainerGroup+"/") }
	labelled := slices.ContainsFunc(slices.Collect(maps.Keys(p.Labels)), ofTrainer)
	switch {
	case known && job.PerNode == nil, !known && !labelled:
		return
	case known:
		f.Summary += fmt.Sprintf("; resourcesPerNode of TrainJob %s replaces the requests of its runtime", job.Name)
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "TrainJob " + job.Name + " spec.trainer.resourcesPerNode",
			Got:    amounts(job.PerNode),
			Want:   "also " + oneOfEach(missing),
		})
	default:
		f.Summary += "; Kubeflow Trainer replaces the container's own requests if its TrainJob has resourcesPerNode"
	}
	limits := "TrainJob spec:\n  trainer:\n    resourcesPerNode:\n      limits:"
	for _, resource := range missing {
		limits += "\n        " + resource + `: "1"`
	}
	f.Fix = check.ByUser("Name the RDMA resources in resourcesPerNode of the TrainJob too, or leave it out if the "+
		"runtime requests them.", limits)
}

// amounts lists devices as a manifest does.
func amounts(r cluster.Resources) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if strings.Contains(name, "/") {
			all = append(all, fmt.Sprintf("%s: %d", name, r[name]))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "no device")
}

// templateRequests reports whether the workload of a pod requests the resources.
func (v view) templateRequests(p cluster.Pod, missing []string) (object string, requests bool) {
	for _, o := range v.state.Objects {
		if o.Namespace == p.Namespace && workload.OwnedBy(p, o.Kind, o.Name) && valueOf(o.Fields, missing[0]) != nil {
			return o.Kind + " " + o.Name, true
		}
	}
	return "", false
}

// valueOf returns a value of the key anywhere in a tree; nil if there is none.
func valueOf(tree any, key string) any {
	var branches []any
	switch v := tree.(type) {
	case map[string]any:
		if value, known := v[key]; known {
			return value
		}
		branches = slices.Collect(maps.Values(v))
	case []any:
		branches = v
	}
	for _, branch := range branches {
		if value := valueOf(branch, key); value != nil {
			return value
		}
	}
	return nil
}
