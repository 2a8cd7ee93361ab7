package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Scheduling says where and when the pods run, and what may end them.
type Scheduling struct {
	NodeSelector     map[string]string
	NodeNames        []string        // the nodes that the pods may run on: any
	Tolerations      []cluster.Taint // without a value: any; without an effect: all
	Leaf             string          // LeafPrefer
	LeafLabel        string          // of nodes, naming their leaf switch: the known ones
	RuntimeClass     string
	Labels           map[string]string // of the workload and its pods, besides Railhead's
	Annotations      map[string]string
	Queue            string // of Kueue, which starts the job
	PriorityClass    string
	Scheduler        string
	GracePeriod      time.Duration // from SIGTERM to SIGKILL; 0: 30s, the default of Kubernetes
	DisruptionBudget bool          // no drain of a node evicts a pod that runs
}

// queueLabel names the queue of a workload (sigs.k8s.io/kueue pkg/controller/constants QueueLabel).
const queueLabel = "kueue.x-k8s.io/queue-name"

// scheduling checks labels, annotations, names and times.
func (f *flagCheck) scheduling() {
	f.oneOf("--leaf", cmp.Or(f.Leaf, LeafPrefer), LeafPrefer, LeafRequire, LeafAny)
	own := plan.Labels("", f.Name)
	for _, key := range slices.Sorted(maps.Keys(f.Labels)) {
		errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(f.Labels[key])...)
		if _, set := own[key]; set || len(errs) > 0 {
			f.wrong("--label", strconv.Quote(key+"="+f.Labels[key]), "a valid label that railhead does not set itself",
				"Correct it.")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Annotations)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			f.wrong("--annotation", strconv.Quote(key), "the name of an annotation", "Correct it.")
		}
	}
	for _, name := range []struct{ flag, value string }{
		{"--queue", f.Queue},
		{"--priority-class", f.PriorityClass},
		{"--scheduler", f.Scheduler},
	} {
		if name.value != "" && len(validation.IsDNS1123Subdomain(name.value)) > 0 {
			f.wrong(name.flag, strconv.Quote(name.value), "the name of an object", "Correct it.")
		}
	}
	if f.GracePeriod < 0 || f.GracePeriod%time.Second != 0 {
		f.wrong("--grace-period", f.GracePeriod.String(), "a number of whole seconds, such as 10m", "Correct it.")
	}
	if f.Queue != "" && !f.server.Serves(cluster.KueueGroup) {
		f.Fail(plan.ServerSupport, check.Ref{Kind: check.Server},
			"the cluster has no Kueue, so nothing would queue the job",
			check.Observed("API groups", "no "+cluster.KueueGroup, cluster.KueueGroup),
			check.ByUser("Leave out --queue."))
	}
}

// guaranteed refuses pods that would not be of the class Guaranteed, which all containers are in whose limits
// of cpu and memory equal their requests (Kubernetes docs, pod quality of service).
func (f *flagCheck) guaranteed() {
	if f.Guaranteed && (f.CPU == "" || f.Memory == "") {
		f.wrong("--guaranteed", "given without --cpu and --memory", "given with both",
			"Set both. Whole CPUs are exclusive where the kubelet has the static CPU policy.",
			f.target().CommandWith("--guaranteed --cpu 32 --memory 256Gi"))
	}
}

// enough reports whether the job can start: on free nodes, or when its queue admits it, on nodes that others use now.
func (j *placement) enough(free []cluster.Node) bool {
	return len(free) >= j.Nodes || j.Queue != "" && len(j.candidates) >= j.Nodes
}

// workloadMeta returns the metadata of the object that runs the pods.
func (j *job) workloadMeta() metav1.ObjectMeta {
	meta := j.meta(j.Name)
	meta.Labels, meta.Annotations = j.labels(), j.Annotations
	if j.Queue != "" {
		meta.Labels[queueLabel] = j.Queue
	}
	return meta
}

// labels returns the labels of the workload and its pods.
func (j *job) labels() map[string]string {
	labels := maps.Clone(j.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, j.meta(j.Name).Labels)
	return labels
}

// schedule adds the fields of the pod.
func (j *job) schedule(spec *corev1.PodSpec) {
	spec.NodeSelector, spec.Tolerations, spec.Affinity = j.NodeSelector, j.tolerations(), j.affinity()
	spec.PriorityClassName, spec.SchedulerName = j.PriorityClass, j.Scheduler
	if j.RuntimeClass != "" {
		spec.RuntimeClassName = &j.RuntimeClass
	}
	if j.GracePeriod > 0 {
		spec.TerminationGracePeriodSeconds = new(int64(j.GracePeriod / time.Second))
	}
}

// unhealthyEvictionMinor is the first minor version whose budgets let pods be evicted that are not ready (1.27: beta).
const unhealthyEvictionMinor = 27

// budgetObject returns a budget that keeps drains from evicting pods. A number of pods is its only form that works for
// Jobs, too (Kubernetes docs, disruption budgets for arbitrary workloads). Pods that have ended may always be evicted
// (kubernetes pkg/registry/core/pod/storage/eviction.go), and here also those that are not ready.
func (j *job) budgetObject() unstructured.Unstructured {
	budget := policyv1.PodDisruptionBudget{
		ObjectMeta: j.meta(j.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt(j.Nodes)),
			Selector:     &metav1.LabelSelector{MatchLabels: j.selector()},
		},
	}
	if j.s.Server.Minor >= unhealthyEvictionMinor {
		budget.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	}
	return plan.Typed(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), &budget)
}

func (j *job) noteBudget() {
	if j.DisruptionBudget {
		j.Note("The nodes of %s cannot be drained while its pods run, so node updates wait for it.", j.Name)
	}
}

// noteQueue notes that the job may have to wait for its nodes.
func (j *placement) noteQueue(free []cluster.Node) {
	if len(free) < j.Nodes {
		j.Note("%d of the %d nodes that %s needs are free now: it waits in queue %s.",
			len(free), j.Nodes, j.Name, j.Queue)
	}
}

// describeQueue says what starts the pods, for the reason of a change.
func (j *job) describeQueue() string {
	if j.Queue == "" {
		return ""
	}
	return fmt.Sprintf(", when queue %s admits them", j.Queue)
}
