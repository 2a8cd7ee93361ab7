package shape

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// summary lists a cluster's resources by node role, as "count role: resource=quantity ...".
func summary(c Cluster) []string {
	count := map[string]int{}
	for _, n := range c.Nodes {
		role := "node"
		for label := range n.Labels {
			if r, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && r != "control-plane" {
				role = r
			}
		}
		var devices []string
		for name, q := range n.Status.Allocatable {
			if strings.Contains(string(name), "/") {
				devices = append(devices, string(name)+"="+q.String())
			}
		}
		slices.Sort(devices)
		count[strings.TrimSpace(role+" "+strings.Join(devices, " "))]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		all = append(all, strings.Repeat("*", count[what])+" "+what)
	}
	return all
}

func TestClusters(t *testing.T) {
	const rails = "openshift.io/eno5np0rdma=1 openshift.io/eno6np0rdma=1 openshift.io/eno7np0rdma=1 " +
		"openshift.io/eno8np0rdma=1"
	for name, test := range map[string]struct {
		cluster Cluster
		want    []string
	}{
		"born":         {Born(), []string{"*** master", "*********** worker", "** worker nvidia.com/gpu=8 " + rails}},
		"scale":        {Scale(5), []string{"***** worker nvidia.com/gpu=8 " + rails}},
		"plain":        {Plain(4), []string{"**** node nvidia.com/gpu=8 nvidia.com/mlnxnics=8"}},
		"plain shared": {PlainShared(2), []string{"** node nvidia.com/gpu=8 rdma/rdma_shared_device_a=63"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, summary(test.cluster)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDistinct: nodes differ in what identifies them, and are the same each time.
func TestDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, n := range Scale(2000).Nodes {
		for _, id := range []string{n.Name, n.Status.NodeInfo.MachineID, n.Status.NodeInfo.BootID} {
			if other, ok := seen[id]; ok {
				t.Fatalf("%s and %s share %s", other, n.Name, id)
			}
			seen[id] = n.Name
		}
	}
	if diff := cmp.Diff(Born().Nodes, Born().Nodes,
		cmp.Comparer(func(a, b corev1.ResourceList) bool { return len(a) == len(b) })); diff != "" {
		t.Errorf("not the same each time:\n%s", diff)
	}
}
