package setup

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// role is the label of a node's role.
func role(name string) string { return "node-role.kubernetes.io/" + name }

// node is a Ready node of some roles that runs the configuration of a pool.
func node(name, vendor, config string, roles ...string) cluster.Node {
	n := cluster.Node{
		Name: name, Ready: true, Arch: "amd64", Runtime: "cri-o://1.33.5",
		Labels:        map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/hostname": name},
		Allocatable:   cluster.Resources{"cpu": 128000},
		MachineConfig: cluster.NodeConfig{Current: config, Desired: config, State: "Done"},
	}
	for _, r := range roles {
		n.Labels[role(r)] = ""
	}
	if vendor != "" {
		n.Labels["feature.node.kubernetes.io/cpu-model.vendor_id"] = vendor
	}
	return n
}

// selectsRoles is the machineConfigSelector of a pool.
func selectsRoles(names ...string) cluster.Selector {
	if len(names) == 1 {
		return cluster.Selector{MatchLabels: map[string]string{plan.RoleLabel: names[0]}}
	}
	return cluster.Selector{
		MatchExpressions: []cluster.Requirement{{Key: plan.RoleLabel, Operator: "In", Values: names}},
	}
}

// config is a MachineConfig of a role.
func config(name, role string, files ...cluster.File) cluster.MachineConfig {
	return cluster.MachineConfig{Name: name, Labels: map[string]string{plan.RoleLabel: role}, Files: files}
}

// crio is a drop-in of CRI-O.
func crio(name, text string) cluster.File {
	return cluster.File{Path: plan.CRIODropIns + name, Content: text}
}

const crioDefault = "[crio.runtime]\nconmon_cgroup = \"pod\"\n"

// pool is a pool whose nodes all have its configuration.
func pool(name string, machines int, selects cluster.Selector, sources ...string) cluster.Pool {
	return cluster.Pool{
		Name:           name,
		NodeSelector:   map[string]string{role(name): ""},
		ConfigSelector: selects,
		Target:         "rendered-" + name + "-1",
		Current:        "rendered-" + name + "-1",
		TargetSources:  sources,
		CurrentSources: sources,
		Machines:       machines,
		Updated:        machines,
		Ready:          machines,
		Generation:     1,
		Observed:       1,
		Conditions: []cluster.Condition{
			{Type: "Updated", Status: "True"},
			{Type: "Updating", Status: "False"},
			{Type: "NodeDegraded", Status: "False"},
			{Type: "RenderDegraded", Status: "False"},
		},
	}
}

// openshift is a cluster of 3 masters and 13 workers, of which w12 and w13 have 8 GPUs; nothing of it is set up.
func openshift() cluster.State {
	s := cluster.State{
		Server: cluster.Server{
			Version: "v1.33.5",
			Minor:   33,
			Groups:  []string{"apps", cluster.SecurityGroup, cluster.MachineConfigGroup, cluster.SriovGroup},
		},
		Read: []cluster.Kind{
			cluster.Nodes, cluster.Pools, cluster.MachineConfigs, cluster.SCCs, cluster.SCCGrants,
			cluster.SriovPolicies, cluster.SriovNodes, cluster.Objects,
		},
		MachineConfigs: []cluster.MachineConfig{
			config("00-worker", "worker"),
			config("01-worker-container-runtime", "worker", crio("00-default", crioDefault)),
			config("00-master", "master"),
			config("01-master-container-runtime", "master", crio("00-default", crioDefault)),
			{Name: "rendered-worker-1", Rendered: true, Labels: map[string]string{}},
		},
		SCCs: []cluster.SCC{
			{
				Name:      "restricted-v2",
				RunAsUser: "MustRunAsRange",
				Volumes:   []string{"configMap", "downwardAPI", "emptyDir", "image"},
			},
			{Name: "privileged", Privileged: true, AllowedCapabilities: []string{"*"}, Volumes: []string{"*"}},
		},
	}
	s.Pools = []cluster.Pool{
		pool("master", 3, selectsRoles("master"), "00-master", "01-master-container-runtime"),
		pool("worker", 13, selectsRoles("worker"), "00-worker", "01-worker-container-runtime"),
	}
	for i := range 3 {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("m%d", i+1), "Intel", "rendered-master-1", "master"))
	}
	for i := range 13 {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("w%02d", i+1), "Intel", "rendered-worker-1", "worker"))
	}
	for _, name := range []string{"w12", "w13"} {
		nodeOf(&s, name).Allocatable["nvidia.com/gpu"] = 8
	}
	return s
}

// withGPUPool moves w12 and w13 to a custom pool gpu, which inherits the configuration of worker.
func withGPUPool(s cluster.State) cluster.State {
	s.Pools = append(s.Pools, pool("gpu", 2, selectsRoles("worker", "gpu"), "00-worker", "01-worker-container-runtime"))
	poolOf(&s, "worker").Machines, poolOf(&s, "worker").Updated, poolOf(&s, "worker").Ready = 11, 11, 11
	for _, name := range []string{"w12", "w13"} {
		n := nodeOf(&s, name)
		n.Labels[role("gpu")] = ""
		n.MachineConfig = cluster.NodeConfig{Current: "rendered-gpu-1", Desired: "rendered-gpu-1", State: "Done"}
	}
	return s
}

func nodeOf(s *cluster.State, name string) *cluster.Node {
	return &s.Nodes[slices.IndexFunc(s.Nodes, func(n cluster.Node) bool { return n.Name == name })]
}

func poolOf(s *cluster.State, name string) *cluster.Pool {
	return &s.Pools[slices.IndexFunc(s.Pools, func(p cluster.Pool) bool { return p.Name == name })]
}

// bringTo gives the first n workers a configuration.
func bringTo(s *cluster.State, n int, rendered string) {
	for i := range n {
		nodeOf(s, fmt.Sprintf("w%02d", i+1)).MachineConfig = cluster.NodeConfig{
			Current: rendered,
			Desired: rendered,
			State:   "Done",
		}
	}
}

// clone copies a state as far as the tests change it.
func clone(s cluster.State) cluster.State {
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		s.Nodes[i].Labels = maps.Clone(s.Nodes[i].Labels)
		s.Nodes[i].Allocatable = maps.Clone(s.Nodes[i].Allocatable)
	}
	s.Pools = slices.Clone(s.Pools)
	for i := range s.Pools {
		s.Pools[i].Annotations = maps.Clone(s.Pools[i].Annotations)
		s.Pools[i].Conditions = slices.Clone(s.Pools[i].Conditions)
	}
	s.MachineConfigs = slices.Clone(s.MachineConfigs)
	s.SCCs = slices.Clone(s.SCCs)
	s.SriovPolicies = slices.Clone(s.SriovPolicies)
	s.SriovNodes = slices.Clone(s.SriovNodes)
	s.Objects = slices.Clone(s.Objects)
	return s
}

// setCondition sets a condition of a pool.
func setCondition(p *cluster.Pool, kind, status, message string) {
	p.Conditions = slices.DeleteFunc(p.Conditions, func(c cluster.Condition) bool { return c.Type == kind })
	p.Conditions = append(p.Conditions, cluster.Condition{Type: kind, Status: status, Message: message})
}

// mustPlan is the plan of a cluster that nothing refuses.
func mustPlan(t *testing.T, s cluster.State, o Options) plan.Plan {
	t.Helper()
	p, findings := Cluster(s, o)
	if check.Worst(findings) == check.Fail {
		t.Fatalf("refused: %v", plantest.Lines(findings))
	}
	return p
}

// withNICs gives w12 and w13 a management NIC, an Ethernet NIC of another vendor and four rails of 400 Gb/s.
func withNICs(s cluster.State) cluster.State {
	for _, name := range []string{"w12", "w13"} {
		nodeOf(&s, name).GatewayMAC = "b8:3f:d2:00:00:01"
		nodeOf(&s, name).Labels[sriovCapable] = "true"
		state := cluster.SriovNode{
			Namespace:  "openshift-sriov-network-operator",
			Node:       name,
			SyncStatus: "Succeeded",
			Interfaces: []cluster.SriovInterface{
				{
					Name:      "eno1np0",
					PCI:       "0000:05:00.0",
					Vendor:    "15b3",
					DeviceID:  "101d",
					LinkSpeed: "25000 Mb/s",
					LinkType:  "ETH",
					LinkState: "up",
					MAC:       "B8:3F:D2:00:00:01",
					MTU:       1500,
					TotalVFs:  8,
				},
				{
					Name:      "ens3f0",
					PCI:       "0000:03:00.0",
					Vendor:    "8086",
					DeviceID:  "1592",
					LinkSpeed: "100000 Mb/s",
					LinkType:  "ETH",
					LinkState: "up",
					MTU:       1500,
					TotalVFs:  128,
				},
			},
		}
		for i := range 4 {
			state.Interfaces = append(state.Interfaces, cluster.SriovInterface{
				Name:      fmt.Sprintf("eno%dnp0", i+5),
				PCI:       fmt.Sprintf("0000:%d8:00.0", i+1),
				Vendor:    "15b3",
				DeviceID:  "1021",
				LinkSpeed: "400000 Mb/s",
				LinkType:  "ETH",
				LinkState: "up",
				MAC:       fmt.Sprintf("b8:3f:d2:00:01:%02x", i),
				MTU:       9000,
				TotalVFs:  16,
			})
		}
		s.SriovNodes = append(s.SriovNodes, state)
	}
	return s
}
