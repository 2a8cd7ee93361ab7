package clusterrules

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// withoutInjection finds pods with GPUs that the admission webhook should have given rails.
func withoutInjection(v view) []check.Finding {
	var findings []check.Finding
	offers := v.state.RDMAOffers()
	for _, n := range v.state.Namespaces {
		if !workload.WebhookServes(n) {
			continue
		}
		var names []string
		var about []check.Ref
		for _, p := range detailed(v.state) {
			given := p.Annotations[workload.Injected] != "" || requestsRDMA(p, offers)
			disabled := p.Annotations[workload.WebhookLabel] == workload.WebhookDisabled
			if p.Namespace == n.Name && p.Requests.GPUs() > 0 && !given && !disabled {
				names, about = append(names, p.Name), append(about, check.PodRef(p.Namespace, p.Name))
			}
		}
		if len(names) > 0 {
			findings = append(findings, notInjected(n, names, about))
		}
	}
	return findings
}

func notInjected(n cluster.Namespace, names []string, about []check.Ref) check.Finding {
	return check.Finding{
		Check: WebhookInjects, Status: check.Warn, Subject: check.Named(check.Namespace, n.Name), About: about,
		Summary: fmt.Sprintf("%s with GPUs in namespace %s got no rails from the webhook, which its label asks for",
			words.Count(len(names), "pod"), n.Name),
		Evidence: []check.Evidence{
			{Source: "label " + workload.WebhookLabel, Got: n.Labels[workload.WebhookLabel]},
			{Source: "annotation " + workload.Injected + " of " + words.Few(names, 6), Got: "none", Want: "set"},
		},
		Fix: check.ByAdmin("See whether the webhook answers. Pods from before the label, or from while it did not "+
			"answer, get rails when they are created again.", "railhead setup status"),
	}
}
