package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// namespaceKinds is what the plan of a namespace looks at.
var namespaceKinds = []cluster.Kind{
	cluster.Nodes, cluster.Namespaces, cluster.ServiceAccounts, cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies,
	cluster.SriovNodes, cluster.SCCs, cluster.SCCGrants, cluster.Objects,
}

func (a *app) newSetupNamespace() *cobra.Command {
	var o plan.NamespaceOptions
	var c consent
	cmd := &cobra.Command{
		Use:   "namespace NAMESPACE",
		Short: "Set a namespace up for RDMA jobs: service account, rights, network attachments",
		Long: `namespace makes the service account that the pods run under, binds it to the security context constraint in this namespace
alone, and makes a network attachment for each rail: by the SR-IOV operator where it is there, or as copies of those of
another namespace. It says which rails the namespace then has. A second run has nothing to do.`,
		Example: `  railhead setup namespace train
  railhead setup namespace train --name h-kim                 for the job h-kim: service account h-kim-sa
  railhead setup namespace train --networks-from default      copies of the attachments of namespace default
  railhead setup namespace train --scc nccl-scc -o yaml       an SCC that is there already; the objects for GitOps`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Namespace = args[0]
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: namespaceKinds})
			if err != nil {
				return err
			}
			p, findings := plan.Namespace(s, o)
			if err := a.refuse(findings); err != nil {
				return err
			}
			return a.carry(cmd.Context(), client, p, c, waitFor{back: "railhead inventory -n " + o.Namespace})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "job for which the namespace is set up; its service account is NAME-sa (default railhead, which all jobs may use)")
	f.StringVar(&o.SCC, "scc", "", "security context constraint that the pods are admitted by (default railhead-rdma)")
	f.StringVar(&o.NetworksFrom, "networks-from", "", "copy the network attachments of this namespace")
	f.StringSliceVar(&o.Networks, "network", nil, "only this rail, by the name of its attachment or resource; may be given several times")
	f.StringVar(&o.IPAM, "ipam", "", "address management of new attachments, as JSON (default that of the same resource in another namespace)")
	f.BoolVar(&o.AllowIPCLock, "allow-ipc-lock", false, "Kubernetes without SCCs: let pods of a new namespace add IPC_LOCK and be root")
	c.flags(cmd, 5*time.Minute)
	return cmd
}
