package cluster

// PriorityClass is a class of pods by their priority.
type PriorityClass struct {
	Name string `json:"name"`
}

// RuntimeClass is a configuration of the container runtime that pods choose by its name.
type RuntimeClass struct {
	Name string `json:"name"`
}

// LocalQueue is a queue of Kueue in a namespace.
type LocalQueue struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	ClusterQueue string `json:"clusterQueue"`
	Inactive     string `json:"inactive,omitempty"` // why it admits nothing, in Kueue's words
}
