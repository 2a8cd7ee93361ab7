// Package webhook plans the admission webhook of a cluster: its server and what the API server sends to it.
package webhook

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Component is the value of LabelComponent of all objects of `setup webhook`; the way back uses it.
const Component = "webhook"

// Names of the objects.
const (
	Namespace = "railhead-system"
	Name      = "railhead-webhook"
	Host      = Name + "." + Namespace + ".svc" // by which the API server calls the service
	// Configuration is before the network-resources-injector's by name: the API server calls webhooks in the order of
	// the names of their configurations, and the injector adds what pods with rails need (apiserver
	// pkg/admission/configuration/mutating_webhook_manager.go).
	Configuration = "inject-railhead"
)

// replicas of the server: one answers while the other is replaced.
const replicas = 2

// Ways to a certificate.
const (
	ByServiceCA = "service-ca" // of OpenShift, which also renews it
	ByRailhead  = "railhead"
)

// Options are the flags of `railhead setup webhook`. The zero value of each field is its default.
type Options struct {
	Image       string // contains /railhead; required
	PodImage    string // contains /railhead-pod: ConfigMaps of the namespaces
	Mode        string // rdma
	Fail        bool   // refuse pods while the webhook does not answer
	Certificate string // ByServiceCA on OpenShift, else ByRailhead
	Cert, Key   []byte // a new certificate, as PEM, which ByRailhead uses if there is none or it expires soon
}

// renewal is the time before the end of a certificate in which another run replaces it.
const renewal = 60 * 24 * time.Hour

// Kinds returns the lists that the plans read.
func Kinds() []cluster.Kind {
	return []cluster.Kind{cluster.Objects, cluster.Webhooks, cluster.Namespaces}
}

// Setup returns the plan that runs the webhook, without what is there already. If a finding is Fail, nothing may be
// written and the plan is empty.
func Setup(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	var d plan.Draft
	if o.Certificate == "" {
		o.Certificate = ByRailhead
		if s.Server.OpenShift() {
			o.Certificate = ByServiceCA
		}
	}
	d.Report(plan.Unreadable(s, Kinds()...)...)
	d.Report(refusals(s, o)...)
	if d.Failed() {
		return plan.Plan{}, d.Findings
	}
	w := writer{Options: o, s: s}
	w.chooseCertificate()
	server := plan.Step{
		ID:    "server",
		Title: "Run " + words.Count(replicas, "replica") + " of the webhook in namespace " + Namespace,
		Done:  Available,
		Watch: []cluster.Kind{cluster.Webhooks, cluster.Pods, cluster.Events},
	}
	for _, c := range w.server() {
		server.Changes = append(server.Changes, plan.ApplyIfChanged(s, c.Object, c.Why)...)
	}
	configuration := plan.Step{
		ID:      "configuration",
		Title:   "Let the API server send new pods to it",
		Changes: plan.ApplyIfChanged(s, w.configuration(), "of the namespaces and pods that ask for it"),
	}
	p := plan.Plan{Title: "Set up the admission webhook", Steps: w.trust()}
	switch {
	case len(configuration.Changes) > 0 && len(server.Changes) == 0: // an interrupted run did not wait for the server
		server.Title = "Wait until the webhook in namespace " + Namespace + " is available"
		p.Steps = append(p.Steps, server, configuration)
	case len(configuration.Changes) > 0:
		p.Steps = append(p.Steps, server, configuration)
	case len(server.Changes) > 0:
		p.Steps = append(p.Steps, server)
	}
	if !p.Empty() {
		p.Notes = w.notes()
	}
	return p, d.Findings
}

func refusals(s cluster.State, o Options) []check.Finding {
	var d plan.Draft
	if o.Image == "" || strings.ContainsAny(o.Image, " \t\n") {
		d.Fail(plan.JobRequest, check.Named(check.Namespace, Namespace),
			"--image must name an image that contains /railhead",
			check.Observed("--image", cmp.Or(o.Image, "none"), "an image"),
			check.ByAdmin("Build it as the guide for administrators shows."))
	}
	d.Report(plan.RefuseNamespace(s, Namespace, Component)...)
	return d.Findings
}

// Undo returns the plan that removes the webhook: first the configuration, so that no pod waits for a server that has
// gone. The Secret of the certificate is not read; it goes with the namespace.
func Undo(s cluster.State) (plan.Plan, []check.Finding) {
	if unreadable := plan.Unreadable(s, cluster.Webhooks); len(unreadable) > 0 {
		return plan.Plan{}, unreadable // the way back of setup cluster needs Objects, too, and reports them
	}
	step := plan.Step{ID: "webhook", Title: "Delete the admission webhook"}
	step.Changes = plan.DeleteComponent(s, Component, "created by setup webhook",
		"MutatingWebhookConfiguration", "Deployment", "PodDisruptionBudget", "Service", "ServiceAccount",
		"ClusterRoleBinding", "ClusterRole", "Namespace")
	for i, c := range step.Changes {
		if c.Object.GetKind() == "Namespace" {
			step.Changes[i].Why += "; its Secrets go with it, also those of interrupted runs"
		}
	}
	p := plan.Plan{Title: plan.UndoTitle("webhook")}
	if len(step.Changes) > 0 {
		p.Steps = []plan.Step{step}
	}
	return p, nil
}

// Labelled returns the namespaces whose pods the webhook injects, sorted.
func Labelled(s cluster.State) []string {
	var names []string
	for _, n := range s.Namespaces {
		if workload.WebhookServes(n) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}
