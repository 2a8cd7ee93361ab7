package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// draSlice is dranet's ResourceSlice of a node with two RDMA ports and the port of the node's own network. It stands in
// for the driver: the control plane has no nodes on which one could run.
func draSlice(node string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: meta("", node+"-dra.net")}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver:   "dra.net",
		NodeName: &node,
		Pool:     resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
	}
	for _, port := range []string{"eth1", "eth2", "eth0"} {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: port,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"dra.net/ifName": {StringValue: new(port)},
				"dra.net/rdma":   {BoolValue: new(port != "eth0")},
			},
		})
	}
	return slice
}

// TestClaims: where DRA alone offers the NICs, deploy claims them, the real scheduler allocates the same ones to every
// pod, and doctor explains a claim that cannot be met.
func TestClaims(t *testing.T) {
	const ns = "claimed"
	p := plain(t, shape.Plain(2))
	create(t, p.Client(), draSlice("node-0"), draSlice("node-1"))
	a := admin(t, p)
	a.does(t, "inventory").prints(t, "dra.net/ eth1 eth2")
	a.does(t, "setup", "namespace", ns, "--yes").silent(t).says(t,
		"Namespace claimed needs no attachments: jobs claim their rails from the DRA driver dra.net (eth1, eth2)",
		"created DeviceClass dra.net")
	a.does(t, "setup", "namespace", ns, "--yes").silent(t).says(t, "Nothing to do")
	job := deploy("h-kim", ns, "--memlock=node")
	a.does(t, job...).silent(t).says(t, "RDMA over 2 rails",
		"The pods claim their rails from the DRA driver dra.net, because namespace claimed has no network attachment: eth1, eth2",
		"created ResourceClaimTemplate h-kim-rails-", "h-kim: 2 of 2 pods ready")
	nodes := allocated(t, p, ns)
	for _, pod := range podsOf(t, p, ns, "h-kim") {
		if got := nodes[pod.Name]; got != pod.Spec.NodeName+" [eth1 eth2]" {
			t.Errorf("%s on %s was given %s", pod.Name, pod.Spec.NodeName, got)
		}
		if networks, has := pod.Annotations["k8s.v1.cni.cncf.io/networks"]; has {
			t.Errorf("%s is attached to %s", pod.Name, networks)
		}
	}
	a.does(t, job...).silent(t).says(t, "Nothing to do")
	a.ends(t, 1, deploy("late", ns, "--memlock=node", "--gpus=0")...).silent(t).says(t,
		"all RDMA devices of rail eth1 are claimed")
	a.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t).says(t, "deleted ResourceClaimTemplate h-kim-rails-")
	a.does(t, "delete", "h-kim", "-n", ns, "--yes", "--ignore-not-found").silent(t).says(t, `there is no job "h-kim"`)
	t.Run("inject", func(t *testing.T) { injectedClaim(t, p, a, ns) })
	t.Run("GPUs on the PCIe root of their rail", func(t *testing.T) { alignedClaims(t, p, a, ns) })
	t.Run("a selector that nothing meets", func(t *testing.T) { unmetClaim(t, p, a, ns) })
}

// injectedClaim: the pods of a user's own manifest claim the rails.
func injectedClaim(t *testing.T, p *controlplane.ControlPlane, a user, ns string) {
	a.stdin = manifests(ns)["Pod"]
	injected := a.does(t, "inject", "-f", "-", "--claims", "--memlock=node", "--pod-binary=amd64="+podBinary)
	run := kubectlProgram(t, a)
	run(injected.out, "apply", "-f", "-")
	eventually(t, "the pod runs", func() error {
		phase := get(t, p.Client(), &corev1.Pod{ObjectMeta: meta(ns, "mine")}).Status.Phase
		return unless(phase == corev1.PodRunning, string(phase))
	})
	if got := allocated(t, p, ns)["mine"]; !strings.HasSuffix(got, " [eth1 eth2]") {
		t.Errorf("it was given %s", got)
	}
	a.does(t, "status", "pod/mine", "-n", ns).prints(t, "Running")
	run("", "-n", ns, "delete", "pod/mine")
	claimsGone(t, p, ns)
}

// claimsGone waits until the claims are deleted, which is after they lost their devices.
func claimsGone(t *testing.T, p *controlplane.ControlPlane, ns string) {
	t.Helper()
	eventually(t, "the claims are gone", func() error {
		left := claimsOf(t, p, ns)
		return unless(len(left) == 0, fmt.Sprintf("%d claims", len(left)))
	})
}

// alignedClaims: where DRA offers the GPUs, too, the real scheduler allocates each rail with a GPU of its PCIe root.
func alignedClaims(t *testing.T, p *controlplane.ControlPlane, a user, ns string) {
	c := p.Client()
	const root = resourcev1.QualifiedName("resource.kubernetes.io/pcieRoot")
	class := &resourcev1.DeviceClass{ObjectMeta: meta("", "gpu.nvidia.com")}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
		Expression: `device.driver == "gpu.nvidia.com"`,
	}}}
	create(t, c, class)
	roots := map[string]string{}
	for _, node := range []string{"node-0", "node-1"} {
		object := get(t, c, &corev1.Node{ObjectMeta: meta("", node)})
		delete(object.Status.Capacity, "nvidia.com/gpu")
		delete(object.Status.Allocatable, "nvidia.com/gpu")
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		gpus := draSlice(node)
		gpus.Name, gpus.Spec.Driver, gpus.Spec.Devices = node+"-gpu", "gpu.nvidia.com", nil
		for i, of := range []string{"eth2", "eth2", "eth1", "eth1"} { // in another order than the ports
			name := fmt.Sprintf("gpu-%d", i)
			roots[name] = "pci-of-" + of
			gpus.Spec.Devices = append(gpus.Spec.Devices, resourcev1.Device{
				Name: name,
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					root: {StringValue: new(roots[name])}, "gpu.nvidia.com/type": {StringValue: new("gpu")},
				},
			})
		}
		nics := get(t, c, &resourcev1.ResourceSlice{ObjectMeta: meta("", node+"-dra.net")})
		for i, d := range nics.Spec.Devices {
			roots[d.Name] = "pci-of-" + d.Name
			nics.Spec.Devices[i].Attributes[root] = resourcev1.DeviceAttribute{StringValue: new(roots[d.Name])}
		}
		if err := c.Update(t.Context(), nics); err != nil {
			t.Fatal(err)
		}
		create(t, c, gpus)
	}
	a.does(t, deploy("near", ns, "--memlock=node", "--gpus=2")...).silent(t).says(t, "near: 2 of 2 pods ready")
	claims := claimsOf(t, p, ns)
	for _, claim := range claims {
		of := map[string]string{}
		for _, r := range claim.Status.Allocation.Devices.Results {
			of[r.Request] = roots[r.Device]
		}
		if len(of) != 4 || of["gpu-0"] != of["rail-0"] || of["gpu-1"] != of["rail-1"] || of["rail-0"] == of["rail-1"] {
			t.Errorf("claim %s: %v", claim.Name, of)
		}
	}
	if len(claims) != 2 {
		t.Errorf("%d claims", len(claims))
	}
	a.does(t, "delete", "near", "-n", ns, "--yes").silent(t)
	claimsGone(t, p, ns)
}

func claimsOf(t *testing.T, p *controlplane.ControlPlane, namespace string) []resourcev1.ResourceClaim {
	t.Helper()
	var claims resourcev1.ResourceClaimList
	if err := p.Client().List(t.Context(), &claims, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return claims.Items
}

// allocated returns the node and the devices that the claims of each pod were given.
func allocated(t *testing.T, p *controlplane.ControlPlane, namespace string) map[string]string {
	t.Helper()
	of := map[string]string{}
	for _, c := range claimsOf(t, p, namespace) {
		if c.Status.Allocation == nil || len(c.OwnerReferences) == 0 {
			t.Fatalf("claim %s is not allocated: %+v", c.Name, c.Status)
		}
		var devices []string
		pool := ""
		for _, r := range c.Status.Allocation.Devices.Results {
			pool, devices = r.Pool, append(devices, r.Device)
		}
		slices.Sort(devices)
		of[c.OwnerReferences[0].Name] = fmt.Sprint(pool, " ", devices)
	}
	return of
}

// unmetClaim makes a pod by hand whose claim names a port that no node has.
func unmetClaim(t *testing.T, p *controlplane.ControlPlane, a user, ns string) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: meta(ns, "nic")}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "nic",
		Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "dra.net",
			Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
				Expression: `device.attributes["dra.net"].ifName == "eth9"`,
			}}},
		},
	}}
	pod := &corev1.Pod{ObjectMeta: meta(ns, "stray")}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "nic", ResourceClaimTemplateName: new("nic")}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.invalid/x", Command: []string{"train"}}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "nic"}}
	create(t, p.Client(), template, pod)
	eventually(t, "the scheduler says that it cannot place the pod", func() error {
		for _, c := range get(t, p.Client(), pod).Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", pod.Status.Conditions)
	})
	a.ends(t, 1, "doctor", "-n", ns).prints(t, "no device meets request nic of stray", "eth9", "eth0, eth1, eth2",
		"[resource-claim]")
}
