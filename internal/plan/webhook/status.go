package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Available is done when all replicas are available. It is stuck if a pod needs a fix.
func Available(s cluster.State) plan.Progress {
	d, exists := s.Object("Deployment", Namespace, Name)
	ready := available(d)
	p := plan.Progress{
		Done: exists && ready >= replicas,
		Text: fmt.Sprintf("%s: %d of %d replicas are available", Name, ready, replicas),
		Bars: []plan.Bar{{Name: Name, Count: min(ready, replicas), Total: replicas}},
	}
	if p.Done {
		return p
	}
	p.AddPods(s, Namespace)
	return p
}

// available returns the replicas of the generation that was asked for.
func available(deployment cluster.Object) int {
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(deployment.Fields, path...)
		return n
	}
	if number("status", "observedGeneration") < number("metadata", "generation") {
		return 0
	}
	return int(min(number("status", "availableReplicas"), number("status", "updatedReplicas")))
}

// Status describes the webhook in a line, and whether it answers; the line is empty if there is none.
func Status(s cluster.State) (line string, status check.Status) {
	configuration, configured := s.Object(configurationKind, "", Configuration)
	d, deployed := s.Object("Deployment", Namespace, Name)
	ready := available(d)
	line = fmt.Sprintf("Webhook: %d of %d replicas are available", ready, replicas)
	switch {
	case !configured && !deployed:
		return "", check.Pass
	case !configured:
		return line + "; the API server sends it no pods: run 'railhead setup webhook' again.", check.Fail
	case ready == 0:
		status = check.Fail
	}
	if cert := bundle(configuration); !byServiceCA(configuration) {
		line += "; its certificate ends on " + until(cert).Format(day)
		if left := until(cert).Sub(s.Taken); left < renewal {
			line += ": renew it with 'railhead setup webhook'"
			status = max(status, check.Warn)
			if left <= 0 {
				status = check.Fail
			}
		}
	}
	return line + ". " + namespacesLine(s), status
}

func byServiceCA(configuration cluster.Object) bool {
	return (&unstructured.Unstructured{Object: configuration.Fields}).GetAnnotations()[injectBundle] != ""
}

func namespacesLine(s cluster.State) string {
	labelled := Labelled(s)
	if len(labelled) == 0 {
		return "No namespace has the label " + workload.WebhookLabel + "."
	}
	return "Namespaces: " + plan.OrNone(labelled) + "."
}
