// Package kube is the only one that talks to an API server: it reads a cluster into a cluster.State, carries out the
// changes of a plan, follows their progress and runs commands in pods.
package kube

import (
	"context"
	"net/http"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags are kubectl's flags for reaching a cluster. They are bound with clientcmd, which kubectl's own are a wrapper
// of: that wrapper (cli-runtime genericclioptions) links kustomize and every API type, 13 MB and 4 ms of every start.
type Flags struct {
	// Wrap, when it is set, is put around the transport of every connection; a test counts calls with it.
	Wrap func(http.RoundTripper) http.RoundTripper

	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// NewFlags returns the flags at their defaults.
func NewFlags() *Flags { return &Flags{} }

// AddFlags adds --kubeconfig, --context, --namespace and their kin. It reads no file.
func (f *Flags) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s" // as kubectl has it
	names.ClusterOverrideFlags.ProxyURL.LongName = ""    // kubectl does not offer these
	names.AuthOverrideFlags.Username.LongName = ""
	names.AuthOverrideFlags.Password.LongName = ""
	clientcmd.BindOverrideFlags(&f.overrides, set, names)
}

// loader finds the kubeconfig: the flag, $KUBECONFIG, ~/.kube/config, or the service account of the pod it runs in.
func (f *Flags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	rules.WarnIfAllMissing = false // said by whoever needs one
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
}

// Namespace returns the namespace to work in, and whether a flag names it rather than the kubeconfig's context.
func (f *Flags) Namespace() (name string, explicit bool, err error) {
	if name := f.overrides.Context.Namespace; name != "" {
		return name, true, nil
	}
	name, _, err = f.loader().Namespace()
	if clientcmd.IsEmptyConfig(err) { // the cluster may be named by --server
		return metav1.NamespaceDefault, false, nil
	}
	if err != nil {
		return "", false, f.configError(err)
	}
	return name, false, nil
}

// Connect asks the server for its API groups: one call, which also shows whether it can be reached and knows the
// user. A server that does not answer at once is not waited for.
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

// contextName is the context of the kubeconfig; "" where there is none, as in a pod.
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
