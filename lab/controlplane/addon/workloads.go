package addon

import (
	"slices"

	"github.com/railhead/railhead/lab/controlplane/assets"
)

// controller is a controller of training workloads as its own project installs it.
type controller struct {
	program            assets.Program
	manifests          assets.CRDs // CRDs, roles and webhooks; "" if another row has them
	prefix             string      // of the names of roles, accounts and webhooks, where kustomize adds one
	namespace, account string
	args               []string // PORT is the webhooks' port, FOLDER has the certificate and the configuration
	config             string   // contents of FOLDER/config.yaml
	webhooks           string   // name of the webhook configuration, where kustomize changes it
	pods               string   // label of the pods that the webhooks of pods see, where kustomize limits them
	// rotated is set where the controller keeps its certificate in a Secret and fills in the webhooks' caBundle itself
	// (open-policy-agent/cert-controller). It takes the lab's, which it would also accept of an earlier start.
	rotated *rotated
}

// rotated has the names by which cert-controller recognises a certificate of its own.
type rotated struct{ secret, authority, service string }

// settings are the fields that the lab changes in a configuration file of JobSet, LeaderWorkerSet or Kueue.
const settings = `
leaderElection: {leaderElect: false}
webhook: {host: 127.0.0.1, port: PORT, certDir: FOLDER}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:0"}
clientConnection: {qps: 500, burst: 1000}
`

// quiet are the flags of controller-runtime by which a controller serves neither metrics nor its health.
var quiet = []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}

// controllers returns all controllers, each under the account and with the rights of its own manifests.
func controllers() []controller {
	config, kubeconfig := []string{"--config=FOLDER/config.yaml"}, []string{"--leader-elect=false"}
	return []controller{
		{
			program: assets.JobSet, manifests: assets.JobSets, prefix: "jobset-", namespace: "jobset-system",
			account: "controller-manager", args: config, pods: "jobset.sigs.k8s.io/jobset-name",
			config: "apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n" +
				"internalCertManagement: {enable: false}" + settings,
		},
		{program: assets.MPI, manifests: "mpi-operator", namespace: "mpi-operator", account: "mpi-operator"},
		{
			program: assets.LeaderWorkerSet, manifests: "lws", prefix: "lws-", namespace: "lws-system",
			account: "controller-manager", args: config, pods: "leaderworkerset.sigs.k8s.io/name",
			config: "apiVersion: config.lws.x-k8s.io/v1alpha1\nkind: Configuration\n" +
				"internalCertManagement: {enable: false}" + settings,
		},
		{
			program: assets.Training, manifests: "training-operator",
			namespace: "kubeflow", account: "training-operator",
			args: slices.Concat(quiet, []string{
				"--webhook-server-port=PORT", "--enable-scheme=pytorchjob", "--enable-scheme=tfjob",
				"--enable-scheme=xgboostjob", "--enable-scheme=paddlejob", "--enable-scheme=jaxjob",
			}),
			webhooks: "validator.training-operator.kubeflow.org",
			rotated:  &rotated{"training-operator-webhook-cert", "training-operator-ca", "training-operator"},
		},
		{
			program: assets.Ray, manifests: "kuberay", namespace: "ray-system", account: "kuberay-operator",
			args: []string{"--metrics-addr=0", "--health-probe-bind-address=0", "--enable-leader-election=false"},
		},
		{
			program: assets.Trainer, manifests: "trainer", namespace: "kubeflow-system",
			account: "kubeflow-trainer-controller-manager", webhooks: "validator.trainer.kubeflow.org",
			args: slices.Concat(quiet, []string{"--webhook-server-port=PORT"}),
			rotated: &rotated{
				"kubeflow-trainer-webhook-cert", "kubeflow-trainer-ca", "kubeflow-trainer-controller-manager",
			},
		},
		{
			program: assets.Kueue, manifests: "kueue", prefix: "kueue-", namespace: "kueue-system",
			account: "controller-manager",
			// The visibility server has a fixed port.
			args: append(config, "--feature-gates=VisibilityOnDemand=false"),
			config: "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n" +
				"integrations: {frameworks: [batch/job]}" + settings,
			rotated: &rotated{"kueue-webhook-server-cert", "kueue-ca", "kueue-webhook-service"},
		},
		{
			program: assets.VolcanoAdmission, manifests: "volcano-controllers", namespace: "volcano-system",
			account: "volcano-admission",
			args: []string{
				"--listen-address=127.0.0.1", "--port=PORT", "--webhook-url=https://127.0.0.1:PORT",
				"--tls-cert-file=FOLDER/tls.crt", "--tls-private-key-file=FOLDER/tls.key",
				"--ca-cert-file=FOLDER/ca.crt",
			},
		},
		{
			program: assets.Volcano, namespace: "volcano-system", account: "volcano-controllers",
			args: kubeconfig,
		},
		{
			program: assets.VolcanoScheduler, namespace: "volcano-system", account: "volcano-scheduler",
			args: kubeconfig,
		},
	}
}

// Workloads returns the programs of all controllers of training workloads.
func Workloads() []assets.Program {
	var all []assets.Program
	for _, c := range controllers() {
		all = append(all, c.program)
	}
	return all
}

// CRDs returns the sets that the controllers of these programs need.
func CRDs(workloads []assets.Program) []assets.CRDs {
	var all []assets.CRDs
	for _, c := range chosen(workloads) {
		if c.manifests != "" {
			all = append(all, c.manifests)
		}
	}
	return all
}

// chosen returns the controllers of these programs.
func chosen(workloads []assets.Program) []controller {
	return slices.DeleteFunc(controllers(), func(c controller) bool { return !slices.Contains(workloads, c.program) })
}
