package clusterrules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// erased finds pods, and objects that make pods, without what Railhead added to the templates they were made from.
func erased(v view) []check.Finding {
	var findings []check.Finding
	for _, f := range inQuestion(v.state, v.options) {
		findings = append(findings, Erased(f)...)
	}
	return findings
}

// Erased compares the pods of a workload, and the objects between them, with the templates they were made from.
func Erased(f workload.Family) []check.Finding {
	findings := erasedBetween(f)
	if len(f.Templates) > 0 {
		return findings
	}
	for _, w := range f.Made { // from the templates of a runtime, which is not read
		if w.Owner == f.Kind+"/"+f.Name {
			findings = append(findings, withoutStart(f.Workload, w)...)
		}
	}
	return findings
}

// erasedBetween compares what each member of a family made with the member.
func erasedBetween(f workload.Family) []check.Finding {
	var findings []check.Finding
	for _, maker := range f.Members() {
		findings = append(findings, compare(maker, copiesOf(f, maker), f.Pods)...)
	}
	return findings
}

// startedBy has the field by which the settings reach a container, by the mark of its template.
var startedBy = map[string]string{workload.ByCommand: "command", workload.ByFiles: "mount /etc/nccl.conf"}

// withoutStart finds templates that are marked as injected, where no container has what starts Railhead.
func withoutStart(maker, made cluster.Workload) []check.Finding {
	var findings []check.Finding
	for _, t := range made.Templates {
		field, marked := startedBy[t.Annotations[workload.Injected]]
		if !marked || slices.ContainsFunc(t.Containers, func(c cluster.Container) bool {
			return !c.Init && slices.Contains(c.Injected, field)
		}) {
			continue
		}
		findings = append(findings, check.Finding{
			Check: InjectionKept, Status: check.Fail,
			Subject: check.Ref{Kind: check.Job, Namespace: maker.Namespace, Name: maker.Name},
			Summary: fmt.Sprintf("%s %s is made from a template with rails of Railhead, but no container has its %s",
				made.Kind, made.Name, field),
			Evidence: check.Observed("annotation "+workload.Injected, t.Annotations[workload.Injected],
				"a container with "+field),
			Fix: check.ByUser(cmp.Or(setInstead[maker.Kind], setInstead[""]),
				"kubectl get mutatingwebhookconfigurations"),
		})
	}
	return findings
}

// ErasedFrom compares what runs with a manifest that Railhead injected. A workload without templates of its own, as a
// TrainJob, is compared by the objects that it made.
func ErasedFrom(manifest cluster.Workload, s cluster.State) []check.Finding {
	var findings []check.Finding
	families := runsOf(manifest, s)
	for _, f := range families {
		var live []copied
		templates := f.Templates
		if _, known := workload.Of(f.Kind); !known { // they are its pods
			templates = nil
		}
		for _, t := range templates {
			t.Writer = "" // a client that only removed fields owns none
			live = append(live, copied{check.Ref{}, f.Kind + " " + f.Name, t})
		}
		if len(live) == 0 {
			live = copiesOf(f, f.Workload)
		}
		findings = append(findings, compare(manifest, live, f.Pods)...)
		findings = append(findings, erasedBetween(f)...)
	}
	if len(families) == 0 || !s.Knows(cluster.Workloads) || !s.Knows(cluster.Pods) {
		findings = append(findings, check.Finding{
			Check: InjectionKept, Status: check.Unknown,
			Subject:  check.Ref{Kind: check.Job, Namespace: manifest.Namespace, Name: manifest.Name},
			Summary:  fmt.Sprintf("not all that runs of %s %s could be read", manifest.Kind, manifest.Name),
			Evidence: check.Observed("workloads", words.Count(len(families), "workload"), "1 or more"),
			Fix:      check.ByUser(applyFirst(manifest.Kind), "railhead inject -f FILE | kubectl apply -f -"),
		})
	}
	return findings
}

func applyFirst(kind string) string {
	if _, known := workload.Of(kind); known {
		return "Apply the output of inject first. You need the right to list it and its pods."
	}
	return "If it was applied, wait until its controller has made the pods: those of a kind that railhead does not " +
		"know are found by their owner. You need the right to list them."
}

// runsOf returns the live workload of a manifest, the TrainJobs of a runtime, the Jobs of a CronJob, or the pods and
// workloads that an object of an unknown kind owns.
func runsOf(manifest cluster.Workload, s cluster.State) []workload.Family {
	k, known := workload.Of(manifest.Kind)
	return slices.DeleteFunc(workload.Families(s), func(f workload.Family) bool {
		uses := func(j cluster.TrainJob) bool {
			return j.Namespace == f.Namespace && j.Name == f.Name && j.Runtime == manifest.Name
		}
		made := f.Namespace == manifest.Namespace && f.Owner == manifest.Kind+"/"+manifest.Name
		if made && !known {
			return false
		}
		if k.Stores {
			return !made && !slices.ContainsFunc(s.TrainJobs, uses)
		}
		return f.Namespace != manifest.Namespace || f.Kind != manifest.Kind || f.Name != manifest.Name
	})
}

// copied is a pod, or the template of an object, that a controller made from a template.
type copied struct {
	ref  check.Ref // of a pod
	name string
	pod  cluster.Pod
}

// copiesOf returns what a member of a family made. A pod whose owner is not a member counts as made by the first.
func copiesOf(f workload.Family, maker cluster.Workload) []copied {
	name := func(w cluster.Workload) string { return w.Kind + "/" + w.Name }
	var all []copied
	for _, w := range f.Made {
		for _, t := range w.Templates {
			if w.Owner == name(maker) {
				all = append(all, copied{check.Ref{}, w.Kind + " " + w.Name, t})
			}
		}
	}
	for _, p := range f.Pods {
		owned := slices.ContainsFunc(f.Members(), func(w cluster.Workload) bool { return name(w) == p.Owner })
		if p.Owner == name(maker) || !owned && name(maker) == name(f.Workload) {
			all = append(all, copied{check.PodRef(p.Namespace, p.Name), "pod " + p.Name, p})
		}
	}
	return all
}

// compare finds the copies that lack something, one finding for all that lack the same. Resources that all pods have
// are not lacking in the objects between: the network-resources-injector requests the resources of a pod's attachments.
func compare(maker cluster.Workload, made []copied, pods []cluster.Pod) []check.Finding {
	lacking := map[string][]copied{}
	for _, c := range made {
		fields := slices.DeleteFunc(lost(maker.Templates, c.pod), func(field string) bool {
			return len(pods) > 0 && strings.HasPrefix(field, cluster.InjectedResource) &&
				!slices.ContainsFunc(pods, func(p cluster.Pod) bool {
					return slices.Contains(lost(maker.Templates, p), field)
				})
		})
		if len(c.pod.Containers) > 0 && !c.pod.Deleted && len(fields) > 0 {
			all := strings.Join(fields, ", ")
			lacking[all] = append(lacking[all], c)
		}
	}
	var findings []check.Finding
	for _, fields := range slices.Sorted(maps.Keys(lacking)) {
		f := check.Finding{
			Check: InjectionKept, Status: check.Fail,
			Subject: check.Ref{Kind: check.Job, Namespace: maker.Namespace, Name: maker.Name},
			Evidence: check.Observed("template of "+maker.Kind+" "+maker.Name,
				"without "+fields, "what Railhead added to it"),
			Fix: check.ByUser(cmp.Or(setInstead[maker.Kind], setInstead[""]),
				"kubectl get mutatingwebhookconfigurations"),
		}
		var names, writers []string
		for _, c := range lacking[fields] {
			names = append(names, c.name)
			if c.pod.Writer != "" {
				writers = append(writers, c.pod.Writer)
			}
			if c.ref.Name != "" {
				f.About = append(f.About, c.ref)
			}
		}
		if slices.Sort(writers); len(writers) > 0 {
			f.Evidence = append(f.Evidence, check.Evidence{
				Source: "field manager of " + words.Few(names, 3), Got: strings.Join(slices.Compact(writers), ", "),
			})
		}
		f.Summary = fmt.Sprintf("the template of %s %s has rails of Railhead, but not all of it reached %s: "+
			"%s is missing", maker.Kind, maker.Name, words.Few(names, 3), fields)
		findings = append(findings, f)
	}
	return findings
}

// setInstead says, by the kind of the object with the template, where its controller takes the fields from.
var setInstead = map[string]string{
	"": "If they are older than the template, let the controller make them again. Otherwise an admission webhook, or " +
		"the controller, removed the fields: set them where it does not.",
	// kubeflow/trainer pkg/runtime/framework/plugins/jobset/builder.go, torch/torch.go
	"TrainJob":               trainerFields,
	"TrainingRuntime":        trainerFields,
	"ClusterTrainingRuntime": trainerFields,
	// ray-operator controllers/ray/common/pod.go BuildPod, controllers/ray/utils/constant.go
	"RayCluster": "KubeRay writes the command of the first container, unless the object has the annotation " +
		"ray.io/overwrite-container-cmd: \"true\". Inject with --wrap auto, which leaves the command alone. KubeRay " +
		"does not change pods that run: delete those that are older than the template.",
}

const trainerFields = "command, env and resourcesPerNode in spec.trainer of the TrainJob replace those of its " +
	"runtime: set them there. A TrainJob that is older than the change of its runtime must be made again."

// lost returns what a pod lacks of the template that it was made from; nil if that template is not an injected one.
// Which one it is follows from the names of the containers; of several, the pod may be of any.
func lost(templates []cluster.Pod, p cluster.Pod) []string {
	var fewest []string
	for _, t := range templates {
		foreign := func(c cluster.Container) bool { return !c.Init && container(p, c.Name) == nil }
		if slices.ContainsFunc(t.Containers, foreign) {
			continue
		}
		missing := missingFields(t, p)
		if t.Annotations[workload.Injected] == "" || len(missing) == 0 {
			return nil
		}
		if fewest == nil || len(missing) < len(fewest) {
			fewest = missing
		}
	}
	return fewest
}

// missingFields returns what Railhead added to a template and a pod does not have.
func missingFields(t, p cluster.Pod) []string {
	var missing []string
	has := p.NetworkNames()
	if slices.ContainsFunc(t.NetworkNames(), func(n cluster.NetworkName) bool { return !slices.Contains(has, n) }) {
		missing = append(missing, "annotation "+networksAnnotation)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Requests)) {
		if strings.Contains(name, "/") && p.Requests[name] < t.Requests[name] {
			missing = append(missing, cluster.InjectedResource+name)
		}
	}
	for _, c := range t.Containers {
		own := container(p, c.Name)
		if own == nil && strings.HasPrefix(c.Name, "railhead-pod-") {
			missing = append(missing, "init container "+c.Name)
		}
		for _, field := range c.Injected {
			if own != nil && !slices.Contains(own.Injected, field) && !slices.Contains(missing, field) {
				missing = append(missing, field+" of container "+c.Name)
			}
		}
	}
	return missing
}

func container(p cluster.Pod, name string) *cluster.Container {
	i := slices.IndexFunc(p.Containers, func(c cluster.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Containers[i]
}
