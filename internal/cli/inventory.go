package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

func newInventory(a *app) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "inventory",
		Short: "Show what the cluster offers to RDMA jobs, and what is missing",
		Long: `inventory shows the nodes with their GPUs and RDMA resources, the network attachments and whether a
node has their resources, the machine config pools, the SR-IOV policies, and who may use which security context
constraint. With -n it shows the attachments of one namespace only.

Exit status: 0 if nothing is missing; 1 if a job could not get RDMA; 3 if something that matters could not be read.`,
		Example: `  railhead inventory
  railhead inventory -n train        the attachments of one namespace
  railhead inventory -o wide         every node, kernel and runtime
  railhead inventory -o json | jq .findings`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.readInventory(cmd.Context())
			if err != nil {
				return unknown(err)
			}
			inv := clusterrules.InventoryOf(s)
			err = a.print(format, inv, func(out io.Writer, wide bool) error {
				err := text.Inventory(out, inv, wide)
				report.Findings(a.Err, inv.Findings, report.Full)
				return err
			})
			if err != nil {
				return err
			}
			return verdict(inv.Findings)
		},
	}
	outputFlag(cmd, &format, "table", "wide", "json", "yaml")
	return cmd
}

func (a *app) readInventory(ctx context.Context) (cluster.State, error) {
	client, ns, err := a.connect(ctx)
	if err != nil {
		return cluster.State{}, err
	}
	if err := client.Identify(ctx); err != nil {
		return cluster.State{}, err
	}
	want := kube.Want{Kinds: collect.ClusterKinds()}
	if _, explicit, _ := a.flags.Namespace(); explicit {
		want.Namespace, want.Everywhere = ns, []cluster.Kind{cluster.Pods, cluster.ResourceClaims}
	}
	return client.Read(ctx, want)
}

// verdict returns an error with the exit code of findings.
func verdict(findings []check.Finding) error {
	switch check.Overall(findings) {
	case check.Fail:
		return exit.Error{Code: exit.Fault}
	case check.Unknown:
		return exit.Error{Code: exit.Unknown}
	case check.Pass, check.Skipped, check.Warn:
	}
	return nil
}
