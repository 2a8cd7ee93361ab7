package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
)

// ComponentJob is the value of LabelComponent of what `deploy` makes for one job; `delete` goes by it.
const ComponentJob = "job"

// The shapes of a job, and the controllers that run it.
const (
	Single      = "single"
	Multi       = "multi"
	StatefulSet = "statefulset"
	JobSet      = "jobset"
)

// NoGPUs is JobOptions.GPUs of pods that ask for none.
const NoGPUs = -1

// Where the memory that RDMA registers is unlocked: by the container runtime of the nodes, or by a capability of the pod.
const (
	MemlockByNode    = "node"
	MemlockByIPCLock = "ipc-lock"
)

// JobOptions is what `railhead deploy` and `railhead inject` are asked for. The zero value of each field is its default.
type JobOptions struct {
	Name, Namespace  string
	Mode             nccl.Mode // rdma
	Type             string    // multi
	Kind             string    // statefulset
	Nodes            int       // of multi; it must be said
	GPUs             int       // of each pod: all that a node has; NoGPUs: none
	GPUResource      string    // the one that most nodes offer
	Networks         []string  // attachments of the namespace: all that are rails
	Image            string
	PullPolicy       string
	PullSecrets      []string
	Command          []string // the script; without one the pods wait for `railhead launch`
	Script           *Script
	ServiceAccount   string // NAME-sa or railhead-sa, where there is one
	SCC              string // none is pinned, unless IPC_LOCK or --privileged needs one
	Privileged       bool
	Memlock          string // MemlockByNode, MemlockByIPCLock; by what is known of the nodes
	RunAsUser        *int64 // OpenShift's range, or the image's
	Delivery         Delivery
	PodImage         string // that carries railhead-pod
	Programs         []Program
	Shm              string // /dev/shm: 8Gi for each GPU
	CPU, Memory      string
	EphemeralStorage string
	NodeSelector     map[string]string
	NodeNames        []string        // the nodes that the pods may be on: any
	Tolerations      []cluster.Taint // what is tolerated; without a value any, without an effect all
	Env              map[string]string
	RuntimeClass     string
	Container        string // inject: the one that trains
}

// Script is a file that the pods run.
type Script struct {
	Name    string
	Content []byte
}

// Job is the plan that makes the pods of a training job. What is there already is left out. With a finding that is Fail
// nothing may be written, and the plan is empty.
func Job(s cluster.State, o JobOptions) (Plan, []check.Finding) {
	j := newJob(s, o)
	if j.request(); check.Worst(j.findings) == check.Fail {
		return Plan{}, j.findings
	}
	if j.place(); check.Worst(j.findings) == check.Fail {
		return Plan{}, j.findings // without its namespace nothing else can be judged
	}
	j.devices()
	j.privileges()
	j.quotas()
	j.noteMemory()
	j.unchanged()
	if check.Worst(j.findings) == check.Fail {
		return Plan{}, j.findings
	}
	return Plan{Title: j.title(), Steps: j.steps(), Notes: j.notes}, j.findings
}

// job gathers the plan of a job.
type job struct {
	s        cluster.State
	others   cluster.State // without the job's own pods, whose place is the job's
	o        JobOptions
	findings []check.Finding
	notes    []string
	rails    []cluster.Rail
	able     []cluster.Node // nodes that can take a pod when they are free: the pods are made for these
	account  string         // "": the namespace's default
	scc      string         // pinned; "": OpenShift chooses
	ipcLock  bool
}

func newJob(s cluster.State, o JobOptions) *job {
	o.Mode = nccl.Mode(orDefault(string(o.Mode), string(nccl.RDMA)))
	o.Type, o.Kind = orDefault(o.Type, Multi), orDefault(o.Kind, StatefulSet)
	if o.Type == Single {
		o.Nodes = 1
	}
	if o.Delivery == "" {
		o.Delivery = ByConfigMaps
		if o.PodImage != "" {
			o.Delivery = ByImage
		}
	}
	j := &job{s: s, o: o, others: s}
	j.others.Pods = slices.DeleteFunc(slices.Clone(s.Pods), j.owns)
	j.gpus()
	return j
}

// owns reports whether a pod is one of the job.
func (j *job) owns(p cluster.Pod) bool {
	return p.Namespace == j.o.Namespace && p.Labels[LabelInstance] == j.o.Name && p.Labels[LabelComponent] == ComponentJob
}

func (j *job) say(f check.Finding) { j.findings = append(j.findings, f) }

func (j *job) note(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// fail says that something is not as the job needs it.
func (j *job) fail(id check.ID, subject, summary string, evidence check.Evidence, fix check.Fix) {
	j.say(check.Finding{Check: id, Status: check.Fail, Subject: check.Subject(subject), Summary: summary, Evidence: []check.Evidence{evidence}, Fix: &fix})
}

// unknown says that something could not be read.
func (j *job) unknown(id check.ID, kind cluster.Kind, summary string) {
	got := "not read"
	if p := j.s.Problem(kind); p != nil {
		got = p.Err
	}
	j.say(check.Finding{Check: id, Status: check.Unknown, Subject: check.Subject(kind), Summary: summary, Evidence: []check.Evidence{{Source: string(kind), Got: got}}})
}

func (j *job) multi() bool { return j.o.Type == Multi }
func (j *job) rdma() bool  { return j.o.Mode == nccl.RDMA }

func (j *job) title() string {
	what := "1 pod"
	if j.multi() {
		what = fmt.Sprintf("%s on as many nodes", counted(j.o.Nodes, "pod"))
	}
	return fmt.Sprintf("Deploy %s in namespace %s: %s, %s", j.o.Name, j.o.Namespace, what, j.network())
}

func (j *job) network() string {
	if j.o.Mode == nccl.TCP {
		return "over TCP"
	}
	return fmt.Sprintf("RDMA over %s", counted(len(j.rails), "rail"))
}

// gpus settles which GPUs a pod asks for, and how many.
func (j *job) gpus() {
	nodes := map[string][]int64{} // resource -> what each node has
	for _, n := range j.s.Nodes {
		if resource, count := n.GPUs(); count > 0 && j.selected(n) == "" {
			nodes[resource] = append(nodes[resource], count)
		}
	}
	if j.o.GPUResource == "" {
		j.o.GPUResource = "nvidia.com/gpu"
		most := 0
		for _, r := range slices.Sorted(maps.Keys(nodes)) {
			if len(nodes[r]) > most {
				j.o.GPUResource, most = r, len(nodes[r])
			}
		}
	}
	counts := nodes[j.o.GPUResource]
	if j.o.GPUs == 0 && len(counts) > 0 {
		slices.Sort(counts)
		slices.Reverse(counts)
		j.o.GPUs = int(counts[min(max(j.o.Nodes, 1), len(counts))-1]) // the most that enough nodes have
	}
}

// processes are those that train in each pod.
func (j *job) processes() int { return max(j.o.GPUs, 1) }

// deploy is the command line of the job with something more, to paste.
func (j *job) deploy(more string) string {
	return strings.TrimSpace(fmt.Sprintf("railhead deploy %s -n %s %s", j.o.Name, j.o.Namespace, more)) + " ..."
}

// steps write what is not there yet, and wait for the pods.
func (j *job) steps() []Step {
	var steps []Step
	d := j.delivery()
	var parts []Change
	for _, object := range d.configMaps(j.o.Namespace) {
		if _, there := liveObject(j.s, object); !there { // its content is in its name
			parts = append(parts, Change{Verb: Apply, Object: object, Why: "carries railhead-pod into the pods, without a registry"})
		}
	}
	if len(parts) > 0 {
		steps = append(steps, Step{ID: "delivery", Title: fmt.Sprintf("Put railhead-pod into %s", counted(len(parts), "ConfigMap")), Changes: parts})
	}
	step := Step{
		ID: "job", Title: fmt.Sprintf("Make the pods of %s and wait until they run", j.o.Name),
		Done: JobDone(j.o.Name, j.o.Namespace, j.o.Nodes), Watch: []cluster.Kind{cluster.Pods, cluster.Events},
	}
	if j.o.Kind == StatefulSet && len(JobPods(j.s, j.o.Name, j.o.Namespace)) > 0 {
		step.Watch = append(step.Watch, cluster.StatefulSets) // which pods are from before only its status tells
	}
	for _, w := range j.objects(d) {
		_, there := liveObject(j.s, w.Object)
		changes := apply(j.s, w.Object, w.Why)
		step.Changes = append(step.Changes, changes...)
		if there && len(changes) > 0 && w.Object.GetKind() == "StatefulSet" {
			step.Disruption.RestartsPods = true
			j.note("%s runs already and is changed: its pods start again.", j.o.Name)
		}
	}
	if len(step.Changes) > 0 {
		steps = append(steps, step)
	}
	return steps
}

func liveObject(s cluster.State, want unstructured.Unstructured) (cluster.Object, bool) {
	return object(s, want.GetKind(), want.GetNamespace(), want.GetName())
}
