package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

func noPool(s cluster.State, name string) check.Finding {
	var names []string
	for _, p := range poolsByName(s) {
		names = append(names, p.Name)
	}
	return plan.Failure(PoolExists, check.Named(check.Pool, name),
		fmt.Sprintf("there is no machine config pool %s: the cluster has %s",
			name, cmp.Or(words.And(names), "none")),
		check.Observed("machineconfigpools", plan.OrNone(names), name),
		check.ByAdmin("Name an existing pool.",
			"oc get machineconfigpools", "railhead setup cluster --pool NAME"))
}

// strayNodes reports nodes with RDMA NICs or GPUs that belong to no pool.
func strayNodes(nodes []string) check.Finding {
	return check.Finding{
		Check: PoolNodes, Status: check.Warn, Subject: check.Ref{Kind: check.Nodes},
		Summary: fmt.Sprintf("%s in no machine config pool, or in two custom ones, and will not be set up",
			namesAre(nodes)),
		Evidence: check.Observed("nodes outside pools", strings.Join(nodes, ", "), "each in one pool"),
		Fix: check.ByAdmin("Change the labels so that at most one custom pool selects each node.",
			"oc get machineconfigpools", "oc get nodes --show-labels"),
	}
}

// noRole reports that no label makes a MachineConfig apply to a pool alone.
func noRole(p cluster.Pool) check.Finding {
	patch := fmt.Sprintf(`{"spec":{"machineConfigSelector":{"matchExpressions":[`+
		`{"key":"%s","operator":"In","values":["worker","%s"]}]}}}`, plan.RoleLabel, p.Name)
	return plan.Failure(PoolRole, check.Named(check.Pool, p.Name),
		fmt.Sprintf("no value of label %s makes a MachineConfig apply to pool %s only",
			plan.RoleLabel, p.Name),
		check.Observed("MachineConfigPool/"+p.Name+" spec.machineConfigSelector",
			selectorText(p.ConfigSelector), plan.RoleLabel+"="+p.Name),
		check.ByAdmin("Make the pool select its own role as well.",
			fmt.Sprintf("oc patch machineconfigpool %s --type=merge -p '%s'", p.Name, patch)))
}

func selectorText(s cluster.Selector) string {
	var parts []string
	for key, value := range s.MatchLabels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	for _, e := range s.MatchExpressions {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", e.Key, e.Operator, strings.Join(e.Values, ", ")))
	}
	return plan.OrNone(parts)
}

// contradiction reports a kernel argument that undoes passthrough.
func contradiction(p cluster.Pool, m cluster.MachineConfig, argument string) check.Finding {
	return check.Finding{
		Check: KernelArguments, Status: check.Warn, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf("MachineConfig %s boots the nodes of pool %s with %s, which contradicts IOMMU passthrough",
			m.Name, p.Name, argument),
		Evidence: check.Observed("MachineConfig/"+m.Name+" spec.kernelArguments", argument, "without "+argument),
		Fix: check.ByAdmin("Remove the argument from that MachineConfig; its nodes reboot.",
			"oc edit machineconfig "+m.Name),
	}
}

// unreadDropIn reports a file that may hold limits, which the new file would not keep.
func unreadDropIn(p cluster.Pool, f plan.DropIn) check.Finding {
	return check.Finding{
		Check: CRIODropIn, Status: check.Unknown, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf("%s of MachineConfig %s could not be read: limits that it sets would be lost",
			f.Path, f.Config),
		Evidence: check.Observed("MachineConfig/"+f.Config+" "+f.Path, f.Unread, "TOML in a data: URL"),
		Fix: check.ByAdmin("Check whether it sets default_ulimits. If it does, add memlock there and use --no-memlock.",
			"oc get machineconfig "+f.Config+" -o yaml"),
	}
}

// availability warns of a pool without nodes, or without a node that may become unavailable.
func availability(p cluster.Pool, nodes []cluster.Node) []check.Finding {
	subject := check.Named(check.Pool, p.Name)
	if len(nodes) == 0 {
		return []check.Finding{{
			Check: PoolNodes, Status: check.Warn, Subject: subject,
			Summary:  fmt.Sprintf("pool %s has no nodes: only nodes that join later will be set up", p.Name),
			Evidence: check.Observed("nodes of pool "+p.Name, "0", "1 or more"),
		}}
	}
	var away []string
	for _, n := range nodes {
		if !n.Ready || n.Unschedulable {
			away = append(away, n.Name)
		}
	}
	room := cluster.AtOnce(p.OwnMaxUnavailable(), len(nodes))
	if len(away) < room {
		return nil
	}
	return []check.Finding{{
		Check: PoolNodes, Status: check.Warn, Subject: subject,
		Summary: fmt.Sprintf("the rollout of pool %s cannot start: "+
			"%s cordoned or not Ready, and at most %d may be unavailable", p.Name, namesAre(away), room),
		Evidence: []check.Evidence{
			{
				Source: "nodes cordoned or not Ready",
				Got:    strings.Join(away, ", "),
				Want:   fmt.Sprintf("fewer than %d", room),
			},
			{
				Source: "MachineConfigPool/" + p.Name + " spec.maxUnavailable",
				Got:    cmp.Or(p.OwnMaxUnavailable(), "1"),
			},
		},
		Fix: check.ByAdmin("Uncordon or repair the nodes, or raise maxUnavailable.", "oc adm uncordon "+away[0]),
	}}
}

// namesAre returns "a is", or "a and b are".
func namesAre(names []string) string { return words.And(names) + " " + isAre(len(names)) }
