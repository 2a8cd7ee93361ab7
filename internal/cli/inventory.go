package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/examine"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// inventory is the output of the command.
type inventory struct {
	Server    cluster.Server            `json:"server"`
	Nodes     []inventoryNode           `json:"nodes"`
	RDMA      []cluster.Offer           `json:"rdma"`
	DRA       []cluster.DRAOffer        `json:"dra,omitempty"`
	Rails     map[string][]cluster.Rail `json:"rails,omitempty"` // by namespace
	Pools     []cluster.Pool            `json:"pools,omitempty"`
	Policies  []cluster.SriovPolicy     `json:"sriovPolicies,omitempty"`
	SriovNode []cluster.SriovNode       `json:"sriovNodes,omitempty"`
	SCCs      []inventorySCC            `json:"sccs,omitempty"`
	Findings  []check.Finding           `json:"findings,omitempty"`
}

type inventoryNode struct {
	Name        string           `json:"name"`
	Roles       []string         `json:"roles,omitempty"`
	State       string           `json:"state"`
	GPUResource string           `json:"gpuResource,omitempty"`
	GPUs        int64            `json:"gpus,omitempty"`
	GPUsFree    *int64           `json:"gpusFree,omitempty"` // absent if the pods are unknown
	GPUType     string           `json:"gpuType,omitempty"`
	RDMA        map[string]int64 `json:"rdma,omitempty"`
	Arch        string           `json:"arch"`
	Kernel      string           `json:"kernel,omitempty"`
	Runtime     string           `json:"runtime,omitempty"`
}

// inventorySCC is a security context constraint that RDMA pods may need, and who may use it.
type inventorySCC struct {
	cluster.SCC
	Grants []cluster.SCCGrant `json:"grants,omitempty"`
}

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
			inv := inventoryOf(s)
			err = a.print(format, inv, func(out io.Writer, wide bool) error {
				err := inv.write(out, wide)
				report.Findings(a.Err, inv.Findings, report.Brief)
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
	want := kube.Want{Kinds: examine.ClusterKinds()}
	if _, explicit, _ := a.flags.Namespace(); explicit {
		want.Namespace, want.Everywhere = ns, []cluster.Kind{cluster.Pods, cluster.ResourceClaims}
	}
	return client.Read(ctx, want)
}

// verdict returns an error with the exit code of findings.
func verdict(findings []check.Finding) error {
	unknown := slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Status == check.Unknown })
	switch {
	case check.Worst(findings) == check.Fail:
		return exit.Error{Code: exit.Fault}
	case unknown:
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}

func inventoryOf(s cluster.State) inventory {
	inv := inventory{
		Server:    s.Server,
		Nodes:     []inventoryNode{},
		RDMA:      s.RDMAOffers(),
		DRA:       s.DRAOffers(),
		Rails:     map[string][]cluster.Rail{},
		Pools:     s.Pools,
		Policies:  s.SriovPolicies,
		SriovNode: s.SriovNodes,
		Findings:  clusterrules.Missing(s),
	}
	free, offers := s.Free(), inv.RDMA
	for _, r := range s.ClaimRails() {
		offers = append(offers, cluster.Offer{Resource: r.Driver + "/" + r.Network, PerNode: r.PerNode})
	}
	for _, n := range s.Nodes {
		inv.Nodes = append(inv.Nodes, inventoryNodeOf(s, n, offers, free[n.Name]))
	}
	for _, n := range s.Networks {
		if _, seen := inv.Rails[n.Namespace]; !seen {
			inv.Rails[n.Namespace] = s.Rails(n.Namespace)
		}
	}
	for _, c := range s.SCCs {
		if c.AllowsCapability("IPC_LOCK") || c.Name == "railhead-rdma" {
			others := func(g cluster.SCCGrant) bool { return g.SCC != c.Name && g.SCC != "*" }
			inv.SCCs = append(inv.SCCs, inventorySCC{c, slices.DeleteFunc(slices.Clone(s.SCCGrants), others)})
		}
	}
	return inv
}

func inventoryNodeOf(s cluster.State, n cluster.Node, offers []cluster.Offer, free cluster.Resources) inventoryNode {
	i := inventoryNode{
		Name:    n.Name,
		Roles:   n.Roles(),
		State:   "Ready",
		GPUType: n.GPUType(),
		RDMA:    map[string]int64{},
		Arch:    n.Arch,
		Kernel:  n.Kernel,
		Runtime: n.Runtime,
	}
	if why, ok := n.Schedulable(); !ok {
		i.State = why
	}
	i.GPUResource, i.GPUs = n.GPUs()
	for _, count := range s.GPUsByRoot(n.Name) {
		i.GPUResource, i.GPUs = cluster.DRAGPU, i.GPUs+int64(count)
	}
	if i.GPUResource != "" && i.GPUResource != cluster.DRAGPU && s.Knows(cluster.Pods) {
		left := free[i.GPUResource]
		i.GPUsFree = &left
	}
	for _, o := range offers {
		if count := o.PerNode[n.Name]; count > 0 {
			i.RDMA[o.Resource] = count
		}
	}
	return i
}

func (inv inventory) write(w io.Writer, wide bool) error {
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
