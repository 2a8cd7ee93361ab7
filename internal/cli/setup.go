package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/apply"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/metrics"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/plan/webhook"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// setupWant has everything that the plans of `setup cluster` need.
var setupWant = kube.Want{Kinds: setup.Kinds(), Setup: true}

// setupRights is a Want without a list, for a plan that needs the rights of administrators.
var setupRights = kube.Want{Setup: true}

const followSetup = "railhead setup status --follow"

func newSetup(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Set up a cluster or a namespace for RDMA, or undo it",
		Args:  noSuchCommand, // otherwise an unknown command would be an argument
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSetupCluster(a), newSetupNamespace(a), newSetupWebhook(a), newSetupMetrics(a),
		newSetupStatus(a), newSetupRollback(a))
	return cmd
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}

func newSetupCluster(a *app) *cobra.Command {
	var o setup.Options
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Set up the cluster's nodes for RDMA: IOMMU passthrough, locked memory, a minimal SCC",
		Long: `setup cluster shows a plan (the objects, which nodes reboot and how often), asks, applies it and
follows the rollout. It writes

  - a MachineConfig that boots the nodes with IOMMU passthrough,
  - a MachineConfig that lets unprivileged containers lock the memory that they register,
  - the security context constraint railhead-rdma, which allows only what RDMA needs,
  - with --sriov, an SriovNetworkNodePolicy for each RDMA NIC without one.

The pool is paused while the MachineConfigs are written, so that every node reboots only once. Settings that are already
in place are left out: a second run changes nothing. Ctrl-C leaves the rollout running.

-o yaml prints the objects without the changes of the pools. Only setup cluster itself pauses the pools, orders the
rollout and checks a node first: objects that another tool applies roll out at once.`,
		Example: `  railhead setup cluster                             show the plan and ask
  railhead setup cluster --dry-run=client            show the plan only
  railhead setup cluster --pool gpu --verify-first   set up and check one node first
  railhead setup cluster -o yaml > rdma.yaml         print the objects for GitOps
  railhead setup rollback                            undo setup cluster`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, ns, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			s, err := client.Read(cmd.Context(), setupWant)
			if err != nil {
				return exit.Failed(err)
			}
			o.SkipVerify = cmd.Flags().Changed("verify-first") && !o.VerifyFirst
			p, findings := setup.Cluster(s, o)
			if err := a.refuse(findings); err != nil {
				return err
			}
			if err := verdict(findings); err != nil && p.Empty() { // unknown is not "already done"
				a.say("Nothing to write: Railhead has set all it can here. Check on the nodes what is unknown above.")
				return err
			}
			flags.options.Check.Setup, flags.options.Check.Namespace = o, ns
			return applier{
				app: a, client: client, flags: flags, want: setupRights, resume: followSetup,
			}.apply(cmd.Context(), p, nil)
		},
	}
	a.setupFlags(cmd, &o)
	nodeCheckFlags(cmd, &flags.options.Check)
	flags.add(cmd, 4*time.Hour)
	return cmd
}

func (a *app) setupFlags(cmd *cobra.Command, o *setup.Options) {
	f := cmd.Flags()
	f.StringSliceVar(&o.Pools, "pool", nil,
		"machine config `pool` to set up; repeatable (default: pools whose nodes have RDMA NICs or GPUs)")
	f.StringVar(&o.OwnPool, "own-pool", "",
		"create a machine config pool with this `name` for the nodes of pool worker that have RDMA NICs or GPUs: "+
			"only they reboot")
	cmd.MarkFlagsMutuallyExclusive("pool", "own-pool")
	f.BoolVar(&o.NoIOMMU, "no-iommu", false, "do not change the kernel arguments")
	f.BoolVar(&o.NoMemlock, "no-memlock", false, "do not change the locked-memory limit")
	f.StringVar(&o.SCC, "scc", "", "use the security context constraint with this `name` instead of creating one")
	f.BoolVar(&o.AllowIPCLock, "allow-ipc-lock", false,
		"let pods add IPC_LOCK and run as root, for nodes whose locked-memory limit cannot be set")
	f.BoolVar(&o.Sriov, "sriov", false, "create an SriovNetworkNodePolicy for each RDMA NIC without one")
	f.IntVar(&o.VFs, "vfs", 0, "with --sriov: `number` of virtual functions per NIC "+
		"(default: that of an earlier run, otherwise one per GPU of a node)")
	f.IntVar(&o.MTU, "mtu", 0, "with --sriov: `MTU` of the virtual functions, and of NICs that have less "+
		"(default: that of an earlier run, otherwise that of their NIC)")
	f.StringSliceVar(&o.PFs, "pf", nil, "with --sriov: `interface` of a NIC; repeatable (default: all RDMA NICs)")
	f.BoolVar(&o.VerifyFirst, "verify-first", false, "set up and check one node of each pool before the others; "+
		"=false continues a rollout that is paused for the check, without it")
	a.completeFlag(cmd, "pool", cluster.Pools, poolNames)
}

func nodeCheckFlags(cmd *cobra.Command, c *apply.NodeCheck) {
	var binaries map[string]string
	cmd.Flags().StringVar(&c.Image, "verify-image", "",
		"with --verify-first: `image` with a shell for the pod that checks a node "+
			"(default: that of the node's machine-config-daemon, or openshift/cli)")
	binaryFlag(cmd, &binaries, "with --verify-first: ")
	c.Programs = func() ([]delivery.Program, error) { return programs(binaries) }
}

func newSetupRollback(a *app) *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Undo exactly what setup cluster, webhook and metrics changed, and follow the rollout",
		Example: `  railhead setup rollback
  railhead setup rollback --dry-run=client
  railhead setup rollback namespace train      what 'setup namespace train' created`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), withComponents(setupWant))
			if err != nil {
				return err
			}
			p, findings := setup.Rollback(s)
			undone := []string{"cluster"}
			for _, component := range []struct {
				name string
				undo func(cluster.State) (plan.Plan, []check.Finding)
			}{{"metrics", metrics.Undo}, {"webhook", webhook.Undo}} {
				first, unread := component.undo(s)
				findings = append(unread, findings...)
				if p.Steps = append(first.Steps, p.Steps...); !first.Empty() {
					undone = append(undone, component.name)
				}
			}
			p.Title = plan.UndoTitle(undone...)
			if gone := p.Deleted(); gone != "" {
				p.Closing = "Deleted " + gone + ". What 'setup namespace' created stays: " +
					"undo it with 'railhead setup rollback namespace NAMESPACE'."
			}
			return applier{
				app: a, client: client, flags: flags, want: setupRights, resume: followSetup,
			}.apply(cmd.Context(), p, findings)
		},
	}
	flags.add(cmd, 4*time.Hour)
	cmd.AddCommand(newRollbackNamespace(a))
	return cmd
}

func newSetupStatus(a *app) *cobra.Command {
	var follow bool
	var patience *time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the progress of the rollout, node by node",
		Long: `setup status shows how far the nodes of each pool are, and why one is stuck. With --follow it
waits until all are done.

Exit status: 0 unless something is stuck (1) or the cluster could not be read (3).`,
		Example: `  railhead setup status
  railhead setup status --follow`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), withComponents(setupWant))
			if err != nil {
				return unknown(err)
			}
			status := setup.Status(s)
			if follow && len(status.Pools) > 0 {
				want := setupWant
				want.Kinds = []cluster.Kind{cluster.Pools, cluster.Nodes}
				wait := apply.Wait{Want: want, Patience: patience, Resume: followSetup, Live: a.live()}
				if err := apply.Follow(cmd.Context(), client, status.Condition(), wait); err != nil {
					return exit.Failed(err)
				}
				return nil
			}
			incomplete := a.incomplete(s, status)
			return errors.Join(a.setupStatus(status), a.webhookStatus(s), a.metricsStatus(s), incomplete)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until every node is done")
	patienceFlag(cmd, &patience)
	return cmd
}

// incomplete says why the status has no pools. It returns an error if the status lacks what could not be read.
func (s Streams) incomplete(state cluster.State, status setup.ClusterStatus) error {
	var unread []string
	for _, p := range status.Unread {
		unread = append(unread, fmt.Sprintf("%s could not be read: %s", p.Kind, p.Err))
	}
	if len(unread) > 0 {
		return unknown(errors.New("the status is not complete: " + strings.Join(unread, "; ")))
	}
	if len(status.Pools) > 0 {
		return nil
	}
	if !state.Server.Serves(cluster.MachineConfigGroup) {
		s.say("This cluster has no machine config pools, so Railhead cannot set up its nodes. "+
			"'railhead setup cluster' prints what to set on them; 'railhead explain-check %s' says more.",
			setup.NodeSettings)
		return nil
	}
	s.say("No pool has a MachineConfig of railhead; create them with 'railhead setup cluster'.")
	return nil
}

// setupStatus prints the status. It returns a fault if something is stuck.
func (s Streams) setupStatus(status setup.ClusterStatus) error {
	t := report.Table{Columns: []string{"POOL", "NODE", "STATE", "NOTE"}}
	stuck := false
	for _, p := range status.Pools {
		state := p.Progress.Of(p.Pool)
		if p.Paused {
			state = "paused by railhead: continue with 'railhead setup cluster' or undo with 'railhead setup rollback'"
		}
		t.Rows = append(t.Rows, []string{p.Pool, "", state, words.Few(p.MachineConfigs, 6)})
		for _, i := range p.Progress.Items {
			t.Rows = append(t.Rows, []string{p.Pool, i.Name, i.State, i.Note})
		}
		if p.Progress.Stuck != nil {
			stuck = true
			s.showFindings(p.Progress.Stuck.Finding)
		}
	}
	if len(t.Rows) > 0 {
		if err := t.Write(s.Out); err != nil {
			return err
		}
	}
	switch {
	case status.SCC == "":
	case !status.UsersKnown():
		fmt.Fprintf(s.Out, "SCC %s exists; who may use it could not be read.\n", status.SCC)
	default:
		fmt.Fprintf(s.Out, "SCC %s exists and is %s.\n", status.SCC, usedBy(status.Users))
	}
	if stuck {
		return exit.Error{Code: exit.Fault}
	}
	return nil
}

func usedBy(grants []cluster.SCCGrant) string {
	if len(grants) == 0 {
		return "not used yet: grant it to a service account with 'railhead setup namespace NS'"
	}
	var who []string
	for _, g := range grants {
		who = append(who, g.Subject)
	}
	return "used by " + words.Few(who, 6)
}
