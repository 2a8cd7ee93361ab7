// Package metrics plans the pods that serve RDMA metrics of the nodes to Prometheus.
package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Component is the value of LabelComponent of all objects of `setup metrics`; the way back uses it.
const Component = "metrics"

// Name is the name of the namespace and of all objects in it. The pods share the network of their node, which the
// namespace of the webhook forbids.
const (
	Name = "railhead-metrics"
	Port = 9440
)

// Options are the flags of `railhead setup metrics`.
type Options struct {
	Image string // contains /railhead-pod; required
	Nodes string // label of the nodes: KEY=VALUE; default: nodes with RDMA NICs or GPUs
}

// Kinds returns the lists that the plans read.
func Kinds() []cluster.Kind {
	return []cluster.Kind{cluster.Objects, cluster.Metrics, cluster.Webhooks, cluster.Namespaces, cluster.Nodes}
}

// Setup returns the plan that runs the pods, without what is there already. If a finding is Fail, nothing may be
// written and the plan is empty.
func Setup(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	var d plan.Draft
	d.Report(plan.Unreadable(s, Kinds()...)...)
	d.Report(refusals(o)...)
	d.Report(plan.RefuseNamespace(s, Name, Component)...)
	if d.Failed() {
		return plan.Plan{}, d.Findings
	}
	w := writer{Options: o, s: s}
	d.Report(w.noNodes()...)
	step := plan.Step{
		ID:    "metrics",
		Title: "Run railhead-pod on the nodes, in namespace " + Name,
		Done:  Available,
		Watch: []cluster.Kind{cluster.Metrics, cluster.Pods, cluster.Events},
	}
	for _, c := range w.objects() {
		step.Changes = append(step.Changes, plan.ApplyIfChanged(s, c.Object, c.Why)...)
	}
	p := plan.Plan{Title: "Serve RDMA metrics of the nodes"}
	if len(step.Changes) > 0 {
		p.Steps, p.Notes = []plan.Step{step}, w.notes()
	}
	return p, d.Findings
}

func refusals(o Options) []check.Finding {
	var d plan.Draft
	refuse := func(flag, value, want string) {
		d.Fail(plan.JobRequest, check.Named(check.Namespace, Name), flag+" must be "+want,
			check.Observed(flag, cmp.Or(value, "none"), want), check.ByAdmin("See the guide for administrators."))
	}
	if o.Image == "" || strings.ContainsAny(o.Image, " \t\n") {
		refuse("--image", o.Image, "an image that contains /railhead-pod")
	}
	if key, _, ok := strings.Cut(o.Nodes, "="); o.Nodes != "" && (!ok || key == "") {
		refuse("--nodes", o.Nodes, "a label of nodes: KEY=VALUE")
	}
	return d.Findings
}

// noNodes warns that no node has the label of --nodes. One that joins later may have it.
func (w writer) noNodes() []check.Finding {
	has := func(n cluster.Node) bool {
		key, value, _ := strings.Cut(w.Nodes, "=")
		got, ok := n.Labels[key]
		return ok && got == value
	}
	if w.Nodes == "" || slices.ContainsFunc(w.s.Nodes, has) {
		return nil
	}
	return []check.Finding{{
		Check: plan.JobRequest, Status: check.Warn, Subject: check.Named(check.Namespace, Name),
		Summary:  "no node has the label " + w.Nodes + ", so none serves metrics",
		Evidence: check.Observed("nodes with label "+w.Nodes, "0", "1 or more"),
		Fix:      check.ByAdmin("Choose a label of nodes.", "kubectl get nodes --show-labels"),
	}}
}

// Undo returns the plan that removes the pods and all that they need.
func Undo(s cluster.State) (plan.Plan, []check.Finding) {
	if unreadable := plan.Unreadable(s, cluster.Metrics); len(unreadable) > 0 {
		return plan.Plan{}, unreadable // the way back of setup cluster needs Objects, too, and reports them
	}
	step := plan.Step{ID: "metrics", Title: "Delete the pods with RDMA metrics"}
	step.Changes = plan.DeleteComponent(s, Component, "created by setup metrics",
		"PodMonitor", "DaemonSet", "SecurityContextConstraints", "ServiceAccount", "Namespace")
	p := plan.Plan{Title: plan.UndoTitle("metrics")}
	if len(step.Changes) > 0 {
		p.Steps = []plan.Step{step}
	}
	return p, nil
}

// Available is done when all pods are available. It is stuck if one needs a fix.
func Available(s cluster.State) plan.Progress {
	d, exists := s.Object("DaemonSet", Name, Name)
	ready, wanted, current := counts(d)
	p := plan.Progress{
		Done: exists && current && ready >= wanted,
		Text: fmt.Sprintf("%s: %d of %d nodes serve metrics", Name, ready, wanted),
		Bars: []plan.Bar{{Name: Name, Count: min(ready, wanted), Total: wanted}},
	}
	if !p.Done {
		p.AddPods(s, Name)
	}
	return p
}

// counts returns the pods that are available and those that there should be. current is false while the controller has
// not seen the last change.
func counts(daemonSet cluster.Object) (ready, wanted int, current bool) {
	number := func(path ...string) int {
		n, _, _ := unstructured.NestedInt64(daemonSet.Fields, path...)
		return int(n)
	}
	ready = min(number("status", "numberAvailable"), number("status", "updatedNumberScheduled"))
	current = number("status", "observedGeneration") > 0 &&
		number("status", "observedGeneration") >= number("metadata", "generation")
	return ready, number("status", "desiredNumberScheduled"), current
}

// Status describes the pods in a line, and whether they all serve; the line is empty if there are none.
func Status(s cluster.State) (line string, status check.Status) {
	d, exists := s.Object("DaemonSet", Name, Name)
	if !exists {
		return "", check.Pass
	}
	ready, wanted, current := counts(d)
	line = fmt.Sprintf("Metrics: %d of %d nodes serve RDMA metrics on port %d.", ready, wanted, Port)
	switch {
	case ready == 0 && wanted > 0:
		return line, check.Fail
	case ready < wanted, current && wanted == 0:
		return line, check.Warn
	}
	return line, check.Pass
}
