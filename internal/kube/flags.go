// Package kube is the client of an API server: it reads a cluster into a cluster.State, makes the changes of a plan,
// watches their progress and runs commands in pods.
package kube

import (
	"context"
	"net/http"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags are kubectl's flags for reaching a cluster, bound with clientcmd. kubectl's own wrapper of it (cli-runtime
// genericclioptions) links kustomize and every API type: 13 MB, and 4 ms of every start.
type Flags struct {
	// Wrap wraps the transport of every connection; nil: it stays as it is. Tests count calls with it.
	Wrap func(http.RoundTripper) http.RoundTripper

	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// AddFlags adds --kubeconfig, --context, --namespace and kubectl's other flags. It reads no file.
func (f *Flags) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, clientcmd.RecommendedConfigPathFlag, "",
		"Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s" // as in kubectl
	names.ClusterOverrideFlags.ProxyURL.LongName = ""    // kubectl has none of these
	names.AuthOverrideFlags.Username.LongName = ""
	names.AuthOverrideFlags.Password.LongName = ""
	clientcmd.BindOverrideFlags(&f.overrides, set, names)
}

// loader finds the kubeconfig: the flag, $KUBECONFIG, ~/.kube/config, or the service account of this pod.
func (f *Flags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	rules.WarnIfAllMissing = false // configError reports it
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
}

// Namespace returns the namespace to work in, and whether it is from a flag rather than the kubeconfig.
func (f *Flags) Namespace() (name string, explicit bool, err error) {
	if name := f.overrides.Context.Namespace; name != "" {
		return name, true, nil
	}
	name, _, err = f.loader().Namespace()
	if clientcmd.IsEmptyConfig(err) { // --server may name the cluster
		return metav1.NamespaceDefault, false, nil
	}
	if err != nil {
		return "", false, f.configError(err)
	}
	return name, false, nil
}

// Connect asks the server for its API groups: one call, which also shows whether the server answers and accepts the
// user. It does not retry.
func (f *Flags) Connect(ctx context.Context) (*Client, error) {
	loader := f.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, f.configError(err)
	}
	if f.Wrap != nil {
		config.Wrap(f.Wrap)
	}
	return connect(ctx, config, f.contextName(loader))
}

// contextName returns the context of the kubeconfig; empty without one, as in a pod.
func (f *Flags) contextName(loader clientcmd.ClientConfig) string {
	if name := f.overrides.CurrentContext; name != "" {
		return name
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}
