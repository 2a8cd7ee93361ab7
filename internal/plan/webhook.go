package plan

// WebhookPath is the URL path to which the API server sends new pods.
const WebhookPath = "/inject"
