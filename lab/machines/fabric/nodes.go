package fabric

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// controlPlane is the control plane of a lab, which does not know its machines yet.
func (o Options) controlPlane() controlplane.Options {
	c := controlplane.Options{
		SCC: !o.Plain, Controllers: true, Scheduler: true, MachineConfig: o.Rollout,
		Workloads: o.Workloads,
		CRDs:      []assets.CRDs{assets.Networks, assets.IPPools},
		Dir:       filepath.Join(o.Dir, "control-plane"), Progress: o.Progress,
	}
	for m := range o.Machines {
		_, host := vm.Management(m + 1)
		c.Addresses = append(c.Addresses, host)
	}
	return c
}

// startControlPlane starts the control plane, the machines as soon as their kubelets can know where it will be, and
// makes as kubelets and Multus expect.
func (f *Fabric) startControlPlane(ctx context.Context) error {
	o := f.Options.controlPlane()
	o.Boot = f.bootNode
	o.Early = func(p *controlplane.ControlPlane) error {
		return f.boot(func(s *vm.Spec, machine int) error { return f.node(p, s, machine) })
	}
	var err error
	if f.ControlPlane, err = controlplane.Start(ctx, o); err != nil {
		return err
	}
	c := f.ControlPlane.Client()
	for _, v := range f.Machines {
		if err := createNode(ctx, c, v); err != nil {
			return err
		}
	}
	for rail, name := range Rails() {
		if err := c.Create(ctx, attachment(rail, name)); err != nil {
			return fmt.Errorf("create network attachment %s: %w", name, err)
		}
	}
	return nil
}

// node makes a node of a machine.
func (f *Fabric) node(p *controlplane.ControlPlane, s *vm.Spec, machine int) error {
	const kubelet, cni, authority = "kubelet.kubeconfig", "cni.kubeconfig", "ca.crt"
	own, host := vm.Management(machine)
	_, pods := podNetwork(machine)
	port := f.ports[2*machine-1]
	s.Forwards = map[int]int{port: port}
	n := &guest.Node{
		Kubeconfig: kubelet, CNIKubeconfig: cni, ClientCA: authority, KubeletPort: port, PodCIDR: pods,
		Images: []string{"images/pause.tar", "images/perf.tar"}, Memlock: f.Options.Memlock,
	}
	if slices.Contains(f.Options.Workloads, assets.MPI) {
		n.Images = append(n.Images, "images/mpi.tar")
	}
	for _, rail := range Rails() {
		n.Resources = append(n.Resources, guest.Resource{Name: Resource(rail), Card: rail})
	}
	s.Config.Node = n
	user, err := p.Users.KubeconfigVia(host, "system:node:"+s.Config.Name, "system:nodes")
	if err != nil {
		return fmt.Errorf("%s at %s: %w", s.Config.Name, own, err)
	}
	admin, err := p.Users.KubeconfigVia(host, "lab:cni", "system:masters")
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{kubelet: user, cni: admin, authority: p.Users.ClientCA()} {
		if err := os.WriteFile(filepath.Join(s.Dir, vm.OwnFolder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// createNode makes the Node before its kubelet does: the API server reaches the kubelet by the ExternalIP, and a
// kubelet with --cloud-provider=external leaves addresses alone that are there (kubernetes
// pkg/kubelet/nodestatus/setters.go).
func createNode(ctx context.Context, c client.Client, v *vm.VM) error {
	name, config := v.Spec.Config.Name, v.Spec.Config
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/worker": ""}},
		Spec: corev1.NodeSpec{
			PodCIDR:  config.Node.PodCIDR.String(),
			PodCIDRs: []string{config.Node.PodCIDR.String()},
		},
	}
	if err := c.Create(ctx, node); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	before := node.DeepCopy() // controllers write to it meanwhile
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: config.Pods.Address.Addr().String()},
		{Type: corev1.NodeExternalIP, Address: "127.0.0.1"},
		{Type: corev1.NodeHostName, Address: name},
	}
	if err := c.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("give node %s its addresses: %w", name, err)
	}
	return nil
}

// attachment is the network of a rail, for pods of every namespace to copy.
func attachment(rail int, name string) *networksv1.NetworkAttachmentDefinition {
	const config = `{"cniVersion":"0.4.0","name":%q,"type":"sriov",` +
		`"ipam":{"type":"whereabouts","range":%q,"range_start":%q,"kubernetes":{"kubeconfig":%q}}}`
	subnet := Subnet(rail)
	first := subnet.Addr().As4()
	first[3] = 100
	return &networksv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name,
			Annotations: map[string]string{"k8s.v1.cni.cncf.io/resourceName": Resource(name)},
		},
		Spec: networksv1.NetworkAttachmentDefinitionSpec{
			Config: fmt.Sprintf(config, name, subnet, netip.AddrFrom4(first), guest.OwnFolder+"/cni.kubeconfig"),
		},
	}
}

// nodeReady waits until the node is ready and offers its resources.
func (f *Fabric) nodeReady(ctx context.Context, v *vm.VM) error {
	name := v.Spec.Config.Name
	missing := "it was not read yet"
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return fmt.Errorf("node %s is not ready: %s: %w; its console is %s", name, missing, context.Cause(ctx),
				v.Console())
		case <-tick.C:
		}
		if err := v.Err(); err != nil {
			return err
		}
		var node corev1.Node
		if err := f.ControlPlane.Client().Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			missing = err.Error()
			continue
		}
		if missing = lacks(&node); missing == "" {
			tick.Stop()
			return nil
		}
	}
}

// lacks names something that a node does not have yet; "" if it has everything.
func lacks(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return c.Message
		}
	}
	if len(node.Status.Conditions) == 0 {
		return "its kubelet has said nothing"
	}
	for _, rail := range Rails() {
		if n := node.Status.Allocatable[corev1.ResourceName(Resource(rail))]; n.Value() != VirtualFunctions {
			return fmt.Sprintf("it offers %d of %s, not %d", n.Value(), Resource(rail), VirtualFunctions)
		}
	}
	return ""
}
