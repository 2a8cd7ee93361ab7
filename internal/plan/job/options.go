package job

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/workload"
)

// Types of a job, as --type takes them.
const (
	Single = "single"
	Multi  = "multi"
)

// Kinds of workload that run a job, as --kind takes them: rows of workload.Kinds.
const (
	StatefulSet = "statefulset"
	IndexedJob  = "job"
	JobSet      = "jobset"
)

// NoGPUs is Options.GPUs of pods that request none.
const NoGPUs = -1

// Options are the flags of `railhead deploy` and `railhead inject`. The zero value of each field is its default.
type Options struct {
	Name, Namespace string
	Mode            nccl.Mode // rdma
	Type            string    // multi
	Kind            string    // the kind of the job if it exists; job with a command or a script; else statefulset
	Nodes           int       // of multi; required
	GPUs            int       // of each pod: all GPUs of a node; NoGPUs: none
	GPUResource     string    // the one that most nodes offer
	Networks        []string  // attachments of the namespace, or claimed rails: all
	Claims          bool      // claim the rails from a DRA driver; also without, if there are no attachments
	Image           string
	PullPolicy      string
	PullSecrets     []string
	Command         []string // the script; without one the pods wait for `railhead launch`
	Script          *Script
	Env             map[string]string
	Delivery        delivery.Method
	PodImage        string // contains railhead-pod
	Programs        []delivery.Program
	TemplatePaths   []string // inject: of pod templates in manifests of kinds that railhead does not know
	Container       string   // inject: the one that trains
	Wrap            string   // inject: WrapAuto
	manifest        bool     // inject: a manifest makes the pods
	access.Rights
	Resources
	Storage    Storage
	Scheduling Scheduling
	Startup    Startup
}

// Resources are the requests and limits of each pod besides its GPUs and rails.
type Resources struct {
	CPU, Memory      string
	EphemeralStorage string
	Guaranteed       bool // the quality of service of the pods
}

// Storage lists the volumes of the pods and the size of /dev/shm.
type Storage struct {
	Shm     string // /dev/shm: 8Gi for each GPU
	Volumes []volume.Volume
}

// Script is a file that the pods run.
type Script struct {
	Name    string
	Content []byte
}

func setDefaults(o *Options) {
	o.Mode = cmp.Or(o.Mode, nccl.RDMA)
	if o.Type = cmp.Or(o.Type, Multi); o.Type == Single {
		o.Nodes = 1
	}
	switch {
	case o.Delivery != "":
	case o.PodImage != "":
		o.Delivery = delivery.ByImage
	default:
		o.Delivery = delivery.ByConfigMaps
	}
}

// defaultKind keeps the kind of a job that exists, so that no second workload joins the first. A Job runs a command
// once; a StatefulSet keeps pods that wait for `railhead launch`.
func defaultKind(o *Options, s cluster.State) {
	existing, _, exists := workload.Find(s, o.Name, o.Namespace)
	switch {
	case o.Kind != "":
	case exists:
		o.Kind = strings.ToLower(existing.GVK.Kind)
	case hasCommand(o):
		o.Kind = IndexedJob
	default:
		o.Kind = StatefulSet
	}
}

// workloadOf returns the row of the kind that runs the pods.
func workloadOf(o *Options) workload.Kind {
	k, _ := workload.Deployed(o.Kind) // validate refuses others
	return k
}

func isMulti(o *Options) bool       { return o.Type == Multi }
func usesRDMA(o *Options) bool      { return o.Mode == nccl.RDMA }
func serviceName(o *Options) string { return o.Name + "-headless" }
func scriptName(o *Options) string  { return o.Name + "-script" }
func hasCommand(o *Options) bool    { return len(o.Command) > 0 || o.Script != nil }

// processCount returns the number of training processes in each pod.
func processCount(o *Options) int { return max(o.GPUs, 1) }

func jobSelector(o *Options) map[string]string {
	return map[string]string{plan.LabelInstance: o.Name, plan.LabelComponent: workload.ComponentJob}
}

// targetOf returns the job as plans name it.
func targetOf(o *Options) plan.Target {
	return plan.Target{Name: o.Name, Namespace: o.Namespace, Manifest: o.manifest, SCC: o.SCC}
}

// resources returns the requests of each pod without the rails; /dev/shm is added to the memory later.
func (j *job) resources() map[string]string {
	resources := map[string]string{}
	if j.GPUs > 0 && j.claim.GPUs == 0 {
		resources[j.GPUResource] = strconv.Itoa(j.GPUs)
	}
	for name, amount := range map[string]string{
		"cpu":               j.CPU,
		"memory":            j.Memory,
		"ephemeral-storage": j.EphemeralStorage,
	} {
		if amount != "" {
			resources[name] = canonical(amount)
		}
	}
	return resources
}

// shmSize returns the size of /dev/shm. NCCL and data loaders talk through it; the 64 MiB of the runtime are too small
// for both. Its files count against the memory limit of the container that wrote them (Kubernetes docs, volumes:
// emptyDir).
func shmSize(o *Options) string {
	return canonical(cmp.Or(o.Storage.Shm, fmt.Sprintf("%dGi", 8*processCount(o))))
}

// canonical returns a quantity as the API server writes it, so that a second run finds it unchanged.
func canonical(quantity string) string {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return quantity // validate refuses it
	}
	return q.String()
}
