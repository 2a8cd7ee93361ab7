// Package plan defines a plan: its steps, their changes and disruption, and when each step is done.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// FieldManager is the field manager of server-side applies.
const FieldManager = "railhead"

// Labels of every object that Railhead writes, and their values.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = workload.LabelInstance // the job
	LabelComponent = workload.LabelComponent
	ManagedBy      = "railhead"
	ProgramName    = "railhead" // of LabelName
)

// Labels returns the labels of objects of one component; instance may be empty.
func Labels(component, instance string) map[string]string {
	labels := map[string]string{LabelManagedBy: ManagedBy, LabelName: ProgramName, LabelComponent: component}
	if instance != "" {
		labels[LabelInstance] = instance
	}
	return labels
}

// IDs of the findings that several kinds of plans make.
const (
	ServerSupport  check.ID = "server-support"
	FreeNodes      check.ID = "free-nodes"
	RailsAttached  check.ID = "rails-attached"
	JobRequest     check.ID = "job-request"
	NameFree       check.ID = "name-free"
	NamespaceReady check.ID = "namespace-ready"
	SCCUsable      check.ID = "scc-usable"
)

// Plan is a list of steps, carried out in order.
type Plan struct {
	Title string
	Steps []Step
	Notes []string // choices and their reasons, to read before agreeing

	Closing string // what was done and what stays, to say when all steps are done; empty: the last step says it
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Steps) == 0 }

// Changes returns the changes of all steps, in order.
func (p Plan) Changes() []Change {
	var all []Change
	for _, s := range p.Steps {
		all = append(all, s.Changes...)
	}
	return all
}

// Deleted counts the objects that a plan deletes, by kind: "2 RoleBindings and 1 ServiceAccount".
func (p Plan) Deleted() string {
	count := map[string]int{}
	var kinds, counts []string
	for _, c := range p.Changes() {
		if kind := c.Object.GetKind(); c.Verb == Delete {
			if count[kind]++; count[kind] == 1 {
				kinds = append(kinds, kind)
			}
		}
	}
	for _, kind := range kinds {
		counts = append(counts, words.Count(count[kind], kind))
	}
	return words.And(counts)
}

// Reboots returns the reboots of all steps, by pool.
func (p Plan) Reboots() []Reboot {
	var all []Reboot
	for _, s := range p.Steps {
		all = append(all, s.Disruption.Reboots...)
	}
	return all
}

// Step is a group of changes that are applied together, and a wait for their effect.
type Step struct {
	ID         string // words: "machine-configs"
	Title      string // the action: "Write 2 MachineConfigs while pool worker is paused"
	Changes    []Change
	Disruption Disruption
	Done       Condition      // nil: no wait
	Watch      []cluster.Kind // the lists that Done reads
}

// Verb is the kind of write.
type Verb string

// Apply is a server-side apply, Merge a JSON merge patch of an existing object.
const (
	Apply  Verb = "apply"
	Merge  Verb = "merge"
	Delete Verb = "delete"
)

// Change is one write. For Merge, the object has only the changed fields besides its name; for Delete, none.
type Change struct {
	Verb   Verb
	Object unstructured.Unstructured
	Why    string // one line for the printed plan
}

// Deletion returns the change that deletes an object, unless it was replaced by another object of that name, which may
// be somebody else's.
func Deletion(o cluster.Object, why string) Change {
	c := Change{Verb: Delete, Why: why}
	c.Object.SetAPIVersion(o.APIVersion)
	c.Object.SetKind(o.Kind)
	c.Object.SetNamespace(o.Namespace)
	c.Object.SetName(o.Name)
	if uid, _ := workload.Field(o.Fields, "metadata.uid").(string); uid != "" {
		c.Object.SetUID(types.UID(uid))
	}
	return c
}

// Undo returns the change that deletes the object of a change.
func (c Change) Undo() Change {
	return Deletion(cluster.Object{
		APIVersion: c.Object.GetAPIVersion(),
		Kind:       c.Object.GetKind(),
		Namespace:  c.Object.GetNamespace(),
		Name:       c.Object.GetName(),
	}, "")
}

// Disruption is the effect of a step on running pods.
type Disruption struct {
	RestartsPods bool
	Reboots      []Reboot
}

// Reboot lists the nodes of one pool that reboot.
type Reboot struct {
	Pool   string
	Nodes  []string
	AtOnce int // nodes that reboot at the same time: maxUnavailable of the pool
}

// Condition returns the progress of a step. It is a pure function, so that a file can test it.
type Condition func(cluster.State) Progress

// UndoTitle is the title of a plan that undoes setup commands: "Undo 'railhead setup cluster' and 'railhead setup
// metrics'".
func UndoTitle(setups ...string) string {
	names := make([]string, len(setups))
	for i, name := range setups {
		names[i] = "'railhead setup " + name + "'"
	}
	return "Undo " + strings.Join(names, " and ")
}

// Progress is the progress of a step.
type Progress struct {
	Done  bool
	Text  string          // one line: "worker: 4 of 13 nodes done"
	Bars  []Bar           // one per pool or job
	Items []Item          // nodes or pods
	Stuck *check.Obstacle // the blocking obstacle with the least patience
	Doubt *check.Finding  // the first obstacle that may pass

	Queued bool // a queue holds the job, for as long as it takes
}

// Of returns the text of a bar, or of the whole if there is none of that name.
func (p Progress) Of(name string) string {
	if i := slices.IndexFunc(p.Bars, func(b Bar) bool { return b.Name == name }); i >= 0 {
		return p.Bars[i].Text
	}
	return p.Text
}

// AddObstacle adds an obstacle to Stuck or Doubt.
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
	Text  string // "4 of 13 nodes done"; may be empty
}

// Waiting is the State of an Item that has not started.
const Waiting = "waiting"

// Item is one part of a wait.
type Item struct {
	Name  string // node or pod
	State string // waiting, Working, Rebooting, Done; Pending, Running
	Note  string // the reason for the wait
	Done  bool
}

// Right is one permission that a plan needs.
type Right struct {
	Verb, Group, Resource, Namespace, Name string
}

// String formats a right: patch machineconfigpools.machineconfiguration.openshift.io "worker".
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

// Resource returns the resource of a kind: "pods" for "Pod".
func Resource(kind string) string {
	switch kind {
	case "SecurityContextConstraints":
		return "securitycontextconstraints"
	case "NetworkAttachmentDefinition":
		return "network-attachment-definitions"
	}
	lower := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(lower, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(lower, "ss") {
		return lower + "es"
	}
	return lower + "s"
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
			verbs = []string{"create", "patch"} // both, if the object does not exist
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
