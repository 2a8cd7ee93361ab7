package clusterrules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

func TestMissing(t *testing.T) {
	gpu := cluster.Resources{"nvidia.com/gpu": 8}
	both := cluster.Resources{"nvidia.com/gpu": 8, "rdma/a": 1, "rdma/b": 1}
	one := []cluster.Node{{Name: "a", Allocatable: both}}
	known := []cluster.Kind{cluster.Nodes, cluster.Networks, cluster.SCCs, cluster.SriovNodes}
	for name, c := range map[string]struct {
		s    cluster.State
		want map[check.ID]check.Status
		says []string
	}{
		"nothing": {
			s: cluster.State{
				Read:  known,
				Nodes: []cluster.Node{{Name: "a", Allocatable: both}, {Name: "b", Allocatable: both}},
			},
		},
		"a list is forbidden": {
			s: cluster.State{
				Read:     known,
				Problems: []cluster.Problem{{Kind: cluster.Nodes, Err: "nodes is forbidden", Forbidden: true}},
			},
			want: map[check.ID]check.Status{ClusterReadable: check.Unknown},
			says: []string{"kubectl auth can-i list nodes -A"},
		},
		"a GPU that no plugin offers": {
			s: cluster.State{
				Read:  known,
				Nodes: []cluster.Node{{Name: "a", Labels: map[string]string{"nvidia.com/gpu.present": "true"}}},
			},
			want: map[check.ID]check.Status{GPUNodes: check.Fail},
			says: []string{"none of 1 nodes", "node/a: label nvidia.com/gpu.present=true"},
		},
		"GPUs without rails, and DRA": {
			s: cluster.State{
				Read: known,
				Nodes: []cluster.Node{
					{Name: "a", Allocatable: gpu},
					{Name: "c", Allocatable: cluster.Resources{"rdma/a": 1}},
				},
				DRADevices: []cluster.DRADevice{{Driver: "dra.net", Node: "c", RDMA: true}},
			},
			want: map[check.ID]check.Status{RDMAResources: check.Fail},
			says: []string{"rdma/a: offered by c", "resourceslices of dra.net", "Let a device plugin offer the NICs"},
		},
		"policies that are not for RDMA": {
			s: cluster.State{
				Read: known, Nodes: []cluster.Node{{Name: "a", Allocatable: gpu}},
				SriovPolicies: []cluster.SriovPolicy{
					{Namespace: "sriov", Name: "eno5"}, {Namespace: "sriov", Name: "dpdk", DeviceType: "vfio-pci"},
				},
			},
			want: map[check.ID]check.Status{RDMAResources: check.Fail},
			says: []string{"isRdma: true in SriovNetworkNodePolicy eno5 if", "-n sriov get sriovnetworknodestate a"},
		},
		"policies that bring nothing": {
			s: cluster.State{
				Read: known, Nodes: []cluster.Node{{Name: "a", Allocatable: gpu}},
				SriovPolicies: []cluster.SriovPolicy{{Namespace: "sriov", Name: "eno5", RDMA: true}},
			},
			want: map[check.ID]check.Status{RDMAResources: check.Fail},
			says: []string{"SriovNetworkNodePolicy eno5 should bring"},
		},
		"GPUs with rails of DRA alone": {
			s: cluster.State{
				Read:       known,
				Nodes:      []cluster.Node{{Name: "a", Allocatable: gpu}},
				DRADevices: []cluster.DRADevice{{Driver: "dra.net", Node: "a", RDMA: true}},
			},
		},
		"GPUs of DRA alone": {
			s: cluster.State{
				Read:       known,
				Nodes:      []cluster.Node{{Name: "a"}},
				DRADevices: []cluster.DRADevice{{Driver: "gpu.nvidia.com", Node: "a", GPU: true}},
			},
		},
		"a node that lacks a rail": {
			s: cluster.State{
				Server: cluster.Server{Groups: []string{cluster.SriovGroup}},
				Read:   known,
				Nodes: []cluster.Node{
					{Name: "a", Allocatable: both},
					{Name: "b", Allocatable: cluster.Resources{"nvidia.com/gpu": 8, "rdma/a": 1}},
				},
			},
			want: map[check.ID]check.Status{RailsEven: check.Warn},
			says: []string{"1 of 2 nodes", "nodes b: rdma/a (want also rdma/b)", "Let b offer", "get sriovnetworknodestate b"},
		},
		"attachments with one wrong name in two namespaces": {
			s: cluster.State{Read: known, Nodes: one, Networks: []cluster.Network{
				{Namespace: "x", Name: "n", Type: "sriov", Resource: "rdma/c"},
				{Namespace: "y", Name: "n", Type: "sriov", Resource: "rdma/c"},
				{Namespace: "y", Name: "br", Type: "bridge"},
			}},
			want: map[check.ID]check.Status{NetworkResource: check.Fail},
			says: []string{"x/n, y/n: no node offers rdma/c", "Nodes offer rdma/a, rdma/b. Name one of them in x/n, y/n, or let the nodes offer rdma/c."},
		},
		"a node that the operator could not set up": {
			s: cluster.State{
				Read:          known,
				Nodes:         one,
				SriovPolicies: []cluster.SriovPolicy{{Name: "eno5"}, {Name: "b", NodeSelector: map[string]string{"x": "y"}}},
				SriovNodes: []cluster.SriovNode{
					{Namespace: "sriov", Node: "a", SyncStatus: "Failed", SyncError: "numVfs 9 is more than totalvfs 8"},
					{Node: "b", SyncStatus: "InProgress"},
				},
			},
			want: map[check.ID]check.Status{SriovNodeState: check.Fail},
			says: []string{"numVfs 9", "Correct the SriovNetworkNodePolicy eno5 by", "-n sriov logs"},
		},
		"no SCC with IPC_LOCK but privileged": {
			s: cluster.State{
				Read:   known,
				Server: cluster.Server{Groups: []string{cluster.SecurityGroup}},
				Nodes:  []cluster.Node{{Name: "a", Allocatable: both}},
				SCCs: []cluster.SCC{
					{Name: "restricted-v2"},
					{Name: "privileged", Privileged: true, AllowedCapabilities: []string{"*"}},
				},
			},
			want: map[check.ID]check.Status{SCCForRDMA: check.Warn}, says: []string{"none of 2 SCCs"},
		},
		"no SCC, but none is needed": {
			s: cluster.State{
				Read:   known,
				Server: cluster.Server{Groups: []string{cluster.SecurityGroup}},
				Nodes:  one,
				MachineConfigs: []cluster.MachineConfig{{Files: []cluster.File{{
					Path: "/etc/crio/crio.conf.d/99.conf", Content: `default_ulimits = ["memlock=-1:-1"]`,
				}}}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got map[check.ID]check.Status
			text := ""
			for _, f := range Missing(c.s) {
				if got == nil {
					got = map[check.ID]check.Status{}
				}
				got[f.Check] = f.Status
				text += f.Summary + "\n"
				for _, e := range f.Evidence {
					text += e.String() + "\n"
				}
				if f.Fix != nil {
					text += f.Fix.Text + strings.Join(f.Fix.Commands, "\n")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Missing (-want +got):\n%s", diff)
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
}
