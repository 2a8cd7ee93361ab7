package cluster

import "time"

// Pool is one MachineConfigPool (openshift/api machineconfiguration/v1).
type Pool struct {
	Name            string            `json:"name"`
	NodeSelector    map[string]string `json:"nodeSelector,omitempty"`    // matchLabels
	NodeExpressions []Requirement     `json:"nodeExpressions,omitempty"` // matchExpressions of the node selector
	ConfigSelector  Selector          `json:"configSelector,omitzero"`
	Annotations     map[string]string `json:"annotations,omitempty"` // railhead.dev/* only
	Paused          bool              `json:"paused,omitempty"`
	MaxUnavailable  string            `json:"maxUnavailable,omitempty"` // "1", "10%"; empty: 1
	Target          string            `json:"target"`                   // spec.configuration.name
	Current         string            `json:"current"`                  // status.configuration.name
	TargetSources   []string          `json:"targetSources,omitempty"`  // MachineConfigs in the target
	CurrentSources  []string          `json:"currentSources,omitempty"` // MachineConfigs in the current
	Machines        int               `json:"machines"`
	Updated         int               `json:"updated"`
	Ready           int               `json:"ready"`
	Unavailable     int               `json:"unavailable"`
	Degraded        int               `json:"degraded"`
	Generation      int64             `json:"generation"`
	Observed        int64             `json:"observed"` // status.observedGeneration
	Conditions      []Condition       `json:"conditions,omitempty"`
}

// Selector is a label selector.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is one expression of a Selector.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists, DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// Condition is one condition of an object's status.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"` // True, False, Unknown
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Condition returns a condition of the pool; its Status is "" when it is not there.
func (p Pool) Condition(kind string) Condition {
	c, _ := find(p.Conditions, func(c Condition) bool { return c.Type == kind })
	return c
}

// MachineConfig is one MachineConfig that is not rendered from others.
type MachineConfig struct {
	Name            string            `json:"name"`
	Labels          map[string]string `json:"labels,omitempty"`
	KernelArguments []string          `json:"kernelArguments,omitempty"`
	Files           []File            `json:"files,omitempty"` // those under /etc/crio
	Rendered        bool              `json:"rendered,omitempty"`
}

// File is a file that a MachineConfig writes.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"` // decoded; "" when the form is not known
	Unread  string `json:"unread,omitempty"`
}
