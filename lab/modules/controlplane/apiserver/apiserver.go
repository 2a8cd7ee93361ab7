// Package apiserver is upstream's kube-apiserver with OpenShift's security context constraints compiled in.
//
// It does what k8s.io/kubernetes/cmd/kube-apiserver does, and registers two admission plugins more before it parses its
// flags. --disable-admission-plugins with both of their names makes it a plain kube-apiserver.
package apiserver

import (
	"context"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // the JSON log format
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// Main runs the server and returns its exit code.
func Main() int { return cli.Run(command(genericapiserver.SetupSignalContext())) }

// command is app.NewAPIServerCommand with the SCC plugins: upstream's has no place to register one from outside.
func command(ctx context.Context) *cobra.Command {
	s := options.NewServerRunOptions()
	registerSCC(ctx, s.Admission.GenericAdmission)
	cmd := &cobra.Command{
		Use:          "kube-apiserver",
		Short:        "kube-apiserver with OpenShift's security context constraints",
		SilenceUsage: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			rest.SetDefaultWarningHandler(rest.NoWarnings{})
			return s.GenericServerRunOptions.ComponentGlobalsRegistry.Set()
		},
		RunE: func(*cobra.Command, []string) error { return run(ctx, s) },
	}
	sets := s.Flags()
	verflag.AddFlags(sets.FlagSet("global"))
	for _, f := range sets.FlagSets {
		cmd.Flags().AddFlagSet(f)
	}
	return cmd
}

func run(ctx context.Context, s *options.ServerRunOptions) error {
	verflag.PrintAndExitIfRequested()
	if err := logsapi.ValidateAndApply(s.Logs, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	return app.Run(ctx, completed)
}
