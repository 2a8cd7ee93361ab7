package e2e_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/shape"
)

// TestSriov: a NIC that has no policy gets one, and its virtual functions become a resource of the nodes.
func TestSriov(t *testing.T) {
	const resource, policy = "openshift.io/eno8np0rdma", "railhead-eno8np0"
	setUp(t)
	a, c := admin(t, openShift), openShift.Client()
	offers := func(t *testing.T, want int64) {
		t.Helper()
		eventually(t, fmt.Sprintf("gpu-1 offers %d", want), func() error {
			node := get(t, c, &corev1.Node{ObjectMeta: meta("", "gpu-1")})
			if n := node.Status.Allocatable[resource]; n.Value() != want {
				return fmt.Errorf("it offers %s", n.String())
			}
			return nil
		})
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), sriovObject("SriovNetworkNodePolicy", policy))); err != nil {
			t.Error(err)
		}
		if err := shape.Born().Create(context.Background(), c); err != nil {
			t.Error(err)
		}
	})
	a.does(t, "setup", "cluster", "--sriov", "--yes").silent(t).says(t, "Nothing to do")
	if err := c.Delete(t.Context(), sriovObject("SriovNetworkNodePolicy", "eno8np0")); err != nil {
		t.Fatal(err)
	}
	offers(t, 0)
	a.ends(t, 1, "inventory", "-n", "default").prints(t, "0 of "+resource+" on gpu-0, gpu-1")
	r := a.does(t, "setup", "cluster", "--sriov", "--vfs=4", "--yes").silent(t)
	r.says(t, "created SriovNetworkNodePolicy "+policy, "makes 4 virtual functions of eno8np0 on 2 nodes", "REBOOTS 2 nodes of pool worker, once each, 1 at a time: gpu-0, gpu-1",
		"2 of 2 nodes offer the new resources")
	offers(t, 4)
	made := get(t, c, sriovObject("SriovNetworkNodePolicy", policy))
	rdma, _, _ := unstructured.NestedBool(made.Object, "spec", "isRdma")
	if device, _, _ := unstructured.NestedString(made.Object, "spec", "deviceType"); !rdma || device != "netdevice" {
		t.Errorf("policy %v", made.Object["spec"])
	}
	a.does(t, "setup", "cluster", "--sriov", "--vfs=4", "--yes").silent(t).says(t, "Nothing to do")
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "deleted SriovNetworkNodePolicy "+policy, "2 of 2 nodes no longer offer the old resources",
		"deleted SecurityContextConstraints railhead-rdma")
	offers(t, 0)
}
