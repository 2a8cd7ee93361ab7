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
	Templates []Template // none: another object has them, or only the pods of the kind are known, by their labels
	Stores    bool       // templates for other objects: it makes no pods
	Cluster   bool       // its objects are in no namespace
	Nodes     string     // path of the number of pods, if another object has the templates
	Short     []string   // other names that kubectl takes
	Deployed  bool       // `railhead deploy` can write it
	Label     string     // label of a pod that names the object it belongs to
	Group     string     // label of the group, if groups of an object train separately
	Part      []string   // labels of a pod that name the item of its template
	Submits   bool       // a Job of its own, which does not train, submits the program
	Alike     bool       // the pods of an object that train request the same devices
	Order     []string   // labels by which the pods of an object are ordered before their ranks
	Rank      Source     // rank of a pod; none: the pods are ordered by name
	RankSince int        // first minor version of Kubernetes that sets the rank
	Leader    string     // pod of rank 0; NAME is the name of the object
	Suffix    string     // longest text after NAME in names and labels of pods; N is the highest rank
	Makers    []string   // objects whose events explain missing pods
	Recreates bool       // the controller replaces a pod that ended, failed or was deleted
	Numbers   bool       // the names of its pods end in their numbers, and a new pod has the name of the one before it
	// OwnCommand is true if the controller writes the command of the pods, or a part of it.
	OwnCommand bool
	Revision   string   // path of the revision that new pods get, where an object can be changed while its pods run
	Fixed      []string // fields of the spec that cannot be changed
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

// Name returns the kind as Workload.Kind and owners have it.
func (k Kind) Name() string { return KindName(k.GVK.GroupVersion().String(), k.GVK.Kind) }

// KindName returns a kind with its group if the table has an earlier kind of the name: Job.batch.volcano.sh.
func KindName(apiVersion, kind string) string {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.GVK.Kind == kind })
	if i < 0 || gv.Group == "" || gv.Group == Kinds[i].GVK.Group {
		return kind
	}
	return kind + "." + gv.Group
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
		Short:     []string{"sts"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
		Deployed:  true,
		Rank:      Source{Label: "apps.kubernetes.io/pod-index"},
		RankSince: 28, // KEP-4017
		Leader:    "NAME-0",
		Suffix:    "-0123456789", // hash of the revision: kubernetes pkg/controller/history ControllerRevisionName
		Makers:    []string{"StatefulSet/NAME"},
		Recreates: true,
		Numbers:   true,
		Revision:  "status.updateRevision",
	},
	{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Short:     []string{"deploy"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
		Recreates: true,
	},
	{ // of a Deployment, or of another controller
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		Short:     []string{"rs"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"spec.replicas"}}},
		Recreates: true,
	},
	{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"},
		Short:     []string{"ds"},
		Templates: []Template{{Pod: "spec.template", Count: []string{"status.desiredNumberScheduled"}}},
		Recreates: true,
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
	{ // its Jobs are workloads of their own: each trains for itself
		GVK: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"},
		Templates: []Template{{
			Pod:   "spec.jobTemplate.spec.template",
			Count: []string{"spec.jobTemplate.spec.parallelism"},
		}},
		Stores: true,
	},
	{
		GVK:       schema.GroupVersionKind{Group: cluster.JobSetGroup, Version: "v1alpha2", Kind: "JobSet"},
		Templates: []Template{replicatedJobs("spec.replicatedJobs")},
		Deployed:  true,
		Label:     "jobset.sigs.k8s.io/jobset-name",
		Part:      []string{"jobset.sigs.k8s.io/replicatedjob-name"},
		Alike:     true,
		Order:     []string{"jobset.sigs.k8s.io/job-global-index"},
		Rank:      Source{Annotation: indexAnnotation},
		Leader:    "NAME-" + Workers + "-0-0",
		Suffix:    "-" + Workers + "-0-N-abcde", // sigs.k8s.io/jobset pkg/webhooks
		Makers:    []string{"JobSet/NAME", "Job/NAME-" + Workers + "-0"},
		// sigs.k8s.io/jobset v0.8.2 pkg/webhooks/jobset_webhook.go ValidateUpdate, api/jobset/v1alpha2
		Fixed: []string{"replicatedJobs", "network", "failurePolicy"},
	},
	trainingOperator("PyTorchJob", "spec.pytorchReplicaSpecs"), // rank: pkg/controller.v1/pytorch/envvar.go
	trainingOperator("TFJob", "spec.tfReplicaSpecs"),
	trainingOperator("XGBoostJob", "spec.xgbReplicaSpecs"),
	trainingOperator("PaddleJob", "spec.paddleReplicaSpecs"),
	trainingOperator("JAXJob", "spec.jaxReplicaSpecs"),
	{ // mpi-operator pkg/controller/mpi_job_controller.go newWorker, defaultLabels; v1 is of the training operator
		GVK: schema.GroupVersionKind{Group: kubeflow, Version: "v2beta1", Kind: "MPIJob"},
		Templates: []Template{{
			Items: "spec.mpiReplicaSpecs",
			Pod:   "template",
			Count: []string{"replicas"},
			Roles: map[string]Role{"launcher": Launcher},
		}},
		Label: operatorLabel,
		Part:  []string{"training.kubeflow.org/job-role", replicaType},
		Alike: true,
		Rank:  Source{Label: replicaIndex},
	},
	{ // makes a JobSet of its name from the templates of its runtime (kubeflow/trainer pkg/apis/trainer/v1alpha1)
		GVK:   schema.GroupVersionKind{Group: cluster.TrainerGroup, Version: "v1alpha1", Kind: "TrainJob"},
		Nodes: "spec.trainer.numNodes",
	},
	trainingRuntime("TrainingRuntime"),
	trainingRuntime("ClusterTrainingRuntime"),
	{ // its leaders are pods of a StatefulSet; each has a StatefulSet of workers
		GVK:   schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
		Short: []string{"lws"},
		Templates: []Template{
			{Pod: "spec.leaderWorkerTemplate.leaderTemplate", Among: true, Role: Leader},
			{
				Pod:   "spec.leaderWorkerTemplate.workerTemplate",
				Count: []string{"spec.replicas", "spec.leaderWorkerTemplate.size"},
			},
		},
		Label: "leaderworkerset.sigs.k8s.io/name",
		Group: lwsGroup,
		Order: []string{lwsGroup},
		Rank:  Source{Label: "leaderworkerset.sigs.k8s.io/worker-index"}, // 0: the leader
		// the StatefulSets do; by default a deleted pod has its whole group replaced (RecreateGroupOnPodRestart)
		Recreates: true,
	},
	rayCluster("RayCluster", "spec."),
	rayCluster("RayJob", "spec.rayClusterSpec."),
	rayCluster("RayService", "spec.rayClusterConfig."),
	{ // volcano.sh/apis pkg/apis/batch/v1alpha1/labels.go
		GVK:       schema.GroupVersionKind{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"},
		Short:     []string{"vcjob", "vj"},
		Templates: []Template{{Items: "spec.tasks", Pod: "template", Count: []string{"replicas"}}},
		Label:     "volcano.sh/job-name",
		Order:     []string{"volcano.sh/task-spec"},
		Rank:      Source{Label: "volcano.sh/task-index"},
	},
	{
		GVK:       schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Short:     []string{"po"},
		Templates: []Template{{}},
		Label:     "kueue.x-k8s.io/pod-group-name", // Kueue, plain pods that start together
		Rank:      Source{Label: "kueue.x-k8s.io/pod-group-pod-index"},
	},
}

// Labels of the training operator and of the MPI operator (kubeflow training-operator pkg/apis/kubeflow.org/v1).
const (
	kubeflow      = "kubeflow.org"
	operatorLabel = "training.kubeflow.org/job-name"
	replicaType   = "training.kubeflow.org/replica-type"
	replicaIndex  = "training.kubeflow.org/replica-index"
)

// trainingOperator is a kind of Kubeflow's training operator. Its master is rank 0, and the workers follow.
func trainingOperator(kind, specs string) Kind {
	return Kind{
		GVK:       schema.GroupVersionKind{Group: kubeflow, Version: "v1", Kind: kind},
		Templates: []Template{{Items: specs, Pod: "template", Count: []string{"replicas"}}},
		Label:     operatorLabel,
		Alike:     kind == "PyTorchJob", // the others may have parameter servers, schedulers and evaluators
		Order:     []string{replicaType},
		Rank:      Source{Label: replicaIndex},
	}
}

// replicatedJobs returns the Template for the jobs of a JobSet. Kubeflow's runtimes use the names in Roles
// (kubeflow/trainer pkg/constants).
func replicatedJobs(path string) Template {
	return Template{
		Items: path,
		Pod:   "template.spec.template",
		Count: []string{"replicas", "template.spec.parallelism"},
		Roles: map[string]Role{"dataset-initializer": Helper, "model-initializer": Helper, "launcher": Launcher},
	}
}

func trainingRuntime(kind string) Kind {
	return Kind{
		GVK:       schema.GroupVersionKind{Group: cluster.TrainerGroup, Version: "v1alpha1", Kind: kind},
		Templates: []Template{replicatedJobs("spec.template.spec.replicatedJobs")},
		Stores:    true,
		Cluster:   kind == "ClusterTrainingRuntime",
		// replaces it by the TrainJob's command: pkg/runtime/framework/plugins/jobset/builder.go Trainer
		OwnCommand: true,
	}
}

// lwsGroup is the label with the number of a group (sigs.k8s.io/lws api/leaderworkerset/v1).
const lwsGroup = "leaderworkerset.sigs.k8s.io/group-index"

// rayCluster is a kind of KubeRay that has the spec of a RayCluster at a path (ray-operator apis/ray/v1). The
// autoscaler changes the workers of the RayCluster alone, so of the other kinds only the head is counted. Ray itself
// numbers no pods.
func rayCluster(kind, path string) Kind {
	k := Kind{
		GVK: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: kind},
		Templates: []Template{
			{Pod: path + "headGroupSpec.template", Role: Leader},
			{
				Items: path + "workerGroupSpecs",
				Pod:   "template",
				Count: []string{"replicas", "numOfHosts"},
				Among: kind != "RayCluster",
			},
		},
		Submits:    kind == "RayJob",
		OwnCommand: true, // starts Ray: ray-operator controllers/ray/common/pod.go BuildPod
	}
	switch kind {
	case "RayCluster":
		k.Label, k.Order = "ray.io/cluster", []string{"ray.io/node-type", "ray.io/group"} // node-type: head or worker
		// ray-operator controllers/ray/raycluster_controller.go reconcilePods
		k.Recreates = true
	case "RayJob":
		k.Templates = append(k.Templates, Template{Pod: "spec.submitterPodTemplate", Among: true, Role: Helper})
	}
	return k
}

// Of returns the row of a kind, as KindName has it, whose pod templates are known. A manifest may name any version.
func Of(kind string) (Kind, bool) {
	return first(func(k Kind) bool { return len(k.Templates) > 0 && k.Name() == kind })
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
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Recreating returns the names of the kinds whose controllers replace deleted pods, sorted.
func Recreating() []string {
	var names []string
	for _, k := range Kinds {
		if k.Recreates {
			names = append(names, k.Name())
		}
	}
	slices.Sort(names)
	return names
}

// names returns the names of all kinds, sorted.
func names() []string {
	var all []string
	for _, k := range Kinds {
		if !k.Stores {
			all = append(all, k.Name())
		}
	}
	slices.Sort(all)
	return all
}

// Listed reports whether the objects of the kind are read as workloads. A plain pod is one without an owner.
func (k Kind) Listed() bool {
	return k.GVK.Group != "" && !k.Stores && len(k.Templates)+len(k.Nodes) > 0
}
