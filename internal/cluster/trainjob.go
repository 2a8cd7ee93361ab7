package cluster

// TrainJob is one TrainJob of Kubeflow Trainer, which makes a JobSet of the same name.
type TrainJob struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Runtime   string `json:"runtime,omitempty"` // spec.runtimeRef.name
	// PerNode is spec.trainer.resourcesPerNode, which takes the place of what the runtime's container asks for; nil
	// where it is not set.
	PerNode Resources `json:"resourcesPerNode,omitempty"`
}

// TrainJobOf returns the TrainJob that a pod is of.
func (s State) TrainJobOf(p Pod) (TrainJob, bool) {
	name := p.Labels["jobset.sigs.k8s.io/jobset-name"]
	return find(s.TrainJobs, func(j TrainJob) bool {
		return name != "" && j.Namespace == p.Namespace && j.Name == name
	})
}
