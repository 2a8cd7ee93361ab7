package e2e_test

import (
	"context"
	"fmt"
	"strings"
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
	mtu(t, a)
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

// mtu wants a small MTU, and what it costs, to be said before the policy is written.
func mtu(t *testing.T, a user) {
	t.Helper()
	const costs = "get an MTU of 1500, which costs RDMA"
	plan := func(more ...string) result {
		return a.does(t, append([]string{"setup", "cluster", "--sriov", "--dry-run=client"}, more...)...).silent(t)
	}
	if r := plan(); strings.Contains(r.err, costs) {
		t.Errorf("the physical function has an MTU of 9000:\n%s", r.err)
	}
	for _, name := range []string{"gpu-0", "gpu-1"} {
		state := get(t, openShift.Client(), sriovObject("SriovNetworkNodeState", name))
		before := state.DeepCopy()
		nics, _, _ := unstructured.NestedSlice(state.Object, "status", "interfaces")
		for _, n := range nics {
			if nic, _ := n.(map[string]any); nic["name"] == "eno8np0" {
				nic["mtu"] = int64(1500)
			}
		}
		set := func(ctx context.Context, from, to *unstructured.Unstructured) {
			if err := openShift.Client().Status().Patch(ctx, to.DeepCopy(), client.MergeFrom(from)); err != nil {
				t.Error(err)
			}
		}
		if err := unstructured.SetNestedSlice(state.Object, nics, "status", "interfaces"); err != nil {
			t.Fatal(err)
		}
		set(t.Context(), before, state)
		defer set(context.Background(), state, before)
	}
	plan().says(t, "The virtual functions of eno8np0 "+costs, "use --mtu 9000")
	plan("--mtu=9000").says(t, "The SR-IOV operator raises the MTU of eno8np0 to 9000")
}
