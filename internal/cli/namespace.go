package cli

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/namespace"
)

// namespaceKinds has everything that the plan of a namespace needs.
var namespaceKinds = append(cluster.ClaimKinds(),
	cluster.Nodes, cluster.Namespaces, cluster.ServiceAccounts,
	cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes, cluster.NicPolicies,
	cluster.SCCs, cluster.SCCGrants, cluster.Objects, cluster.NvidiaObjects, cluster.ConfigMaps,
)

func newSetupNamespace(a *app) *cobra.Command {
	var o namespace.Options
	var flags applyFlags
	var binaries map[string]string
	var subnets []string
	cmd := &cobra.Command{
		Use:   "namespace NAMESPACE",
		Short: "Set up a namespace for RDMA jobs: service account, rights, network attachments, railhead-pod",
		Long: `setup namespace creates the service account of the pods, binds it to the security context
constraint in this namespace only, and creates a network attachment for each rail: through the SR-IOV operator or
NVIDIA's network operator if the cluster has one, or by copying those of another namespace. Where a DRA driver offers
the NICs instead, jobs claim their rails, and it creates the driver's device class if there is none. It also stores
railhead-pod in ConfigMaps, so that the manifests of 'deploy -o yaml' and 'inject' only name it. It prints the rails of
the namespace. A second run changes nothing.

With --users it creates the role railhead-users in the namespace and a cluster role of the same name, with exactly the
rights that inventory -n, deploy, inject, launch, status, logs, doctor, bench, restart and delete need, and binds groups
and users to them. The roles do not allow reading secrets. To take back the rights in the namespace, delete its role
binding: kubectl delete rolebinding railhead-users -n NAMESPACE. The cluster role binding of the same name is for the
users of all namespaces; it only lets them read.`,
		Example: `  railhead setup namespace train
  railhead setup namespace train --name h-kim                 for the job h-kim: service account h-kim-sa
  railhead setup namespace train --rail-subnets 10.9.0.0/16   a quarter for each of four rails
  railhead setup namespace train --networks-from default      copies of the attachments of namespace default
  railhead setup namespace train --users ml-team              also let a group run jobs; user:h-kim for one user
  railhead setup namespace train --scc nccl-scc -o yaml       use an existing SCC; print the objects for GitOps`,
		Args: takes(1, "NAMESPACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Namespace = args[0]
			var err error
			if o.RailSubnets, err = prefixes(subnets); err != nil {
				return usage(err)
			}
			if err := o.CheckAddresses(); err != nil {
				return usage(err)
			}
			o.Programs, err = programs(binaries)
			if err != nil && len(binaries) > 0 { // a railhead without railhead-pod leaves it to the jobs
				return wrongInput(err)
			}
			kinds := namespaceKinds
			if len(o.Users) > 0 {
				kinds = append(slices.Clone(kinds), cluster.UserBindings)
			}
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: kinds, Setup: true})
			if err != nil {
				return err
			}
			p, findings := namespace.Setup(s, o)
			return applier{
				app: a, client: client, flags: flags, want: setupRights, resume: "railhead inventory -n " + o.Namespace,
			}.apply(cmd.Context(), p, findings)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "",
		"`job` to set up the namespace for; its service account is NAME-sa (default: railhead, for all jobs)")
	f.StringVar(&o.SCC, "scc", "", "`name` of the pods' security context constraint (default: railhead-rdma)")
	f.StringVar(&o.NetworksFrom, "networks-from", "", "copy the network attachments of this `namespace`")
	f.StringSliceVar(&o.Networks, "network", nil, "use only this rail: an `attachment` or a resource; repeatable")
	f.StringSliceVar(&subnets, "rail-subnets", nil,
		"IPv4 or IPv6 `subnet` of each rail, in the order of their resources, or one to divide; "+
			"whereabouts assigns the addresses")
	f.StringVar(&o.IPAM, "ipam", "",
		"IPAM of all new attachments as `JSON` (default: that of the same resource in another namespace)")
	f.StringSliceVar(&o.Users, "users", nil, "`group` that runs jobs in the namespace, or user:NAME; repeatable")
	f.BoolVar(&o.AllowIPCLock, "allow-ipc-lock", false,
		"without SCCs: let the pods of a new namespace add IPC_LOCK and run as root")
	binaryFlag(cmd, &binaries, "")
	flags.add(cmd, 5*time.Minute)
	return cmd
}

func newRollbackNamespace(a *app) *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "namespace NAMESPACE",
		Short: "Delete what setup namespace created, once no job uses it",
		Long: `setup rollback namespace deletes the network attachments with the objects and address pools from
which an operator makes them, the service account, its rights, those of --users, and railhead-pod, all of this
namespace. It refuses while jobs or pods use them. The namespace stays, with its label for the webhook, and so does what
others may use; the plan says what.`,
		Example: `  railhead setup rollback namespace train
  railhead setup rollback namespace train --dry-run=client`,
		Args: takes(1, "NAMESPACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: namespace.UndoKinds(), Detail: true, Setup: true})
			if err != nil {
				return err
			}
			p, findings := namespace.Undo(s, args[0])
			return applier{
				app: a, client: client, flags: flags, want: setupRights, resume: "railhead inventory -n " + args[0],
			}.apply(cmd.Context(), p, findings)
		},
	}
	flags.add(cmd, 5*time.Minute)
	return cmd
}

func prefixes(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--rail-subnets: %w", err)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}
