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
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
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
	f.oneOf("--leaf", cmp.Or(f.Scheduling.Leaf, LeafPrefer), LeafPrefer, LeafRequire, LeafAny)
	own := plan.Labels("", f.Name)
	for _, key := range slices.Sorted(maps.Keys(f.Scheduling.Labels)) {
		errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(f.Scheduling.Labels[key])...)
		if _, set := own[key]; set || len(errs) > 0 {
			f.wrong("--label", strconv.Quote(key+"="+f.Scheduling.Labels[key]),
				"a valid label that railhead does not set itself", "Correct it.")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Scheduling.Annotations)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			f.wrong("--annotation", strconv.Quote(key), "the name of an annotation", "Correct it.")
		}
	}
	for _, name := range []struct{ flag, value string }{
		{"--queue", f.Scheduling.Queue},
		{"--priority-class", f.Scheduling.PriorityClass},
		{"--scheduler", f.Scheduling.Scheduler},
	} {
		if name.value != "" && len(validation.IsDNS1123Subdomain(name.value)) > 0 {
			f.wrong(name.flag, strconv.Quote(name.value), "the name of an object", "Correct it.")
		}
	}
	if f.Scheduling.GracePeriod < 0 || f.Scheduling.GracePeriod%time.Second != 0 {
		f.wrong("--grace-period", f.Scheduling.GracePeriod.String(), "a number of whole seconds, such as 10m",
			"Correct it.")
	}
	if f.Scheduling.Queue != "" && !f.server.Serves(cluster.KueueGroup) {
		f.draft.Fail(plan.ServerSupport, check.Ref{Kind: check.Server},
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
			targetOf(&f.Options).CommandWith("--guaranteed --cpu 32 --memory 256Gi"))
	}
}

// workloadMeta returns the metadata of the object that runs the pods.
func (w writer) workloadMeta() metav1.ObjectMeta {
	meta := w.meta(w.Name)
	meta.Labels, meta.Annotations = w.labels(), w.Scheduling.Annotations
	if w.Scheduling.Queue != "" {
		meta.Labels[queueLabel] = w.Scheduling.Queue
	}
	return meta
}

// labels returns the labels of the workload and its pods.
func (w writer) labels() map[string]string {
	labels := maps.Clone(w.Scheduling.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, w.meta(w.Name).Labels)
	return labels
}

// schedule adds the fields of the pod.
func (j *job) schedule(spec *corev1.PodSpec) {
	spec.NodeSelector, spec.Tolerations, spec.Affinity = j.Scheduling.NodeSelector, j.tolerations(), j.affinity()
	spec.PriorityClassName, spec.SchedulerName = j.Scheduling.PriorityClass, j.Scheduling.Scheduler
	if j.Scheduling.RuntimeClass != "" {
		spec.RuntimeClassName = &j.Scheduling.RuntimeClass
	}
	if j.Scheduling.GracePeriod > 0 {
		spec.TerminationGracePeriodSeconds = new(int64(j.Scheduling.GracePeriod / time.Second))
	}
}

// unhealthyEvictionMinor is the first minor version whose budgets let pods be evicted that are not ready (1.27: beta).
const unhealthyEvictionMinor = 27

// budgetObject returns a budget that keeps drains from evicting pods. A number of pods is its only form that works for
// Jobs, too (Kubernetes docs, disruption budgets for arbitrary workloads). Pods that have ended may always be evicted
// (kubernetes pkg/registry/core/pod/storage/eviction.go), and here also those that are not ready.
func (w writer) budgetObject(serverMinor int) unstructured.Unstructured {
	budget := policyv1.PodDisruptionBudget{
		ObjectMeta: w.meta(w.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt(w.Nodes)),
			Selector:     &metav1.LabelSelector{MatchLabels: jobSelector(&w.Options)},
		},
	}
	if serverMinor >= unhealthyEvictionMinor {
		budget.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	}
	return plan.Typed(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), &budget)
}

// describeQueue says what starts the pods, for the reason of a change.
func (s Scheduling) describeQueue() string {
	if s.Queue == "" {
		return ""
	}
	return fmt.Sprintf(", when queue %s admits them", s.Queue)
}

// reference is an object that an option names. Without a PriorityClass or RuntimeClass the API server refuses the pods
// (kubernetes plugin/pkg/admission/priority, runtimeclass); without a LocalQueue Kueue leaves the job suspended.
type reference struct {
	flag, value, what string
	list              cluster.Kind
	existing          []string
}

// references returns the objects that the options name.
func (s Scheduling) references(state cluster.State, namespace string) []reference {
	all := []reference{
		{flag: "--priority-class", value: s.PriorityClass, what: "PriorityClass", list: cluster.PriorityClasses},
		{flag: "--runtime-class", value: s.RuntimeClass, what: "RuntimeClass", list: cluster.RuntimeClasses},
		{flag: "--queue", value: s.Queue, what: "LocalQueue of namespace " + namespace, list: cluster.LocalQueues},
	}
	for _, c := range state.PriorityClasses {
		all[0].existing = append(all[0].existing, c.Name)
	}
	for _, c := range state.RuntimeClasses {
		all[1].existing = append(all[1].existing, c.Name)
	}
	for _, q := range state.LocalQueues {
		if q.Namespace == namespace {
			all[2].existing = append(all[2].existing, q.Name)
		}
	}
	return slices.DeleteFunc(all, func(r reference) bool { return r.value == "" })
}

// referencesExist refuses the names of objects that do not exist.
func (s Scheduling) referencesExist(state cluster.State, job plan.Target) (d plan.Draft) {
	for _, r := range s.references(state, job.Namespace) {
		switch {
		case !state.Knows(r.list):
			d.Unknown(state, plan.JobRequest, r.list, "whether "+r.what+" "+r.value+" exists could not be read")
		case !slices.Contains(r.existing, r.value):
			d.Report(wrong(job, r.flag, strconv.Quote(r.value), "a "+r.what+": "+plan.OrNone(r.existing),
				words.DidYouMean(r.value, r.existing, "Create it, or name an existing one.")))
		}
	}
	return d
}

// grows returns the lists to which others than the user add items. Kueue adds the tolerations of a ResourceFlavor to
// the pods of a job that it admits (kueue pkg/podset Merge).
func (s Scheduling) grows() []string {
	if s.Queue == "" {
		return nil
	}
	return []string{"tolerations"}
}

// queueActive warns if the queue admits nothing.
func (s Scheduling) queueActive(state cluster.State, job plan.Target) (d plan.Draft) {
	for _, q := range state.LocalQueues {
		if q.Namespace != job.Namespace || q.Name != s.Queue || q.Inactive == "" {
			continue
		}
		d.Report(check.Finding{
			Check: pods.QueueAdmission, Status: check.Warn, Subject: job.Ref(),
			Summary:  "queue " + q.Name + " admits nothing now: " + q.Inactive,
			Evidence: check.Observed("condition Active of LocalQueue/"+q.Name, "False", "True"),
			Fix: check.ByAdmin("Activate or create ClusterQueue "+q.ClusterQueue+".",
				"kubectl get clusterqueues.kueue.x-k8s.io "+q.ClusterQueue+" -o yaml"),
		})
	}
	return d
}
