package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// The shapes of a job, and the controllers that run it.
const (
	Single      = "single"
	Multi       = "multi"
	StatefulSet = "statefulset" // the flags of rows of workload.Kinds
	JobSet      = "jobset"
)

// NoGPUs is JobOptions.GPUs of pods that ask for none.
const NoGPUs = -1

// Where the memory that RDMA registers is unlocked: by the container runtime of the nodes, or by a capability of the
// pod.
const (
	MemlockByNode    = "node"
	MemlockByIPCLock = "ipc-lock"
)

// Options are the flags of `railhead deploy` and `railhead inject`. The zero value of each field is its
// default.
type Options struct {
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
	Memlock          string // MemlockByNode, MemlockByIPCLock; chosen by the nodes' settings
	RunAsUser        *int64 // OpenShift's range, or the image's
	Delivery         Delivery
	PodImage         string // that carries railhead-pod
	Programs         []Program
	Shm              string // /dev/shm: 8Gi for each GPU
	CPU, Memory      string
	EphemeralStorage string
	NodeSelector     map[string]string
	NodeNames        []string        // the nodes that the pods may be on: any
	Tolerations      []cluster.Taint // without a value: any; without an effect: all
	Env              map[string]string
	RuntimeClass     string
	Container        string // inject: the one that trains
}

// Script is a file that the pods run.
type Script struct {
	Name    string
	Content []byte
}

// Deploy returns the plan that creates the pods of a training job, without objects that exist already. With a finding
// that is Fail nothing may be written, and the plan is empty.
func Deploy(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	j := newJob(s, o)
	if j.validate(); check.Worst(j.findings) == check.Fail {
		return plan.Plan{}, j.findings
	}
	if j.place(); check.Worst(j.findings) == check.Fail {
		return plan.Plan{}, j.findings // without its namespace nothing else can be judged
	}
	j.devices()
	j.privileges()
	j.quotas()
	j.noteMemory()
	j.unchanged()
	if check.Worst(j.findings) == check.Fail {
		return plan.Plan{}, j.findings
	}
	return plan.Plan{Title: j.title(), Steps: j.steps(), Notes: j.notes}, j.findings
}

// request is a job as it was asked for, with its defaults filled in from the cluster.
type request struct {
	s        cluster.State
	others   cluster.State // without the job's own pods, whose resources the job may use
	o        Options
	findings []check.Finding
	notes    []string
}

// placement is a request with its rails and the nodes that may run its pods.
type placement struct {
	request
	rails []cluster.Rail
	able  []cluster.Node // nodes that can run a pod once they are free
}

// admission is a placement with the rights of its pods.
type admission struct {
	placement
	account string // empty: the default of the namespace
	scc     string // pinned; empty: OpenShift chooses
	ipcLock bool
}

// job is a request that all decisions were taken for: its objects follow from them.
type job struct{ admission }

func newJob(s cluster.State, o Options) *job {
	o.Mode = nccl.Mode(cmp.Or(string(o.Mode), string(nccl.RDMA)))
	o.Type, o.Kind = cmp.Or(o.Type, Multi), cmp.Or(o.Kind, StatefulSet)
	if o.Type == Single {
		o.Nodes = 1
	}
	if o.Delivery == "" {
		o.Delivery = ByConfigMaps
		if o.PodImage != "" {
			o.Delivery = ByImage
		}
	}
	j := &job{}
	j.s, j.o, j.others = s, o, s
	j.others.Pods = slices.DeleteFunc(slices.Clone(s.Pods), j.owns)
	j.gpus()
	return j
}

// owns reports whether a pod is one of the job.
func (j *request) owns(p cluster.Pod) bool {
	return workload.OfJob(p, j.o.Name, j.o.Namespace)
}

func (j *request) say(f check.Finding) { j.findings = append(j.findings, f) }

func (j *request) note(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// fail says that something is not as the job needs it.
func (j *request) fail(id check.ID, subject check.Ref, summary string, evidence check.Evidence, fix check.Fix) {
	j.say(check.Finding{
		Check:    id,
		Status:   check.Fail,
		Subject:  subject,
		Summary:  summary,
		Evidence: []check.Evidence{evidence},
		Fix:      &fix,
	})
}

// unknown says that something could not be read.
func (j *request) unknown(id check.ID, kind cluster.Kind, summary string) {
	got := "not read"
	if p := j.s.Problem(kind); p != nil {
		got = p.Err
	}
	j.say(check.Finding{
		Check:    id,
		Status:   check.Unknown,
		Subject:  check.Named(check.List, string(kind)),
		Summary:  summary,
		Evidence: []check.Evidence{{Source: string(kind), Got: got}},
	})
}

// kind returns the row of the kind that runs the pods.
func (j *request) kind() workload.Kind {
	k, _ := workload.Deployed(j.o.Kind) // request refuses others
	return k
}

func (j *request) multi() bool { return j.o.Type == Multi }
func (j *request) rdma() bool  { return j.o.Mode == nccl.RDMA }

func (j *job) title() string {
	what := "1 pod"
	if j.multi() {
		what = fmt.Sprintf("%s on as many nodes", words.Count(j.o.Nodes, "pod"))
	}
	return fmt.Sprintf("Deploy %s in namespace %s: %s, %s", j.o.Name, j.o.Namespace, what, j.network())
}

func (j *placement) network() string {
	if j.o.Mode == nccl.TCP {
		return "over TCP"
	}
	return fmt.Sprintf("RDMA over %s", words.Count(len(j.rails), "rail"))
}

// gpus settles which GPUs a pod asks for, and how many.
func (j *request) gpus() {
	nodes := map[string][]int64{} // resource -> amount on each node
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

// processes returns the number of training processes in each pod.
func (j *request) processes() int { return max(j.o.GPUs, 1) }

// deploy is the command line of the job with something more, to paste.
func (j *request) deploy(more string) string {
	return strings.TrimSpace(fmt.Sprintf("railhead deploy %s -n %s %s", j.o.Name, j.o.Namespace, more)) + " ..."
}

// steps write missing objects and wait for the pods.
func (j *job) steps() []plan.Step {
	var steps []plan.Step
	d := j.delivery()
	var parts []plan.Change
	for _, object := range d.configMaps(j.o.Namespace) {
		if _, there := plan.LiveObject(j.s, object); !there { // its content is in its name
			parts = append(parts, plan.Change{
				Verb:   plan.Apply,
				Object: object,
				Why:    "carries railhead-pod into the pods, without a registry",
			})
		}
	}
	if len(parts) > 0 {
		steps = append(steps, plan.Step{
			ID:      "delivery",
			Title:   fmt.Sprintf("Put railhead-pod into %s", words.Count(len(parts), "ConfigMap")),
			Changes: parts,
		})
	}
	step := plan.Step{
		ID: "job", Title: fmt.Sprintf("Make the pods of %s and wait until they run", j.o.Name),
		Done: Done(j.o.Name, j.o.Namespace, j.o.Nodes), Watch: []cluster.Kind{cluster.Pods, cluster.Events},
	}
	if j.kind().Revision != "" && len(workload.PodsOf(j.s, j.o.Name, j.o.Namespace)) > 0 {
		step.Watch = append(step.Watch, cluster.StatefulSets) // which pods are from before only its status tells
	}
	for _, w := range j.objects(d) {
		_, there := plan.LiveObject(j.s, w.Object)
		changes := plan.ApplyUnlessCovered(j.s, w.Object, w.Why)
		step.Changes = append(step.Changes, changes...)
		if there && len(changes) > 0 && w.Object.GetKind() == j.kind().GVK.Kind && j.kind().Revision != "" {
			step.Disruption.RestartsPods = true
			j.note("%s runs already and is changed: its pods start again.", j.o.Name)
		}
	}
	if len(step.Changes) > 0 {
		steps = append(steps, step)
	}
	return steps
}
