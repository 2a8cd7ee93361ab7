package cli

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/admission"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/webhook"
)

func newWebhook(a *app) *cobra.Command {
	var binaries map[string]string
	var listen, folder string
	mode := string(nccl.RDMA)
	s := webhook.Server{Drain: 5 * time.Second}
	cmd := &cobra.Command{
		Use:    "webhook --cert-dir DIR",
		Short:  "Serve the admission webhook that 'setup webhook' deploys",
		Hidden: true, // only pods run it
		Long: `webhook answers the API server, until it is interrupted, with what 'inject' adds to a pod. It watches the
cluster and never asks it while it answers. It reads no Secrets.

Paths: /inject, /metrics for Prometheus, /healthz, /readyz. All are served over HTTPS.`,
		Example: `  railhead webhook --cert-dir /tls`,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if s.Options.Programs, err = programs(binaries); err != nil && s.Options.PodImage == "" {
				return wrongInput(err)
			}
			s.Options.Mode = nccl.Mode(mode)
			s.Connect, s.Say = a.watch(s.Options), func(err error) { a.say("%v", err) }
			a.say("Listening on %s.", listen)
			if err := s.Serve(cmd.Context(), listen, folder); err != nil {
				return exit.Failed(err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", ":9443", "`address` to listen on")
	f.StringVar(&folder, "cert-dir", "", "`folder` with the certificate, tls.crt and tls.key; new files are read")
	f.StringVar(&s.Options.PodImage, "pod-image", "",
		"`image` that contains /railhead-pod; without it the ConfigMaps of 'setup namespace' are used")
	choiceFlag(cmd, &mode, "mode", "", "rdma: pods need rails; auto: without rails they use TCP",
		string(nccl.RDMA), string(nccl.Auto))
	binaryFlag(cmd, &binaries, "")
	_ = cmd.MarkFlagRequired("cert-dir") // the flag exists
	return cmd
}

// watch connects to the cluster and yields its States, or the error.
func (a *app) watch(o job.Options) func(context.Context) iter.Seq2[cluster.State, error] {
	return func(ctx context.Context) iter.Seq2[cluster.State, error] {
		client, err := a.flags.Connect(ctx)
		if err != nil {
			return func(yield func(cluster.State, error) bool) { yield(cluster.State{}, err) }
		}
		return client.Watch(ctx, kube.Want{Kinds: admission.Kinds(o)})
	}
}
