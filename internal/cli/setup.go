package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// setupWant is what the plans of `setup cluster` look at.
var setupWant = kube.Want{Kinds: []cluster.Kind{
	cluster.Nodes, cluster.Pools, cluster.MachineConfigs, cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies,
	cluster.SriovNodes, cluster.DRADevices, cluster.SCCs, cluster.SCCGrants, cluster.Objects,
}}

func (a *app) newSetup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Set a cluster or a namespace up for RDMA, and take it back",
		Args:  cobra.NoArgs, // else a command that is not there is taken for an argument
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.newSetupCluster(), a.newSetupNamespace(), a.newSetupStatus(), a.newSetupRollback())
	return cmd
}

func (a *app) newSetupCluster() *cobra.Command {
	var o plan.ClusterOptions
	var c consent
	var probe nodeProbe
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Set the cluster's nodes up for RDMA: IOMMU passthrough, locked memory, a minimal SCC",
		Long: `cluster shows a plan (the objects, which nodes reboot, how often), asks, applies it and follows the rollout. It writes

  - a MachineConfig that boots the nodes with IOMMU passthrough,
  - a MachineConfig that lets containers lock the memory that they register, without privileges,
  - the security context constraint railhead-rdma, which allows what RDMA needs and nothing more,
  - with --sriov, an SriovNetworkNodePolicy for each RDMA NIC that has none.

The pool is paused while the MachineConfigs are written, so that every node reboots once. What is so already is left out:
a second run has nothing to do. Ctrl-C leaves the rollout running.`,
		Example: `  railhead setup cluster                             the plan, then the question
  railhead setup cluster --dry-run=client            the plan alone
  railhead setup cluster --pool gpu --verify-first   one node first, checked, then the others
  railhead setup cluster -o yaml > rdma.yaml         for GitOps
  railhead setup rollback                            take everything back`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), setupWant)
			if err != nil {
				return err
			}
			p, findings := plan.Cluster(s, o)
			if err := a.refuse(findings); err != nil {
				return err
			}
			if err := verdict(findings); err != nil && p.Empty() {
				return err // not "everything is so already"
			}
			probe.patience = c.patience
			check := func(ctx context.Context) error { return a.verifyFirst(ctx, client, p, o, probe) }
			return a.carry(cmd.Context(), client, p, c, waitFor{back: "railhead setup status --follow", check: check})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Pools, "pool", nil, "machine config pool to set up; may be given several times (default those whose nodes have RDMA NICs or GPUs)")
	f.BoolVar(&o.NoIOMMU, "no-iommu", false, "leave the kernel arguments alone")
	f.BoolVar(&o.NoMemlock, "no-memlock", false, "leave the locked-memory limit alone")
	f.StringVar(&o.SCC, "scc", "", "use this security context constraint and make none")
	f.BoolVar(&o.AllowIPCLock, "allow-ipc-lock", false, "let pods add IPC_LOCK and be root: where the locked-memory limit of the nodes cannot be set")
	f.BoolVar(&o.Sriov, "sriov", false, "make an SriovNetworkNodePolicy for each RDMA NIC that has none")
	f.IntVar(&o.VFs, "vfs", 0, "virtual functions per NIC, with --sriov (default one per GPU of a node)")
	f.StringSliceVar(&o.PFs, "pf", nil, "NIC by interface name, with --sriov (default all that are discovered)")
	f.BoolVar(&o.VerifyFirst, "verify-first", false, "let one node of each pool finish, check it, then let the others go")
	probe.flags(cmd)
	a.completePools(cmd)
	c.flags(cmd, 4*time.Hour)
	return cmd
}

func (a *app) newSetupRollback() *cobra.Command {
	var c consent
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Take back exactly what setup cluster made, and follow the way back",
		Example: `  railhead setup rollback
  railhead setup rollback --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), setupWant)
			if err != nil {
				return err
			}
			p, findings := plan.Rollback(s)
			if err := a.refuse(findings); err != nil {
				return err
			}
			return a.carry(cmd.Context(), client, p, c, waitFor{back: "railhead setup status --follow"})
		},
	}
	c.flags(cmd, 4*time.Hour)
	return cmd
}

func (a *app) newSetupStatus() *cobra.Command {
	var follow bool
	var longest tolerance
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how far the rollout is, node by node",
		Example: `  railhead setup status
  railhead setup status --follow`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), setupWant)
			if err != nil {
				return err
			}
			status := plan.Status(s)
			if len(status.Pools) == 0 {
				a.say("No pool has a MachineConfig of railhead: 'railhead setup cluster' makes them.")
			}
			if follow && len(status.Pools) > 0 {
				want := setupWant
				want.Kinds = []cluster.Kind{cluster.Pools, cluster.Nodes}
				return a.follow(cmd.Context(), client, status.Condition(), following{want: want, patience: longest, back: "railhead setup status --follow"})
			}
			return a.writeStatus(status)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until every node is done")
	longest.flag(cmd)
	return cmd
}

// writeStatus prints the status once; it is a fault while something is stuck.
func (a *app) writeStatus(status plan.ClusterStatus) error {
	t := report.Table{Columns: []string{"POOL", "NODE", "STATE", "NOTE"}}
	stuck := false
	for _, p := range status.Pools {
		state := strings.TrimPrefix(p.Progress.Text, p.Pool+": ")
		if p.Paused {
			state = "paused by railhead: run 'railhead setup cluster' again to go on, or 'railhead setup rollback'"
		}
		t.Rows = append(t.Rows, []string{p.Pool, "", state, shorten(p.MachineConfigs)})
		for _, i := range p.Progress.Items {
			t.Rows = append(t.Rows, []string{p.Pool, i.Name, i.State, i.Note})
		}
		if p.Progress.Stuck != nil {
			stuck = true
			a.findings(p.Progress.Stuck.Finding)
		}
	}
	if len(t.Rows) > 0 {
		if err := t.Write(a.streams.Out); err != nil {
			return err
		}
	}
	if status.SCC != "" {
		fmt.Fprintf(a.streams.Out, "SCC %s is there; %s.\n", status.SCC, usersInWords(status.Users))
	}
	if stuck {
		return exitError{code: exitFault}
	}
	return nil
}

func usersInWords(grants []cluster.SCCGrant) string {
	if len(grants) == 0 {
		return "nobody may use it yet: 'railhead setup namespace NS' grants it to a service account"
	}
	var who []string
	for _, g := range grants {
		who = append(who, g.Subject)
	}
	return "used by " + shorten(who)
}

// completePools completes --pool with the pools of the cluster.
func (a *app) completePools(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("pool", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		_, s, err := a.read(cmd.Context(), kube.Want{Kinds: []cluster.Kind{cluster.Pools}})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, p := range s.Pools {
			names = append(names, p.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// read connects and reads what is wanted.
func (a *app) read(ctx context.Context, want kube.Want) (*kube.Client, cluster.State, error) {
	client, err := a.connect(ctx)
	if err != nil {
		return nil, cluster.State{}, err
	}
	s, err := client.Read(ctx, want)
	if err != nil {
		return nil, cluster.State{}, fault(err)
	}
	return client, s, nil
}

func (a *app) connect(ctx context.Context) (*kube.Client, error) {
	client, err := a.flags.Connect(ctx)
	if err != nil {
		return nil, fault(err)
	}
	client.Talk = func(line string) { a.say("%s", line) }
	return client, nil
}
