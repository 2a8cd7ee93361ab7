package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// iommu plans the kernel arguments of a pool.
func (b *setup) iommu(p cluster.Pool) {
	selected := plan.SelectedConfigs(p, b.configs)
	for _, m := range selected {
		b.contradiction(p, m)
	}
	arguments, unknown := passthrough(b.s.NodesOf(p.Name))
	missing := lacking(kernelArguments(selected), arguments)
	if len(missing) == 0 {
		return
	}
	if len(unknown) > 0 && slices.Contains(missing, "intel_iommu=on") {
		b.note(
			"The CPU vendor of %s in pool %s is not known (no label feature.node.kubernetes.io/cpu-model.vendor_id): intel_iommu=on is set, which other CPUs ignore.",
			words.Count(len(unknown), "node"), p.Name,
		)
	}
	m := cluster.MachineConfig{Name: iommuName(p.Name), KernelArguments: missing}
	if own, ok := b.config(m.Name); ok {
		m.KernelArguments = append(slices.Clone(own.KernelArguments), missing...)
	}
	b.write(
		p, m,
		"boots the nodes with "+strings.Join(
			missing, " ",
		)+", so that the IOMMU does not translate the NICs' access to GPU memory",
	)
}

// contradiction warns of a kernel argument that undoes passthrough.
func (b *setup) contradiction(p cluster.Pool, m cluster.MachineConfig) {
	for _, a := range m.KernelArguments {
		if slices.Contains(translating, a) {
			b.say(check.Finding{
				Check: KernelArguments, Status: check.Warn, Subject: check.Named(check.Pool, p.Name),
				Summary: fmt.Sprintf(
					"MachineConfig %s boots the nodes of pool %s with %s, which contradicts passthrough", m.Name,
					p.Name, a,
				),
				Evidence: []check.Evidence{
					{Source: "MachineConfig/" + m.Name + " spec.kernelArguments", Got: a, Want: "not there"},
				},
				Fix: &check.Fix{
					Text:     "Take the argument out of that MachineConfig; its nodes reboot.",
					Commands: []string{"oc edit machineconfig " + m.Name}, Who: check.Admin,
				},
			})
		}
	}
}

// memlock plans the locked-memory limit of a pool: a drop-in that CRI-O reads last and that keeps the limits which are
// there.
func (b *setup) memlock(p cluster.Pool) {
	name := plan.MemlockConfig(p.Name)
	selected := plan.SelectedConfigs(p, b.configs)
	all, before := plan.UlimitsOf(plan.CRIOFiles(selected)), plan.UlimitsOf(plan.CRIOFiles(without(selected, name)))
	for _, f := range before.Unread {
		b.say(unreadDropIn(p, f))
	}
	keep := before.Others()
	if all.MemlockUnlimited() && all.Holds(keep) {
		return
	}
	f := memlockFile(keep, before.Last)
	if len(keep) > 0 {
		b.note("%s keeps %s of %s (MachineConfig %s): CRI-O takes the list of the last file only.",
			name, strings.Join(keep, ", "), before.From.Path, before.From.Config)
	}
	if f.Path != plan.CRIODropIns+"99-rdma-memlock.conf" {
		b.note("%s writes %s, because CRI-O reads %s after 99-rdma-memlock.conf.", name, f.Path, before.Last)
	}
	b.write(p, cluster.MachineConfig{
		Name:  name,
		Files: []cluster.File{f},
	}, "lets containers lock all memory that they register, without privileges")
}

// config returns a MachineConfig by its name.
func (b *setup) config(name string) (cluster.MachineConfig, bool) {
	i := slices.IndexFunc(b.configs, func(m cluster.MachineConfig) bool { return m.Name == name })
	if i < 0 {
		return cluster.MachineConfig{}, false
	}
	return b.configs[i], true
}

// write plans one MachineConfig, unless its name is somebody else's or no label brings it to the pool alone.
func (b *setup) write(p cluster.Pool, m cluster.MachineConfig, why string) {
	there, replaces := b.config(m.Name)
	if replaces && !madeBySetup(there.Labels) {
		b.say(configTaken(p, m, there))
		return
	}
	role, ok := roleFor(p, b.s.Pools)
	if !ok {
		b.say(noRole(p))
		return
	}
	m.Labels = map[string]string{
		plan.RoleLabel:      role,
		plan.LabelManagedBy: plan.ManagedBy,
		plan.LabelName:      plan.ProgramName,
		plan.LabelComponent: ComponentSetup,
	}
	b.configs = with(b.configs, m)
	b.writes = append(b.writes, configWrite{MachineConfig: m, Why: why, Replaces: replaces})
}

// roleFor is the value of the role label that brings a MachineConfig to a pool: its own name, or else a value that its
// selector names and no other pool's does.
func roleFor(p cluster.Pool, pools []cluster.Pool) (string, bool) {
	values := []string{p.Name, p.ConfigSelector.MatchLabels[plan.RoleLabel]}
	for _, e := range p.ConfigSelector.MatchExpressions {
		if e.Key == plan.RoleLabel && e.Operator == "In" {
			values = append(values, e.Values...)
		}
	}
	for _, value := range values {
		labels := map[string]string{plan.RoleLabel: value}
		takes := func(q cluster.Pool) bool {
			return cluster.Selects(q.ConfigSelector.MatchLabels, q.ConfigSelector.MatchExpressions, labels)
		}
		others := slices.ContainsFunc(pools, func(q cluster.Pool) bool { return q.Name != p.Name && takes(q) })
		if value != "" && takes(p) && (!others || value == p.Name) {
			return value, true
		}
	}
	return "", false
}
