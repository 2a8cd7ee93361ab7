package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/cluster"
)

// resources are what each pod asks for beside the rails; /dev/shm comes on top of the memory.
func (j *job) resources() map[string]string {
	resources := map[string]string{}
	if j.o.GPUs > 0 {
		resources[j.o.GPUResource] = strconv.Itoa(j.o.GPUs)
	}
	for name, amount := range map[string]string{"cpu": j.o.CPU, "memory": j.o.Memory, "ephemeral-storage": j.o.EphemeralStorage} {
		if amount != "" {
			resources[name] = canonical(amount)
		}
	}
	return resources
}

// shm is the size of /dev/shm. NCCL and data loaders talk through it; the runtime's own 64 MiB are too little for either. What
// lies in it counts against the memory limit of the container that wrote it (Kubernetes docs, volumes: emptyDir), so that a
// limit is to hold both.
func (j *job) shm() string {
	if j.o.Shm != "" {
		return canonical(j.o.Shm)
	}
	return canonical(fmt.Sprintf("%dGi", 8*j.processes()))
}

// noteMemory says what the pods ask for where it is more than what was asked of them.
func (j *job) noteMemory() {
	if j.o.Memory != "" {
		memory, shm := canonical(j.o.Memory), j.shm()
		j.note("Each pod asks for %s of memory: %s, and %s for /dev/shm, which counts against the limit.", together(memory, shm), memory, shm)
	}
}

// environment is what launchers read: torchrun takes PET_* as the defaults of its flags (torch/distributed/argparse_util.py).
func (j *job) environment() []any {
	nodes, processes := strconv.Itoa(j.o.Nodes), strconv.Itoa(j.processes())
	values := [][2]string{
		{"RAILHEAD_MODE", string(j.o.Mode)}, {"MASTER_ADDR", j.master()}, {"MASTER_PORT", masterPort},
		{"NNODES", nodes}, {"NPROC_PER_NODE", processes}, {"WORLD_SIZE", strconv.Itoa(j.o.Nodes * j.processes())},
		{"PET_MASTER_ADDR", j.master()}, {"PET_MASTER_PORT", masterPort}, {"PET_NNODES", nodes}, {"PET_NPROC_PER_NODE", processes},
	}
	var env []any
	for _, v := range values {
		if _, own := j.o.Env[v[0]]; !own {
			env = append(env, map[string]any{"name": v[0], "value": v[1]})
		}
	}
	for _, name := range []string{"NODE_RANK", "PET_NODE_RANK"} {
		if _, own := j.o.Env[name]; !own {
			env = append(env, j.rank(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.o.Env)) {
		env = append(env, map[string]any{"name": name, "value": j.o.Env[name]})
	}
	return env
}

// podIndex is the Kubernetes minor version whose StatefulSet controller labels pods with their index (KEP-4017, 1.28).
const podIndex = 28

// rank is the pod's number, as its controller writes it.
func (j *job) rank(name string) map[string]any {
	field := ""
	switch {
	case j.o.Nodes == 1:
		return map[string]any{"name": name, "value": "0"}
	case j.o.Kind == JobSet:
		field = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
	default:
		field = "metadata.labels['apps.kubernetes.io/pod-index']"
	}
	return map[string]any{"name": name, "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": field}}}
}

// master is the address of the pod of rank 0.
func (j *job) master() string {
	switch {
	case j.o.Nodes == 1:
		return "127.0.0.1"
	case j.o.Kind == JobSet:
		return fmt.Sprintf("%s-%s-0-0.%s.%s.svc", j.o.Name, jobSetWorkers, j.service(), j.o.Namespace)
	}
	return fmt.Sprintf("%s-0.%s.%s.svc", j.o.Name, j.service(), j.o.Namespace)
}

// podFields are the pod's own: no token, no service variables, one pod per node.
func (j *job) podFields() map[string]any {
	fields := map[string]any{"automountServiceAccountToken": false, "enableServiceLinks": false}
	if j.account != "" {
		fields["serviceAccountName"] = j.account
	}
	if j.o.RuntimeClass != "" {
		fields["runtimeClassName"] = j.o.RuntimeClass
	}
	if len(j.o.NodeSelector) > 0 {
		selector := map[string]any{}
		for key, value := range j.o.NodeSelector {
			selector[key] = value
		}
		fields["nodeSelector"] = selector
	}
	if tolerations := j.tolerations(); len(tolerations) > 0 {
		fields["tolerations"] = tolerations
	}
	if len(j.o.PullSecrets) > 0 {
		var secrets []any
		for _, name := range j.o.PullSecrets {
			secrets = append(secrets, map[string]any{"name": name})
		}
		fields["imagePullSecrets"] = secrets
	}
	if affinity := j.affinity(); len(affinity) > 0 {
		fields["affinity"] = affinity
	}
	if security := j.podSecurity(); len(security) > 0 {
		fields["securityContext"] = security
	}
	return fields
}

// affinity keeps the pods on nodes of their own, and on those that are named: a term of a node selector takes one name
// (k8s.io/api core/v1 NodeSelectorTerm, MatchFields), and terms are alternatives.
func (j *job) affinity() map[string]any {
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	affinity := map[string]any{}
	if j.multi() {
		affinity["podAntiAffinity"] = map[string]any{required: []any{map[string]any{
			"topologyKey": "kubernetes.io/hostname", "labelSelector": map[string]any{"matchLabels": j.selector()},
		}}}
	}
	var terms []any
	for _, name := range j.o.NodeNames {
		terms = append(terms, map[string]any{"matchFields": []any{map[string]any{"key": "metadata.name", "operator": "In", "values": []any{name}}}})
	}
	if len(terms) > 0 {
		affinity["nodeAffinity"] = map[string]any{required: map[string]any{"nodeSelectorTerms": terms}}
	}
	return affinity
}

// tolerations are the user's, and that of the taint by which nodes keep other pods off their GPUs.
func (j *job) tolerations() []any {
	var all []any
	for _, t := range j.o.Tolerations {
		toleration := map[string]any{"key": t.Key, "operator": "Exists"}
		if t.Value != "" {
			toleration["operator"], toleration["value"] = "Equal", t.Value
		}
		if t.Effect != "" {
			toleration["effect"] = t.Effect
		}
		all = append(all, toleration)
	}
	tainted := slices.ContainsFunc(j.able, func(n cluster.Node) bool {
		return slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool { return t.Key == j.o.GPUResource })
	})
	if j.o.GPUs > 0 && tainted {
		all = append(all, map[string]any{"key": j.o.GPUResource, "operator": "Exists"})
	}
	return all
}
