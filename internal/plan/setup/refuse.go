package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// noPool says that a pool is not there, and which are.
func noPool(s cluster.State, name string) check.Finding {
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return check.Finding{
		Check: PoolExists, Status: check.Fail, Subject: check.Named(check.Pool, name),
		Summary: fmt.Sprintf(
			"there is no machine config pool %s: the cluster has %s", name, cmp.Or(words.And(names), "none"),
		),
		Evidence: []check.Evidence{
			{Source: "machineconfigpools", Got: cmp.Or(strings.Join(names, ", "), "none"), Want: name},
		},
		Fix: &check.Fix{
			Text:     "Name a pool that exists.",
			Commands: []string{"oc get machineconfigpools", "railhead setup cluster --pool NAME"},
			Who:      check.Admin,
		},
	}
}

// stray says that nodes with RDMA NICs or GPUs are in no pool.
func stray(nodes []string) check.Finding {
	return check.Finding{
		Check: PoolNodes, Status: check.Warn, Subject: check.Ref{Kind: check.Nodes},
		Summary: fmt.Sprintf("%s in no machine config pool, or in two custom ones, and not set up", isAre(nodes)),
		Evidence: []check.Evidence{
			{Source: "nodes outside pools", Got: strings.Join(nodes, ", "), Want: "each selected by one pool"},
		},
		Fix: &check.Fix{
			Text:     "Let the labels of each node match one pool beside worker.",
			Commands: []string{"oc get machineconfigpools", "oc get nodes --show-labels"},
			Who:      check.Admin,
		},
	}
}

// noRole says that no label brings a MachineConfig to a pool without bringing it to others.
func noRole(p cluster.Pool) check.Finding {
	return check.Finding{
		Check: PoolRole, Status: check.Fail, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf(
			"no value of label %s brings a MachineConfig to pool %s and to no other", plan.RoleLabel, p.Name,
		),
		Evidence: []check.Evidence{{
			Source: "MachineConfigPool/" + p.Name + " spec.machineConfigSelector", Got: showSelector(p.ConfigSelector),
			Want: fmt.Sprintf("%s=%s", plan.RoleLabel, p.Name),
		}},
		Fix: &check.Fix{
			Text: "Let the pool select its own role, too.",
			Commands: []string{
				fmt.Sprintf(
					`oc patch machineconfigpool %s --type=merge -p '{"spec":{"machineConfigSelector":{"matchExpressions":[{"key":"%s","operator":"In","values":["worker","%s"]}]}}}'`,
					p.Name, plan.RoleLabel, p.Name,
				),
			},
			Who: check.Admin,
		},
	}
}

func showSelector(s cluster.Selector) string {
	var parts []string
	for key, value := range s.MatchLabels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	for _, e := range s.MatchExpressions {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", e.Key, e.Operator, strings.Join(e.Values, ", ")))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// configTaken says that a MachineConfig of the wanted name belongs to somebody else and is not sufficient.
func configTaken(p cluster.Pool, want, there cluster.MachineConfig) check.Finding {
	f := check.Finding{
		Check: plan.NameFree, Status: check.Fail, Subject: check.Named(check.MachineConfig, want.Name),
		Summary: fmt.Sprintf(
			"MachineConfig %s is there, was not made by Railhead, and does not do all that pool %s needs",
			want.Name, p.Name,
		),
		Evidence: []check.Evidence{
			{
				Source: "MachineConfig/" + want.Name + " label " + plan.LabelManagedBy,
				Got:    cmp.Or(there.Labels[plan.LabelManagedBy], "none"),
				Want:   plan.ManagedBy,
			},
		},
		Fix: &check.Fix{
			Text:     "Complete it by hand, or delete it so that Railhead makes its own; either reboots the pool's nodes. Or leave that setting alone with --no-memlock.",
			Commands: []string{"oc edit machineconfig " + want.Name, "oc delete machineconfig " + want.Name},
			Who:      check.Admin,
		},
	}
	if len(want.KernelArguments) > 0 {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "MachineConfig/" + want.Name + " spec.kernelArguments",
			Got:    cmp.Or(strings.Join(there.KernelArguments, " "), "none"),
			Want:   strings.Join(want.KernelArguments, " "),
		})
		f.Fix.Text = strings.ReplaceAll(f.Fix.Text, "--no-memlock", "--no-iommu")
	}
	return f
}

// unreadDropIn says that a file may hold limits that the new one does not keep.
func unreadDropIn(p cluster.Pool, f plan.DropIn) check.Finding {
	return check.Finding{
		Check: CRIODropIn, Status: check.Unknown, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf(
			"%s of MachineConfig %s could not be read: limits that it sets would be lost", f.Path, f.Config,
		),
		Evidence: []check.Evidence{
			{Source: "MachineConfig/" + f.Config + " " + f.Path, Got: f.Unread, Want: "TOML in a data: URL"},
		},
		Fix: &check.Fix{
			Text:     "Look whether it sets default_ulimits. If it does, add memlock there and use --no-memlock.",
			Commands: []string{"oc get machineconfig " + f.Config + " -o yaml"}, Who: check.Admin,
		},
	}
}

// judge refuses to write to a pool that is not in a state in which its rollout can be begun and followed.
func (b *setup) judge(p cluster.Pool, nodes []cluster.Node) {
	for _, f := range clusterrules.PoolBlockers(b.s, p, nodes) {
		b.say(f)
	}
	b.available(p, nodes)
}

// available warns of a pool in which the rollout finds nothing to do or no room to do it.
func (b *setup) available(p cluster.Pool, nodes []cluster.Node) {
	subject := check.Named(check.Pool, p.Name)
	if len(nodes) == 0 {
		b.say(check.Finding{
			Check: PoolNodes, Status: check.Warn, Subject: subject,
			Summary:  fmt.Sprintf("pool %s has no nodes: only nodes that come later are set up", p.Name),
			Evidence: []check.Evidence{{Source: "nodes of pool " + p.Name, Got: "0", Want: "1 or more"}},
		})
		return
	}
	var away []string
	for _, n := range nodes {
		if !n.Ready || n.Unschedulable {
			away = append(away, n.Name)
		}
	}
	if room := cluster.AtOnce(p.OwnMaxUnavailable(), len(nodes)); len(away) >= room {
		b.say(check.Finding{
			Check: PoolNodes, Status: check.Warn, Subject: subject,
			Summary: fmt.Sprintf(
				"the rollout of pool %s cannot begin: %s cordoned or not Ready, and %d may be away at once", p.Name,
				isAre(away), room,
			),
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
			Fix: &check.Fix{
				Text:     "Bring the nodes back, or let more be away at once.",
				Commands: []string{"oc adm uncordon " + away[0]},
				Who:      check.Admin,
			},
		})
	}
}

func isAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return words.And(names) + " are"
}
