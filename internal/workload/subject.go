package workload

import "github.com/railhead/railhead/internal/check"

// Subject names the objects that were examined.
type Subject struct {
	Kind      string   `json:"kind,omitempty"` // of the job, as Workload.Kind; empty: any
	Job       string   `json:"job,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Pods      []string `json:"pods,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	Cluster   bool     `json:"cluster,omitempty"`
	// Passed lists pods of the namespace with GPUs and without RDMA, which were not examined.
	Passed []string `json:"passed,omitempty"`
}

// Named reports whether the subject is more than files.
func (s Subject) Named() bool {
	return s.Cluster || s.Namespace != "" || s.Job != "" || len(s.Pods)+len(s.Nodes) > 0
}

// SubjectOf returns a pod or a node as the subject.
func SubjectOf(machine check.Ref) Subject {
	if machine.Kind == check.Node {
		return Subject{Nodes: []string{machine.Name}}
	}
	return Subject{Namespace: machine.Namespace, Pods: []string{machine.Name}}
}

// Ref names the job.
func (s Subject) Ref() Ref { return Ref{Kind: s.Kind, Name: s.Job} }
