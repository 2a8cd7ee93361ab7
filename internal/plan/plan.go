// Package plan turns the state of a cluster and a request into steps: the changes, their disruption,
// and how one sees that it is done.
package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/workload"
)

// FieldManager is the name under which objects are applied on the server's side.
const FieldManager = "railhead"

// Labels of every object that Railhead writes; app.kubernetes.io/name names the program, instance the job.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = workload.LabelInstance
	LabelComponent = workload.LabelComponent
	ManagedBy      = "railhead"
)

// ProgramName is the value of LabelName.
const ProgramName = "railhead"

// Plan is the steps in their order. A plan without steps has nothing to do.
type Plan struct {
	Title string
	Steps []Step
	Notes []string // facts to know before agreeing: choices, with reasons
}

// Empty reports whether everything is so already.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Changes are the changes of all steps, in order.
func (p Plan) Changes() []Change {
	var all []Change
	for _, s := range p.Steps {
		all = append(all, s.Changes...)
	}
	return all
}

// Reboots are the reboots of all steps, by pool.
func (p Plan) Reboots() []Reboot {
	var all []Reboot
	for _, s := range p.Steps {
		all = append(all, s.Disruption.Reboots...)
	}
	return all
}

// Step is one group of changes that are made together and waited for together.
type Step struct {
	ID         string // words: "machine-configs"
	Title      string // the action: "Write 2 MachineConfigs while pool worker is paused"
	Changes    []Change
	Disruption Disruption
	Done       Condition      // nil: there is nothing to wait for
	Watch      []cluster.Kind // the lists that Done reads
}

// Verb is the kind of write.
type Verb string

// Apply is a server-side apply; Merge a JSON merge patch of an object that exists; Delete removes.
const (
	Apply  Verb = "apply"
	Merge  Verb = "merge"
	Delete Verb = "delete"
)

// Change is one write. For Merge and Delete the object holds apiVersion, kind, the name and the changed fields.
type Change struct {
	Verb   Verb
	Object unstructured.Unstructured
	Why    string // one line for the reader of the plan
}

// Undo returns the change that removes the result of a change.
func (c Change) Undo() Change {
	return Change{Verb: Delete, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.Object.GetAPIVersion(), "kind": c.Object.GetKind(),
		"metadata": map[string]any{"name": c.Object.GetName(), "namespace": c.Object.GetNamespace()},
	}}}
}

// Disruption says how a step disturbs running work.
type Disruption struct {
	RestartsPods bool
	Reboots      []Reboot
}

// Reboot is the nodes of one pool that reboot.
type Reboot struct {
	Pool   string
	Nodes  []string
	AtOnce int // nodes that are away at the same time: the pool's maxUnavailable
}

// Condition judges how far a step has come. It is a pure function, so that a file can test it.
type Condition func(cluster.State) Progress

// Progress is the progress of a step.
type Progress struct {
	Done  bool
	Text  string          // one line: "worker: 4 of 13 nodes done"
	Bars  []Bar           // one per pool or job
	Items []Item          // the parts: nodes, pods
	Stuck *check.Obstacle // the blocking obstacle; of several the one with the least patience
	// Doubt is a transient or unknown error that the wait tolerates for a while; of several the first.
	Doubt *check.Finding
}

// AddObstacle keeps the obstacle that is believed first. One of which waiting may help is a doubt.
func (p *Progress) AddObstacle(o check.Obstacle) {
	if o.Status != check.Fail && p.Doubt == nil {
		p.Doubt = &o.Finding
	}
	if o.Status == check.Fail && (p.Stuck == nil || o.Patience < p.Stuck.Patience) {
		p.Stuck = &o
	}
}

// Bar is one progress bar.
type Bar struct {
	Name  string
	Count int
	Total int
}

// Waiting is the State of an Item to which nothing has happened yet.
const Waiting = "waiting"

// Item is one part of a wait.
type Item struct {
	Name  string // node or pod
	State string // waiting, Working, Rebooting, Done; Pending, Running
	Note  string // the reason for the wait
	Done  bool
}

// Right is one thing that whoever carries out a plan must be allowed to do.
type Right struct {
	Verb, Group, Resource, Namespace, Name string
}

// String says it in words: patch machineconfigpools.machineconfiguration.openshift.io "worker".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += fmt.Sprintf(" %q", r.Name)
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// resources gives the resource of each kind that plans write.
var resources = map[string]string{
	"SecurityContextConstraints":  "securitycontextconstraints",
	"NetworkAttachmentDefinition": "network-attachment-definitions",
	"SriovNetworkNodePolicy":      "sriovnetworknodepolicies",
}

// Rights returns the permissions that a plan needs, each once, in its order.
func (p Plan) Rights() []Right {
	var rights []Right
	for _, c := range p.Changes() {
		verbs := []string{"patch"}
		switch c.Verb {
		case Delete:
			verbs = []string{"delete"}
		case Apply:
			verbs = []string{"create", "patch"} // an apply that makes the object needs both
		}
		for _, verb := range verbs {
			r := Right{
				Verb:      verb,
				Group:     c.Object.GroupVersionKind().Group,
				Resource:  Resource(c.Object.GetKind()),
				Namespace: c.Object.GetNamespace(),
			}
			if verb != "create" {
				r.Name = c.Object.GetName()
			}
			if !slices.Contains(rights, r) {
				rights = append(rights, r)
			}
		}
	}
	return rights
}
