package plan

// Inject is the label of a namespace, and the annotation of a pod, by which the webhook injects rails. That of the pod
// counts first.
const Inject = "railhead.dev/inject"

// Values of Inject.
const (
	InjectEnabled  = "enabled"
	InjectRequired = "required" // refuse pods that cannot get rails
	InjectDisabled = "disabled"
)

// WebhookPath is the URL path to which the API server sends new pods.
const WebhookPath = "/inject"
