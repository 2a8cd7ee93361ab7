package cli

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/metrics"
	"github.com/railhead/railhead/internal/plan/webhook"
)

func newSetupMetrics(a *app) *cobra.Command {
	var o metrics.Options
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "metrics --image IMAGE",
		Short: "Serve RDMA metrics of every node to Prometheus: bytes, errors and queue pairs by program",
		Long: `setup metrics runs 'railhead-pod wire --listen' on each node with RDMA NICs or GPUs, in namespace
railhead-metrics. The pods see the network and the processes of their node, and have no other privilege. Where the
Prometheus operator is installed, a PodMonitor makes it scrape them. 'railhead setup rollback' removes all of it.
Nothing else needs it.`,
		Example: `  railhead setup metrics --image registry.example/railhead:1
  railhead setup status                              how many nodes serve metrics`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: metrics.Kinds(), Setup: true})
			if err != nil {
				return err
			}
			p, findings := metrics.Setup(s, o)
			return applier{
				app: a, client: client, flags: flags,
				want: kube.Want{Namespace: metrics.Name, Detail: true, Setup: true}, resume: "railhead setup status",
			}.apply(cmd.Context(), p, findings)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Image, "image", "", "`image` that contains /railhead-pod")
	f.StringVar(&o.Nodes, "nodes", "",
		"`label` of the nodes, as KEY=VALUE (default: the labels of nodes with RDMA NICs or GPUs)")
	_ = cmd.MarkFlagRequired("image") // the flag exists
	flags.add(cmd, 5*time.Minute)
	return cmd
}

// withComponents adds the lists about the webhook and the metrics.
func withComponents(w kube.Want) kube.Want {
	for _, kind := range slices.Concat(webhook.Kinds(), metrics.Kinds()) {
		if !slices.Contains(w.Kinds, kind) {
			w.Kinds = append(slices.Clone(w.Kinds), kind)
		}
	}
	return w
}

// metricsStatus prints on how many nodes the metrics are served. It returns a fault if on none.
func (a *app) metricsStatus(s cluster.State) error {
	if p := s.Problem(cluster.Metrics); p != nil {
		return unknown(errors.New("whether nodes serve metrics could not be read: " + p.Err))
	}
	return a.componentStatus(metrics.Status(s))
}
