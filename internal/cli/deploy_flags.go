package cli

import (
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/job"
)

// jobFlags describe a job's pods, for deploy and inject.
type jobFlags struct {
	job.Options
	script      string
	imageVolume bool
	compare     bool              // with the pods that run: inject --check
	binaries    map[string]string // architecture -> file
	tolerations []string
	environment []string // values may hold commas
	volumes     []string
	labels      []string
	annotations []string
	runAsUser   int64
}

func (j *jobFlags) add(cmd *cobra.Command) {
	j.addRails(cmd)
	j.addProgram(cmd)
	j.addStartup(cmd)
	j.addRights(cmd)
	j.addResources(cmd)
}

// addRails adds the flags of GPUs and rails.
func (j *jobFlags) addRails(cmd *cobra.Command) {
	j.Mode = nccl.RDMA
	f := cmd.Flags()
	choiceFlag(cmd, (*string)(&j.Mode), "mode", "",
		"rdma: require RDMA; auto: RDMA if nodes and rails allow it, otherwise TCP; tcp: no rails",
		string(nccl.RDMA), string(nccl.Auto), string(nccl.TCP))
	f.IntVar(&j.GPUs, "gpus", 0, "`number` of GPUs of each pod; 0 for none (default: all GPUs of a node)")
	f.StringVar(&j.GPUResource, "gpu-resource", "", "`resource` of the GPUs (default: the one that most nodes offer)")
	f.StringSliceVar(&j.Networks, "network", nil,
		"network `attachment` to use as a rail; repeatable (default: all rails of the namespace)")
	f.BoolVar(&j.Claims, "claims", false,
		"claim the rails from a DRA driver, without attachments (default: if the namespace has no attachment)")
}

// addProgram adds the flags of what the pods run.
func (j *jobFlags) addProgram(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&j.environment, "env", "e", nil, "environment variable of the pods, `NAME=VALUE`; repeatable")
	f.StringVar(&j.PodImage, "pod-image", "",
		"`image` with /railhead-pod, for an init container (default: ConfigMaps, without a registry)")
	f.BoolVar(&j.imageVolume, "image-volume", false,
		"mount --pod-image as a volume (Kubernetes 1.35, or 1.33 with the feature gate ImageVolume)")
	binaryFlag(cmd, &j.binaries, "")
	cmd.MarkFlagsMutuallyExclusive("pod-image", "pod-binary")
}

// addStartup adds the flags of railhead-pod in a pod that starts.
func (j *jobFlags) addStartup(cmd *cobra.Command) {
	j.Startup.Preflight = job.PreflightOff
	choiceFlag(cmd, &j.Startup.Preflight, "preflight", "",
		"test every rail with the image's ib_write_bw first; warn: start in any case; fail: "+
			"do not start over a broken rail",
		job.PreflightOff, job.PreflightWarn, job.PreflightFail)
	cmd.Flags().StringVar(&j.Startup.GDRLevel, "gdr-level", "",
		"largest `distance` of a GPU and its NIC for GPUDirect RDMA: LOC, PIX, PXB, PHB or SYS "+
			"(default: NCCL's own, PXB)")
}

// addRights adds the flags of the account and the privileges.
func (j *jobFlags) addRights(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&j.ServiceAccount, "service-account", "",
		"service `account` of the pods (default: NAME-sa or railhead-sa if it exists)")
	f.StringVar(&j.SCC, "scc", "",
		"`name` of the security context constraint that must admit the pods (default: none, unless the pods need one)")
	f.BoolVar(&j.Privileged, "privileged", false,
		"make the pods privileged; RDMA does not need it, and the pods see every HCA of the node")
	choiceFlag(cmd, &j.Memlock, "memlock", "",
		"node: the nodes let containers lock memory; ipc-lock: the pods add the capability and run as root "+
			"(default: as the nodes need)",
		access.MemlockByNode, access.MemlockByIPCLock)
}

// addResources adds the flags of requests and of the nodes that have them.
func (j *jobFlags) addResources(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&j.Storage.Shm, "shm", "", "`size` of /dev/shm (default: 8Gi for each GPU)")
	f.StringVar(&j.CPU, "cpu", "", "`number` of CPUs of each pod")
	f.StringVar(&j.Memory, "memory", "", "`size` of each pod's memory, without /dev/shm")
	f.StringVar(&j.EphemeralStorage, "ephemeral-storage", "", "`size` of each pod's scratch disk")
	f.StringSliceVar(&j.tolerations, "toleration", nil, "taint that the pods tolerate, `KEY[=VALUE]`; repeatable")
	f.StringVar(&j.Scheduling.RuntimeClass, "runtime-class", "", "runtime `class` of the pods")
}
