package shape

import (
	"context"
	"fmt"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/sriov"
)

// rail is one NIC of a GPU node that is meant for training traffic.
type rail struct {
	pf       string // name of the PF's interface
	pci      string
	resource string // of its VFs, without prefix
	vfs      int
}

func bornRails() []rail {
	return []rail{
		{"eno5np0", "0000:1a:00.0", "eno5np0rdma", 1},
		{"eno6np0", "0000:3c:00.0", "eno6np0rdma", 1},
		{"eno7np0", "0000:9a:00.0", "eno7np0rdma", 1},
		{"eno8np0", "0000:bc:00.0", "eno8np0rdma", 1},
	}
}

// railPFs are the rails' ConnectX-7 (15b3:1021) at 400 Gb/s Ethernet.
func railPFs(node string, rails []rail) []sriov.PF {
	var all []sriov.PF
	for _, r := range rails {
		pf := sriov.PF{
			Name:       r.pf,
			PciAddress: r.pci,
			Mac:        sriov.MAC(node, r.pf),
			Driver:     "mlx5_core",
			Vendor:     "15b3",
			DeviceID:   "1021",
			Mtu:        9000, NumVfs: r.vfs, TotalVfs: 16,
			LinkSpeed: "400000 Mb/s", LinkType: "ETH", LinkAdminState: "up", EswitchMode: "legacy",
		}
		pf.VFs = sriov.VFs(pf, r.vfs)
		all = append(all, pf)
	}
	return all
}

// managementPF is the NIC that every worker has for the cluster's own traffic, an Intel E810 (8086:159b). It could have
// VFs and has none.
func managementPF(node string) sriov.PF {
	const name = "ens1f0np0"
	return sriov.PF{
		Name:       name,
		PciAddress: "0000:31:00.0",
		Mac:        sriov.MAC(node, name),
		Driver:     "ice",
		Vendor:     "8086",
		DeviceID:   "159b",
		Mtu:        1500,
		TotalVfs:   128,
		LinkSpeed:  "25000 Mb/s",
		LinkType:   "ETH",

		LinkAdminState: "up",
		EswitchMode:    "legacy",
	}
}

// nodeState returns the report of the SR-IOV operator's config daemon about a node.
func nodeState(node string, pfs []sriov.PF) *unstructured.Unstructured {
	var found []any
	for _, pf := range pfs {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pf)
		if err != nil {
			panic(err) // a struct of strings and numbers
		}
		found = append(found, object)
	}
	u := sriovObject("SriovNetworkNodeState", node, map[string]any{})
	u.Object["status"] = map[string]any{
		"interfaces": found, "syncStatus": "Succeeded", "system": map[string]any{"rdmaMode": "shared"},
	}
	return u
}

// sriovNetworks are, for each rail, its policy, its network, and the attachment that the operator makes of it.
func sriovNetworks(rails []rail, namespace string) []client.Object {
	var all []client.Object
	for i, r := range rails {
		all = append(all,
			sriovObject("SriovNetworkNodePolicy", r.pf, map[string]any{
				"resourceName": r.resource,
				"numVfs":       int64(r.vfs),
				"isRdma":       true,
				"deviceType":   "netdevice",
				"linkType":     "eth",
				"mtu":          int64(9000), "priority": int64(99),
				"nicSelector":  map[string]any{"vendor": "15b3", "deviceID": "1021", "pfNames": []any{r.pf}},
				"nodeSelector": map[string]any{"feature.node.kubernetes.io/network-sriov.capable": "true"},
			}),
			sriovObject("SriovNetwork", r.pf, map[string]any{
				"resourceName": r.resource, "networkNamespace": namespace, "linkState": "auto",
				"ipam": fmt.Sprintf(`{"type":"whereabouts","range":"192.168.%d.0/24"}`, i+5),
			}))
	}
	return all
}

func sriovObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(scheme.SRIOVKind(kind))
	u.SetNamespace(openshift.SRIOVNamespace)
	u.SetName(name)
	return u
}

// attachment returns a NetworkAttachmentDefinition in namespace default; an empty resource is none.
func attachment(name, resource, config string) *networksv1.NetworkAttachmentDefinition {
	a := &networksv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       networksv1.NetworkAttachmentDefinitionSpec{Config: config},
	}
	if resource != "" {
		a.Annotations = map[string]string{"k8s.v1.cni.cncf.io/resourceName": resource}
	}
	return a
}

// createStatus writes the status that a description states for an object just created.
func createStatus(ctx context.Context, api client.Client, described client.Object, created client.Object) error {
	u, ok := described.(*unstructured.Unstructured)
	if !ok || u.Object["status"] == nil || created.GetUID() == "" {
		return nil
	}
	c := created.(*unstructured.Unstructured)
	before := c.DeepCopy()
	c.Object["status"] = u.DeepCopy().Object["status"]
	return api.Status().Patch(ctx, c, client.MergeFrom(before)) // whatever a stand-in has written to it meanwhile
}
