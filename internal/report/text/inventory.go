package text

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// inventory makes tables.
type inventory struct{ clusterrules.Inventory }

// Inventory writes the tables of an inventory. Wide adds all nodes, the SR-IOV policies and the NICs.
func Inventory(w io.Writer, of clusterrules.Inventory, wide bool) error {
	inv := inventory{of}
	fmt.Fprintf(w, "%s  Kubernetes %s%s\n\n", inv.Server.URL, cmp.Or(inv.Server.Version, "-"), inv.platform())
	nodes := inv.nodes(wide)
	if err := nodes.Write(w); err != nil {
		return err
	}
	if n := len(inv.Nodes) - len(nodes.Rows); n > 0 {
		fmt.Fprintf(w, "and %s without GPU and RDMA\n", words.Count(n, "node"))
	}
	tables := []report.Table{inv.rails(wide), inv.pools(), inv.sccs()}
	if wide {
		tables = slices.Insert(tables, 2, inv.policies(), inv.sriovNodes())
	}
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// platform names the extensions of the cluster.
func (inv inventory) platform() string {
	var parts []string
	for _, g := range []struct{ group, name string }{
		{cluster.SecurityGroup, "OpenShift"},
		{cluster.SriovGroup, "SR-IOV operator"},
		{cluster.NvidiaGroup, "NVIDIA network operator"},
		{cluster.NetworkGroup, "multus"},
		{cluster.JobSetGroup, "JobSet"},
	} {
		if inv.Server.Serves(g.group) {
			parts = append(parts, g.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "  with " + strings.Join(parts, ", ")
}

// nodes lists the nodes with GPUs or RDMA, or all if wide.
func (inv inventory) nodes(wide bool) report.Table {
	t := report.Table{Columns: []string{"NODE", "ROLES", "STATE", "GPUS", "FREE", "TYPE", "RDMA"}}
	if wide {
		t.Columns = append(t.Columns, "ARCH", "KERNEL", "RUNTIME")
	}
	for _, n := range inv.Nodes {
		if !wide && n.GPUs == 0 && len(n.RDMA) == 0 {
			continue
		}
		gpus, left := "", ""
		if n.GPUs > 0 {
			gpus = fmt.Sprintf("%d %s", n.GPUs, n.GPUResource)
		}
		if n.GPUsFree != nil {
			left = fmt.Sprint(*n.GPUsFree)
		}
		row := []string{n.Name, strings.Join(n.Roles, ","), n.State, gpus, left, n.GPUType, resources(n.RDMA)}
		if wide {
			row = append(row, n.Arch, n.Kernel, n.Runtime)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// resources lists names with their counts, grouped by prefix: "openshift.io/ eno5np0rdma eno6np0rdma:4".
func resources(counted map[string]int64) string {
	var parts []string
	last := ""
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		prefix, base, _ := strings.Cut(name, "/")
		if prefix != last {
			parts = append(parts, prefix+"/")
			last = prefix
		}
		if n := counted[name]; n != 1 {
			base = fmt.Sprintf("%s:%d", base, n)
		}
		parts = append(parts, base)
	}
	return strings.Join(parts, " ")
}

func (inv inventory) rails(wide bool) report.Table {
	t := report.Table{Columns: []string{"NAMESPACE", "NETWORK ATTACHMENT", "TYPE", "RESOURCE", "NODES"}}
	for _, ns := range slices.Sorted(maps.Keys(inv.Rails)) {
		for _, r := range inv.Rails[ns] {
			nodes := words.Few(r.Nodes(), 6)
			switch {
			case !r.Usable():
				nodes = r.Reason
			case !wide:
				nodes = words.Count(len(r.Nodes()), "node")
			}
			t.Rows = append(t.Rows, []string{ns, r.Network, r.Type, r.Resource, nodes})
		}
	}
	return t
}

func (inv inventory) pools() report.Table {
	t := report.Table{Columns: []string{"POOL", "NODES", "UPDATED", "AT ONCE", "STATE"}}
	for _, p := range inv.Pools {
		t.Rows = append(t.Rows, []string{
			p.Name, fmt.Sprint(p.Machines), fmt.Sprint(p.Updated), p.MaxUnavailable, poolState(p),
		})
	}
	return t
}

func poolState(p cluster.Pool) string {
	for _, kind := range []string{"RenderDegraded", "NodeDegraded", "Degraded"} {
		if c := p.Condition(kind); c.Status == "True" {
			return kind + ": " + c.Message
		}
	}
	switch {
	case p.Paused:
		return "paused"
	case p.Condition("Updating").Status == "True":
		return "updating"
	case p.Condition("Updated").Status == "True":
		return "updated"
	}
	return "unknown"
}

func (inv inventory) policies() report.Table {
	t := report.Table{Columns: []string{"SR-IOV POLICY", "RESOURCE", "VFS", "PFS", "RDMA", "DEVICE TYPE"}}
	for _, p := range inv.Policies {
		t.Rows = append(t.Rows, []string{
			p.Name, p.ResourceName, fmt.Sprint(p.VFs), strings.Join(p.PFs, ","), fmt.Sprint(p.RDMA), p.DeviceType,
		})
	}
	return t
}

func (inv inventory) sriovNodes() report.Table {
	t := report.Table{Columns: []string{"SR-IOV NODE", "SYNC", "PF", "PCI", "LINK", "VFS", "NIC"}}
	for _, n := range inv.SriovNode {
		for _, i := range n.Interfaces {
			sync := strings.TrimSpace(n.SyncStatus + " " + n.SyncError)
			link := strings.TrimSpace(i.LinkType + " " + i.LinkSpeed)
			vfs := fmt.Sprintf("%d of %d", i.VFs, i.TotalVFs)
			t.Rows = append(t.Rows, []string{n.Node, sync, i.Name, i.PCI, link, vfs, i.Vendor + ":" + i.DeviceID})
		}
	}
	return t
}

func (inv inventory) sccs() report.Table {
	t := report.Table{Columns: []string{"SCC", "ALLOWS", "WHO MAY USE IT"}}
	for _, c := range inv.SCCs {
		var who []string
		for _, g := range c.Grants {
			name := g.Subject
			if g.Namespace != "" {
				name += " in " + g.Namespace
			}
			if !slices.Contains(who, name) {
				who = append(who, name)
			}
		}
		t.Rows = append(t.Rows, []string{c.Name, allows(c.SCC), words.Few(who, 3)})
	}
	return t
}

func allows(c cluster.SCC) string {
	parts := slices.Clone(c.AllowedCapabilities)
	if c.Privileged {
		parts = append(parts, "privileged")
	}
	if c.HostNetwork {
		parts = append(parts, "host network")
	}
	if c.RunAsUser == "RunAsAny" {
		parts = append(parts, "any user")
	}
	return strings.Join(parts, ", ")
}
