package cluster

import "time"

// Workload is one object that makes pods, with or without Railhead's label: a StatefulSet, a Job, a PyTorchJob.
type Workload struct {
	Kind       string      `json:"kind"`
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	UID        string      `json:"uid,omitempty"`
	Owner      string      `json:"owner,omitempty"`      // the object that made it: JobSet/h-kim
	Size       int         `json:"size"`                 // number of pods in its spec
	Wanted     int         `json:"wanted"`               // of these now: 0 if it has finished or is suspended
	Succeeded  int         `json:"succeeded,omitempty"`  // pods that ended well and that Wanted leaves out
	Changed    time.Time   `json:"changed,omitzero"`     // when it was created or started, or a condition became true
	Templates  []Pod       `json:"templates,omitempty"`  // a pod of each template; without a name
	Conditions []Condition `json:"conditions,omitempty"` // those that are true
}

// Failed returns the condition that ended the workload; ok is false if it has not failed.
func (w Workload) Failed() (c Condition, ok bool) {
	return find(w.Conditions, func(c Condition) bool { return c.Type == "Failed" })
}
