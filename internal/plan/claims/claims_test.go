package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func ports(node string, names ...string) []cluster.DRADevice {
	var devices []cluster.DRADevice
	for _, name := range names {
		devices = append(devices, cluster.DRADevice{
			Driver: cluster.DRANet, Pool: node, Node: node, Name: name, RDMA: true,
			Attribute: map[string]string{"dra.net/ifName": name},
		})
	}
	return devices
}

// TestBestRails: all pods get the same rails.
func TestBestRails(t *testing.T) {
	devices := ports("big", "eth1", "eth2", "eth3", "eth4")
	for _, node := range []string{"a", "b", "c", "d", "e"} {
		devices = append(devices, ports(node, "eth1", "eth2")...)
	}
	devices = append(devices, ports("other", "ens1", "ens2")...)
	offered := cluster.State{DRADevices: devices}.ClaimRails()
	all := []string{"big", "a", "b", "c", "d", "e", "other"}
	for name, test := range map[string]struct {
		nodes []string
		need  int
		want  []string
	}{
		"one node has most":       {all, 1, []string{"eth1", "eth2", "eth3", "eth4"}},
		"two nodes":               {all, 2, []string{"eth1", "eth2"}},
		"as many as possible":     {all, 0, []string{"eth1", "eth2"}},
		"more than there are":     {all, 9, []string{"eth1", "eth2"}},
		"nodes with other names":  {[]string{"other"}, 1, []string{"ens1", "ens2"}},
		"no node with any device": {[]string{"cpu"}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, cluster.RailNames(bestRails(offered, test.nodes, test.need))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
