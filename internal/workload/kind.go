// Package workload has one row for each kind of object that runs pods, with the facts that differ from kind to kind.
package workload

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/railhead/railhead/internal/cluster"
)

// Kind is one kind of object that runs pods. Paths are field names with dots between them: "spec.template".
type Kind struct {
	GVK       schema.GroupVersionKind
	Templates []Template // none: only the pods of the kind are known, by their labels
	Deployed  bool       // `railhead deploy` can write it
	Label     string     // label of a pod that names the object it belongs to
	Group     string     // label of the group, if groups of an object train separately
	Alike     bool       // the pods of an object request the same devices
	Rank      Source     // rank of a pod
	RankSince int        // first minor version of Kubernetes that sets the rank
	Leader    string     // pod of rank 0; NAME is the name of the object
	Suffix    string     // longest text after NAME in names and labels of pods; N is the highest rank
	Makers    []string   // objects whose events explain missing pods
	Recreates bool       // the controller replaces a pod that ended or failed
	Revision  string     // path of the revision that new pods get, where an object can be changed while its pods run
	Fixed     []string   // fields of the spec that cannot be changed
}

// Template is the place of a pod template in an object.
type Template struct {
	Items string   // path of the list or map whose items hold templates; empty: the object itself holds one
	Pod   string   // path of the template in an item; empty: the item is the pod
	Count []string // paths in an item; their product is the number of pods, and an absent one is 1
	Among bool     // its pods are among those that another template counts
}

// Source is a label or an annotation of a pod.
type Source struct{ Label, Annotation string }

// FieldPath returns the path of the source in the downward API.
func (s Source) FieldPath() string {
	if s.Annotation != "" {
		return "metadata.annotations['" + s.Annotation + "']"
	}
	return "metadata.labels['" + s.Label + "']"
}

// flag returns the kind as --kind takes it.
func (k Kind) flag() string { return strings.ToLower(k.GVK.Kind) }

// Workers names the only replicated job of the JobSets that `railhead deploy` writes.
const Workers = "worker"

// indexAnnotation is set on the pods of indexed Jobs (k8s.io/api batch/v1 JobCompletionIndexAnnotation).
const indexAnnotation = "batch.kubernetes.io/job-completion-index"

// Kinds is the table. A new kind is one row and one example in testdata; CONTRIBUTING.md shows how.
var Kinds = []Kind{
	{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
		Deployed:  true,
		Rank:      Source{Label: "apps.kubernetes.io/pod-index"},
		RankSince: 28, // KEP-4017
		Leader:    "NAME-0",
		Suffix:    "-0123456789", // hash of the revision: kubernetes pkg/controller/history ControllerRevisionName
		Makers:    []string{"StatefulSet/NAME"},
		Recreates: true,
		Revision:  "status.updateRevision",
	},
	{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
	},
	{ // of a Deployment, or of another controller
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
	},
	{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"status.desiredNumberScheduled"}}},
	},
	{
		GVK:       schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.parallelism"}}},
		Deployed:  true,
		Rank:      Source{Annotation: indexAnnotation},
		Leader:    "NAME-0",   // host name of a pod of an indexed Job
		Suffix:    "-N-abcde", // kubernetes pkg/controller/job podGenerateNameWithIndex
		Makers:    []string{"Job/NAME"},
		// kubernetes pkg/apis/batch/validation ValidateJobSpecUpdate
		Fixed: []string{"parallelism", "completions", "completionMode", "template"},
	},
	{
		GVK: schema.GroupVersionKind{Group: cluster.JobSetGroup, Version: "v1alpha2", Kind: "JobSet"},
		Templates: []Template{{
			Items: "spec.replicatedJobs",
			Pod:   "template.spec.template",
			Count: []string{"replicas", "template.spec.parallelism"},
		}},
		Deployed: true,
		Label:    "jobset.sigs.k8s.io/jobset-name",
		Alike:    true,
		Rank:     Source{Annotation: indexAnnotation},
		Leader:   "NAME-" + Workers + "-0-0",
		Suffix:   "-" + Workers + "-0-N-abcde", // sigs.k8s.io/jobset pkg/webhooks
		Makers:   []string{"JobSet/NAME", "Job/NAME-" + Workers + "-0"},
		// sigs.k8s.io/jobset v0.8.2 pkg/webhooks/jobset_webhook.go ValidateUpdate, api/jobset/v1alpha2
		Fixed: []string{"replicatedJobs", "network", "failurePolicy"},
	},
	{ // Kubeflow training operator: PyTorchJob and its siblings share the label
		GVK:       schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"},
		Templates: []Template{{Items: "spec.pytorchReplicaSpecs", Pod: "template", Count: []string{"replicas"}}},
		Label:     "training.kubeflow.org/job-name",
		Alike:     true,
	},
	{
		GVK:       schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"},
		Templates: []Template{{Items: "spec.mpiReplicaSpecs", Pod: "template", Count: []string{"replicas"}}},
		Label:     "training.kubeflow.org/job-name",
	},
	{ // its leaders are pods of a StatefulSet; each has a StatefulSet of workers
		GVK: schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
		Templates: []Template{
			{Pod: "spec.leaderWorkerTemplate.leaderTemplate", Among: true},
			{
				Pod:   "spec.leaderWorkerTemplate.workerTemplate",
				Count: []string{"spec.replicas", "spec.leaderWorkerTemplate.size"},
			},
		},
		Label: "leaderworkerset.sigs.k8s.io/name",
		Group: "leaderworkerset.sigs.k8s.io/group-index",
	},
	{
		GVK: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"},
		Templates: []Template{
			{Pod: "spec.headGroupSpec.template"},
			{Items: "spec.workerGroupSpecs", Pod: "template", Count: []string{"replicas", "numOfHosts"}},
		},
		Label: "ray.io/cluster",
	},
	{
		GVK:       schema.GroupVersionKind{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"},
		Templates: []Template{{Items: "spec.tasks", Pod: "template", Count: []string{"replicas"}}},
		Label:     "volcano.sh/job-name",
	},
	{
		GVK:       schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Templates: []Template{{}},
		Label:     "kueue.x-k8s.io/pod-group-name", // Kueue, plain pods that start together
	},
}

// Of returns the row of a kind whose pod templates are known. Groups are not compared: a manifest may name any version.
func Of(kind string) (Kind, bool) {
	return first(func(k Kind) bool { return k.GVK.Kind == kind && len(k.Templates) > 0 })
}

// Deployed returns the row for a value of --kind.
func Deployed(flag string) (Kind, bool) {
	return first(func(k Kind) bool { return k.Deployed && k.flag() == flag })
}

func first(matches func(Kind) bool) (Kind, bool) {
	i := slices.IndexFunc(Kinds, matches)
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// Flags returns the values of --kind.
func Flags() []string {
	var flags []string
	for _, k := range Kinds {
		if k.Deployed {
			flags = append(flags, k.flag())
		}
	}
	return flags
}

// WithTemplates returns the names of the kinds whose pod templates are known, sorted.
func WithTemplates() []string {
	var names []string
	for _, k := range Kinds {
		if len(k.Templates) > 0 {
			names = append(names, k.GVK.Kind)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
