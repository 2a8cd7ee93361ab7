package workload

import "github.com/railhead/railhead/internal/cluster"

// WebhookLabel is the label of a namespace, and the annotation of a pod, by which the admission webhook injects rails.
// That of the pod counts first.
const WebhookLabel = "railhead.dev/inject"

// Values of WebhookLabel.
const (
	WebhookEnabled  = "enabled"
	WebhookRequired = "required" // refuse pods that cannot get rails
	WebhookDisabled = "disabled"
)

// WebhookServes reports whether the webhook injects rails into the pods of a namespace.
func WebhookServes(n cluster.Namespace) bool {
	value := n.Labels[WebhookLabel]
	return value == WebhookEnabled || value == WebhookRequired
}
