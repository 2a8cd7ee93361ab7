package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// TestNvidia: a namespace gets its rails from NVIDIA's network operator. Its CRDs are real, and the test stands in for
// the operator itself.
func TestNvidia(t *testing.T) {
	const ns, name = "llama", "llama-mlnxnics"
	p := plain(t, shape.Plain(2), assets.NVIDIA)
	a, c := admin(t, p), p.Client()
	policy := nvidiaObject("NicClusterPolicy", "nic-cluster-policy")
	policy.Object["spec"] = map[string]any{"sriovDevicePlugin": map[string]any{
		"image": "sriov-network-device-plugin", "repository": "registry.example.com", "version": "v3.5.1",
		"config": `{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "mlnxnics",` +
			` "selectors": {"vendors": ["15b3"], "isRdma": true}}]}`,
	}}
	create(t, c, policy)
	a.ends(t, 1, "setup", "namespace", ns, "--yes").silent(t).says(t, "--rail-subnets")
	operate(t, p, name)
	args := []string{"setup", "namespace", ns, "--rail-subnets=10.60.0.0/16", "--yes"}
	a.does(t, args...).silent(t).says(t, "created HostDeviceNetwork "+name)
	made := get(t, c, nvidiaObject("HostDeviceNetwork", name))
	spec := fmt.Sprint(made.Object["spec"])
	want := fmt.Sprint(map[string]any{
		"ipam":             `{"type":"whereabouts","range":"10.60.0.0/16"}`,
		"networkNamespace": ns,
		"resourceName":     "mlnxnics",
	})
	if spec != want {
		t.Errorf("want %s, got %s", want, spec)
	}
	a.does(t, args...).silent(t).says(t, "Nothing to do")
	a.does(t, "inventory", "-n", ns).prints(t, name, "nvidia.com/mlnxnics")
	a.does(t, "setup", "rollback", "namespace", ns, "--yes").silent(t).says(t, "deleted HostDeviceNetwork "+name)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
		t.Errorf("after the rollback: %v", err)
	}
}

func nvidiaObject(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("mellanox.com/v1alpha1")
	u.SetKind(kind)
	u.SetName(name)
	return u
}

// operate makes the attachment of a HostDeviceNetwork once that exists, as the operator does
// (Mellanox/network-operator manifests/stage-hostdevice-network).
func operate(t *testing.T, p *controlplane.ControlPlane, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- attach(ctx, p.Client(), name) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func attach(ctx context.Context, c client.Client, name string) error {
	network := nvidiaObject("HostDeviceNetwork", name)
	for {
		err := c.Get(ctx, client.ObjectKeyFromObject(network), network)
		if err == nil {
			break
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("no HostDeviceNetwork " + name)
		case <-time.After(100 * time.Millisecond):
		}
	}
	field := func(key string) string {
		value, _, _ := unstructured.NestedString(network.Object, "spec", key)
		return value
	}
	nad := &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(field("networkNamespace"), name)}
	nad.Annotations = map[string]string{"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/" + field("resourceName")}
	nad.Spec.Config = fmt.Sprintf(`{"cniVersion":"0.3.1","name":%q,"type":"host-device","ipam":%s}`, name, field("ipam"))
	return c.Create(ctx, nad)
}
