package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/workload"
)

// memoryNotes notes that the pods request more memory than the user asked for.
func memoryNotes(o *Options) (d plan.Draft) {
	if o.Memory != "" {
		memory, shm := canonical(o.Memory), shmSize(o)
		d.Note("Each pod requests %s of memory: %s, and %s for /dev/shm, which counts against the limit.",
			sum(memory, shm), memory, shm)
	}
	return d
}

// environment returns the variables that launchers read: PET_* are the defaults of the flags of torchrun
// (torch/distributed/argparse_util.py).
func (j *job) environment() []corev1.EnvVar {
	nodes, processes := strconv.Itoa(j.Nodes), strconv.Itoa(processCount(&j.Options))
	all := append(settingsOf(&j.Options), []corev1.EnvVar{
		{Name: "MASTER_ADDR", Value: masterAddress(&j.Options)},
		{Name: "MASTER_PORT", Value: MasterPort},
		{Name: "NNODES", Value: nodes},
		{Name: "NPROC_PER_NODE", Value: processes},
		{Name: "WORLD_SIZE", Value: strconv.Itoa(j.Nodes * processCount(&j.Options))},
		{Name: "PET_MASTER_ADDR", Value: masterAddress(&j.Options)},
		{Name: "PET_MASTER_PORT", Value: MasterPort},
		{Name: "PET_NNODES", Value: nodes},
		{Name: "PET_NPROC_PER_NODE", Value: processes},
		rankVariable(&j.Options, "NODE_RANK"),
		rankVariable(&j.Options, "PET_NODE_RANK"),
	}...)
	return append(withoutOwn(&j.Options, append(all, j.home()...)), ownVariables(&j.Options)...)
}

// withoutOwn returns the variables that the user does not set.
func withoutOwn(o *Options, all []corev1.EnvVar) []corev1.EnvVar {
	return slices.DeleteFunc(all, func(v corev1.EnvVar) bool {
		_, own := o.Env[v.Name]
		return own
	})
}

// ownVariables returns the variables of the user.
func ownVariables(o *Options) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		all = append(all, corev1.EnvVar{Name: name, Value: o.Env[name]})
	}
	return all
}

// rankVariable returns the variable with the rank that the controller sets in the pod.
func rankVariable(o *Options, name string) corev1.EnvVar {
	if o.Nodes == 1 {
		return corev1.EnvVar{Name: name, Value: "0"}
	}
	return fieldVar(name, workloadOf(o).Rank.FieldPath())
}

// fieldVar returns a variable with the value of a pod field.
func fieldVar(name, path string) corev1.EnvVar {
	field := &corev1.ObjectFieldSelector{FieldPath: path}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: field}}
}

// masterAddress returns the address of the pod of rank 0.
func masterAddress(o *Options) string {
	if o.Nodes == 1 {
		return "127.0.0.1"
	}
	return fmt.Sprintf("%s.%s.%s.svc", workloadOf(o).LeaderOf(o.Name), serviceName(o), o.Namespace)
}

// podFields returns the fields of the pod: no token, no service variables, one pod per node.
func (j *job) podFields() corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		ServiceAccountName:           j.access.Account,
		SecurityContext:              j.access.Pod,
	}
	j.schedule(&spec)
	for _, name := range j.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return spec
}

// affinity puts each pod on a separate node, behind one leaf switch, and on one of the named nodes: a term of a node
// selector has one name (k8s.io/api core/v1 NodeSelectorTerm, MatchFields), and terms are alternatives.
func (j *job) affinity() *corev1.Affinity {
	affinity := corev1.Affinity{PodAffinity: j.leafAffinity()}
	if isMulti(&j.Options) {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: jobSelector(&j.Options)},
			}},
		}
	}
	var terms []corev1.NodeSelectorTerm
	for _, name := range j.Scheduling.NodeNames {
		field := corev1.NodeSelectorRequirement{
			Key:      metav1.ObjectNameField,
			Operator: corev1.NodeSelectorOpIn,
			Values:   []string{name},
		}
		terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{field}})
	}
	if len(terms) > 0 {
		affinity.NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}
	}
	if affinity == (corev1.Affinity{}) {
		return nil
	}
	return &affinity
}

// chosenTolerations returns the user's tolerations.
func (s Scheduling) chosenTolerations() []corev1.Toleration {
	var all []corev1.Toleration
	for _, t := range s.Tolerations {
		toleration := corev1.Toleration{
			Key:      t.Key,
			Operator: corev1.TolerationOpExists,
			Effect:   corev1.TaintEffect(t.Effect),
		}
		if t.Value != "" {
			toleration.Operator, toleration.Value = corev1.TolerationOpEqual, t.Value
		}
		all = append(all, toleration)
	}
	return all
}

// tolerations returns the user's tolerations, and one for the taint that keeps other pods off nodes with GPUs.
func (j *job) tolerations() []corev1.Toleration {
	all := j.Scheduling.chosenTolerations()
	tainted := slices.ContainsFunc(j.candidates, func(n cluster.Node) bool {
		return slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Key == j.GPUResource })
	})
	if j.GPUs > 0 && tainted {
		all = append(all, corev1.Toleration{Key: j.GPUResource, Operator: corev1.TolerationOpExists})
	}
	return all
}

// homeFolder is the home of pods that are not root. The image has a writable one only for its own user, and OpenShift
// gives the pods of a namespace a user that no image knows.
const homeFolder = "/railhead/home"

// home returns the variables that give the pods a writable home, unless they are root or may be, or the user sets HOME.
// Every cache follows HOME: Hugging Face (huggingface_hub/constants.py), Triton (triton/knobs.py), torch.hub and
// extensions (torch/hub.py, torch/_appdirs.py), CUDA (~/.nv/ComputeCache), pip and matplotlib. Only TorchInductor uses
// /tmp, and the name of the user, for which Python needs USER where /etc/passwd has none (torch/_inductor/runtime
// cache_dir_utils.py, Python getpass.getuser).
func (j *job) home() []corev1.EnvVar {
	if _, own := j.Env["HOME"]; own || !j.access.NonRoot {
		return nil
	}
	return []corev1.EnvVar{{Name: "HOME", Value: homeFolder}, {Name: "USER", Value: workload.TrainContainer}}
}

// volumes returns the volumes of the user, and the home.
func (j *job) volumes() []volume.Volume {
	if len(j.home()) == 0 {
		return j.Storage.Volumes
	}
	home := volume.Volume{Name: "railhead-home", Kind: volume.Empty, Path: homeFolder}
	return append(slices.Clone(j.Storage.Volumes), home)
}
