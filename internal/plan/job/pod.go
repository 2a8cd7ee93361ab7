package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// resources returns the requests of each pod apart from the rails; /dev/shm is added to the memory.
func (j *request) resources() map[string]string {
	resources := map[string]string{}
	if j.o.GPUs > 0 {
		resources[j.o.GPUResource] = strconv.Itoa(j.o.GPUs)
	}
	for name, amount := range map[string]string{
		"cpu":               j.o.CPU,
		"memory":            j.o.Memory,
		"ephemeral-storage": j.o.EphemeralStorage,
	} {
		if amount != "" {
			resources[name] = canonical(amount)
		}
	}
	return resources
}

// shm is the size of /dev/shm. NCCL and data loaders talk through it; the runtime's own 64 MiB are too little for
// either. Its files count against the memory limit of the container that wrote it (Kubernetes docs, volumes:
// emptyDir), so that a limit is to hold both.
func (j *request) shm() string {
	if j.o.Shm != "" {
		return canonical(j.o.Shm)
	}
	return canonical(fmt.Sprintf("%dGi", 8*j.processes()))
}

// noteMemory adds a note if the pods request more memory than the user asked for.
func (j *job) noteMemory() {
	if j.o.Memory != "" {
		memory, shm := canonical(j.o.Memory), j.shm()
		j.note(
			"Each pod asks for %s of memory: %s, and %s for /dev/shm, which counts against the limit.",
			together(memory, shm), memory, shm,
		)
	}
}

// environment has the variables of launchers: torchrun takes PET_* as defaults of its flags
// (torch/distributed/argparse_util.py).
func (j *job) environment() []corev1.EnvVar {
	nodes, processes, port := strconv.Itoa(j.o.Nodes), strconv.Itoa(j.processes()), masterPort
	all := []corev1.EnvVar{
		{Name: "RAILHEAD_MODE", Value: string(j.o.Mode)},
		{Name: "MASTER_ADDR", Value: j.master()},
		{Name: "MASTER_PORT", Value: port},
		{Name: "NNODES", Value: nodes},
		{Name: "NPROC_PER_NODE", Value: processes},
		{Name: "WORLD_SIZE", Value: strconv.Itoa(j.o.Nodes * j.processes())},
		{Name: "PET_MASTER_ADDR", Value: j.master()},
		{Name: "PET_MASTER_PORT", Value: port},
		{Name: "PET_NNODES", Value: nodes},
		{Name: "PET_NPROC_PER_NODE", Value: processes},
		j.rank("NODE_RANK"),
		j.rank("PET_NODE_RANK"),
	}
	all = slices.DeleteFunc(all, func(v corev1.EnvVar) bool {
		_, own := j.o.Env[v.Name]
		return own
	})
	for _, name := range slices.Sorted(maps.Keys(j.o.Env)) {
		all = append(all, corev1.EnvVar{Name: name, Value: j.o.Env[name]})
	}
	return all
}

// podIndex is the Kubernetes minor version whose StatefulSet controller labels pods with their index (KEP-4017, 1.28).
const podIndex = 28

// rank is the variable with the pod's rank, which its controller writes into the pod.
func (j *job) rank(name string) corev1.EnvVar {
	if j.o.Nodes == 1 {
		return corev1.EnvVar{Name: name, Value: "0"}
	}
	return fieldVar(name, j.kind().Rank.FieldPath())
}

// fieldVar is a variable with a field of the pod.
func fieldVar(name, path string) corev1.EnvVar {
	field := &corev1.ObjectFieldSelector{FieldPath: path}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: field}}
}

// master is the address of the pod of rank 0.
func (j *job) master() string {
	if j.o.Nodes == 1 {
		return "127.0.0.1"
	}
	return fmt.Sprintf("%s.%s.%s.svc", j.kind().LeaderOf(j.o.Name), j.service(), j.o.Namespace)
}

// podFields are the fields of the pod: no token, no service variables, one pod per node.
func (j *job) podFields() corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		ServiceAccountName:           j.account,
		NodeSelector:                 j.o.NodeSelector,
		Tolerations:                  j.tolerations(),
		Affinity:                     j.affinity(),
		SecurityContext:              j.podSecurity(),
	}
	if j.o.RuntimeClass != "" {
		spec.RuntimeClassName = &j.o.RuntimeClass
	}
	for _, name := range j.o.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return spec
}

// affinity keeps the pods on nodes of their own, and on the named nodes: a term of a node selector takes one name
// (k8s.io/api core/v1 NodeSelectorTerm, MatchFields), and terms are alternatives.
func (j *job) affinity() *corev1.Affinity {
	var affinity corev1.Affinity
	if j.multi() {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: j.selector()},
			}},
		}
	}
	var terms []corev1.NodeSelectorTerm
	for _, name := range j.o.NodeNames {
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

// tolerations are the user's, and one for the taint that keeps other pods off nodes with GPUs.
func (j *job) tolerations() []corev1.Toleration {
	var all []corev1.Toleration
	for _, t := range j.o.Tolerations {
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
	tainted := slices.ContainsFunc(j.able, func(n cluster.Node) bool {
		return slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Key == j.o.GPUResource })
	})
	if j.o.GPUs > 0 && tainted {
		all = append(all, corev1.Toleration{Key: j.o.GPUResource, Operator: corev1.TolerationOpExists})
	}
	return all
}
