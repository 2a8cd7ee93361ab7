package cluster

import (
	"cmp"
	"time"
)

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
	// Ignition merges the fields of a file that several MachineConfigs have, and a field that is not set keeps its
	// value.
	Inherits    bool   `json:"inherits,omitempty"`    // it sets no content
	Compression string `json:"compression,omitempty"` // Gzip or NotCompressed; empty if it sets neither
}

// The values of File.Compression. Ignition writes NotCompressed as an empty string.
const (
	Gzip          = "gzip"
	NotCompressed = "none"
)

// Over returns the file that a node gets, if this one is of a later MachineConfig than the lower one, of a name
// (coreos/ignition v2 config/merge, tried with 2.15.0).
func (f File) Over(lower File, name string) File {
	own := f.Compression
	f.Compression = cmp.Or(own, lower.Compression)
	switch {
	case f.Inherits && (own == "" || own == lower.Compression):
		f.Content, f.Unread, f.Inherits = lower.Content, lower.Unread, lower.Inherits
	case f.Inherits:
		f.Unread, f.Inherits = "it changes the compression of the content of MachineConfig "+name, lower.Inherits
	case own == "" && lower.Compression == Gzip:
		f.Content = ""
		f.Unread = "it is not compressed, but MachineConfig " + name + " says gzip, which holds: nodes cannot decode it"
	}
	return f
}
