// Package admission decides what the webhook does with a new pod.
package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/workload"
)

// Outcome says whether a pod was injected.
type Outcome string

// Pods are refused only if they or their namespace require rails.
const (
	Injected Outcome = "injected"
	Skipped  Outcome = "skipped" // no rails were requested for it, or it has them
	Failed   Outcome = "failed"  // admitted unchanged, with a warning
	Refused  Outcome = "refused"
)

// Reasons of outcomes other than Injected, besides the IDs of the findings of an injection.
const (
	Disabled     = "disabled"
	HasRails     = "already-injected"
	NoGPUs       = "no-gpus"
	UnknownValue = "unknown-value" // of the annotation
	NotRead      = "cluster-not-read"
	NoDelivery   = "no-railhead-pod"
	NoAttachment = "no-attachments" // rails may be claimed here, which the webhook cannot do
)

// Decision is the outcome for one pod.
type Decision struct {
	Outcome  Outcome
	Reason   string // one of the reasons, or the ID of a finding; empty: injected
	Warnings []string
	Pod      unstructured.Unstructured // as it shall be
}

// Kinds returns the lists that decisions read: none of them has secrets.
func Kinds(o job.Options) []cluster.Kind {
	kinds := []cluster.Kind{cluster.Nodes, cluster.Namespaces, cluster.Networks}
	if o.PodImage == "" {
		kinds = append(kinds, cluster.ConfigMaps)
	}
	return kinds
}

// Decide adds rails to a pod in a namespace, as `railhead inject` does, but never a privilege: the container runtime
// of the nodes must let the pods lock memory. s is nil until the cluster was read.
func Decide(pod unstructured.Unstructured, namespace string, s *cluster.State, o job.Options) Decision {
	d := Decision{Outcome: Skipped, Pod: pod}
	own := pod.GetAnnotations()[workload.WebhookLabel]
	switch {
	case own == workload.WebhookDisabled:
		d.Reason = Disabled
	case hasDelivery(pod):
		d.Reason = HasRails
	case own == "" && !requestsGPUs(pod):
		d.Reason = NoGPUs
	case !slices.Contains(knownValues, own):
		why := fmt.Sprintf("annotation %s is %q, but must be one of %s",
			workload.WebhookLabel, own, strings.Join(knownValues[1:], ", "))
		d.fail(s != nil && required("", namespace, *s), UnknownValue, why)
	case s == nil:
		d.fail(own == workload.WebhookRequired, NotRead, "the webhook has not read the cluster yet")
	default:
		d.inject(namespace, required(own, namespace, *s), *s, o)
	}
	return d
}

// knownValues lists the valid values of the annotation. A pod without it has the empty value.
var knownValues = []string{"", workload.WebhookEnabled, workload.WebhookRequired, workload.WebhookDisabled}

func required(own, namespace string, s cluster.State) bool {
	n, _ := s.Namespace(namespace)
	return cmp.Or(own, n.Labels[workload.WebhookLabel]) == workload.WebhookRequired
}

func (d *Decision) inject(namespace string, required bool, s cluster.State, o job.Options) {
	o.Namespace, o.Memlock = namespace, access.MemlockByNode
	pod, findings := job.Inject(d.Pod, s, o)
	for _, f := range findings {
		switch {
		case f.Status == check.Fail && f.Check == plan.RailsAttached && mayClaim(namespace, s):
			d.fail(required, NoAttachment, f.Summary+"; the webhook adds no claims. If a DRA driver offers the rails: "+
				"railhead inject --claims -f FILE")
			return
		case f.Status == check.Fail:
			d.fail(required, string(f.Check), explain(f))
			return
		}
		d.Warnings = append(d.Warnings, "railhead: "+explain(f))
	}
	if part := missingPart(pod, namespace, s); part != "" {
		d.fail(required, NoDelivery, fmt.Sprintf("namespace %s has no ConfigMap %s; try, with the version of railhead "+
			"that the webhook runs: railhead setup namespace %s", namespace, part, namespace))
		return
	}
	d.Outcome, d.Pod = Injected, pod
}

// mayClaim reports whether the pods of a namespace may have claims instead of attachments: it has no attachment, and
// the cluster serves claims. The webhook reads no devices of DRA drivers and creates no claim templates.
func mayClaim(namespace string, s cluster.State) bool {
	return s.Knows(cluster.Networks) && len(s.Rails(namespace)) == 0 && s.Server.Serves(cluster.ResourceGroup)
}

// fail leaves the pod unchanged, and refuses it if rails are required.
func (d *Decision) fail(required bool, reason, why string) {
	d.Reason = reason
	d.Warnings = []string{"railhead added no rails to this pod: " + why}
	if d.Outcome = Failed; required {
		d.Outcome = Refused
	}
}

// explain returns a finding and its first command in one line: the API server shortens warnings of more than 256
// characters when there are many (apiserver pkg/endpoints/filters/warning.go).
func explain(f check.Finding) string {
	if f.Fix == nil || len(f.Fix.Commands) == 0 {
		return f.Summary
	}
	return f.Summary + "; try: " + f.Fix.Commands[0]
}

// hasDelivery reports whether a pod has railhead-pod: it was deployed or injected before.
func hasDelivery(pod unstructured.Unstructured) bool {
	return slices.ContainsFunc(items(pod.Object, "spec", "volumes"), func(v map[string]any) bool {
		return v["name"] == delivery.Mount().Name
	})
}

// requestsGPUs reports whether a container of the pod requests GPUs.
func requestsGPUs(pod unstructured.Unstructured) bool {
	return slices.ContainsFunc(items(pod.Object, "spec", "containers"), func(c map[string]any) bool {
		_, n := podspec.GPUs(c)
		return n > 0
	})
}

// missingPart returns a ConfigMap from which the pod would get railhead-pod and that the namespace lacks; "" if none.
func missingPart(pod unstructured.Unstructured, namespace string, s cluster.State) string {
	have := map[string]bool{}
	for _, c := range s.ConfigMaps {
		have[c.Namespace+"/"+c.Name] = true
	}
	for _, v := range items(pod.Object, "spec", "volumes") {
		for _, source := range items(v, "projected", "sources") {
			name, _, _ := unstructured.NestedString(source, "configMap", "name")
			if strings.HasPrefix(name, delivery.Component+"-") && !have[namespace+"/"+name] {
				return name
			}
		}
	}
	return ""
}

// items returns the maps of the list at a path.
func items(object map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	all, _ := list.([]any)
	var maps []map[string]any
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}
