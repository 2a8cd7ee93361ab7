// Package plan turns the state of a cluster and what is wanted of it into steps: what is written, what that disturbs, and
// how one sees that it is done.
package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// FieldManager is the name under which objects are applied on the server's side.
const FieldManager = "railhead"

// Labels of every object that Railhead writes; app.kubernetes.io/name names the program, instance the job.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	ManagedBy      = "railhead"
)

// Plan is the steps in their order. A plan without steps has nothing to do.
type Plan struct {
	Title string
	Steps []Step
	Notes []string // what a reader must know before agreeing: choices made, and why
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
	Title      string // what it does: "Write 2 MachineConfigs while pool worker is paused"
	Changes    []Change
	Disruption Disruption
	Done       Condition      // nil: there is nothing to wait for
	Watch      []cluster.Kind // what Done looks at
}

// Verb is what is done to an object.
type Verb string

// Apply is a server-side apply; Merge a JSON merge patch of an object that exists; Delete removes.
const (
	Apply  Verb = "apply"
	Merge  Verb = "merge"
	Delete Verb = "delete"
)

// Change is one write. Of Merge and Delete the object holds apiVersion, kind and the name beside what is changed.
type Change struct {
	Verb   Verb
	Object unstructured.Unstructured
	Why    string // one line for the reader of the plan
}

// Disruption is what a step does to running work.
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

// Progress is how far something has come.
type Progress struct {
	Done  bool
	Text  string            // one line: "worker: 4 of 13 nodes done"
	Bars  []Bar             // one per pool or job
	Items []Item            // the parts: nodes, pods
	Stuck *cluster.Obstacle // what it does not get past; of several the one with the least patience
	// Doubt is what may pass, and is waited for meanwhile, or what is not understood; of several the first.
	Doubt *check.Finding
}

// stuckBy keeps the obstacle that is believed first. One of which waiting may help is a doubt.
func (p *Progress) stuckBy(o cluster.Obstacle) {
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

// Item is one part of what is waited for.
type Item struct {
	Name  string // node or pod
	State string // waiting, Working, Rebooting, Done; Pending, Running
	Note  string // what it waits for
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

// Rights are what a plan needs, each once, in its order.
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
			r := Right{Verb: verb, Group: c.Object.GroupVersionKind().Group, Resource: Resource(c.Object.GetKind()), Namespace: c.Object.GetNamespace()}
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
