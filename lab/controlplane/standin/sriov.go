package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// Names of k8snetworkplumbingwg/sriov-network-operator, api/v1/helper.go and pkg/consts.
const (
	networkFinalizer = "netattdef.finalizers.sriovnetwork.openshift.io"
	lastNamespace    = "operator.sriovnetwork.openshift.io/last-network-namespace"
	ownerRef         = "sriovnetwork.openshift.io/owner-ref"
	resourceName     = "k8s.v1.cni.cncf.io/resourceName"
	resourcePrefix   = "openshift.io/"
)

// SRIOVOperator stands for the SR-IOV network operator: it makes a NetworkAttachmentDefinition for every SriovNetwork
// of its namespace and removes it with it; and it makes the VFs of every SriovNetworkNodePolicy appear in the node
// states and as allocatable resources of the nodes, as its config daemon and the device plugin would.
//
// It leaves out SriovIBNetwork and OVSNetwork, the drains and reboots before a node's VFs change, and its webhooks.
type SRIOVOperator struct{ client client.Client }

func (o *SRIOVOperator) add(m manager.Manager) error {
	o.client = m.GetClient()
	network := sriovObject("SriovNetwork")
	err := builder.ControllerManagedBy(m).Named("sriov-network").For(network).
		Watches(&networksv1.NetworkAttachmentDefinition{}, handler.EnqueueRequestsFromMapFunc(networkOf)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(o.networksOf)).
		Complete(reconcile.Func(o.reconcileNetwork))
	if err != nil {
		return err
	}
	return o.addPolicies(m)
}

func sriovObject(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(scheme.SRIOVKind(kind))
	return u
}

// networkOf finds the SriovNetwork of an attachment by its name, as the operator does.
func networkOf(_ context.Context, attachment client.Object) []reconcile.Request {
	return []reconcile.Request{
		{NamespacedName: types.NamespacedName{Namespace: openshift.SRIOVNamespace, Name: attachment.GetName()}},
	}
}

// networksOf are the SriovNetworks that wait for the namespace.
func (o *SRIOVOperator) networksOf(ctx context.Context, namespace client.Object) []reconcile.Request {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(scheme.SRIOVKind("SriovNetworkList"))
	if err := o.client.List(ctx, all, client.InNamespace(openshift.SRIOVNamespace)); err != nil {
		return nil
	}
	var waiting []reconcile.Request
	for _, n := range all.Items {
		if target(&n) == namespace.GetName() {
			waiting = append(waiting, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&n)})
		}
	}
	return waiting
}

// target is the namespace of a SriovNetwork's attachment.
func target(network *unstructured.Unstructured) string {
	if ns, _, _ := unstructured.NestedString(network.Object, "spec", "networkNamespace"); ns != "" {
		return ns
	}
	return network.GetNamespace()
}

// reconcileNetwork follows controllers/generic_network_controller.go of the operator.
func (o *SRIOVOperator) reconcileNetwork(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	if r.Namespace != openshift.SRIOVNamespace {
		return reconcile.Result{}, nil
	}
	network := sriovObject("SriovNetwork")
	if err := o.client.Get(ctx, r.NamespacedName, network); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if network.GetDeletionTimestamp() != nil {
		if err := o.removeAttachment(ctx, target(network), network.GetName()); err != nil {
			return reconcile.Result{}, err
		}
		if !controllerutil.RemoveFinalizer(network, networkFinalizer) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(o.client.Update(ctx, network))
	}
	if controllerutil.AddFinalizer(network, networkFinalizer) {
		return reconcile.Result{}, o.client.Update(ctx, network)
	}
	return reconcile.Result{}, o.attach(ctx, network)
}

func (o *SRIOVOperator) removeAttachment(ctx context.Context, namespace, name string) error {
	return client.IgnoreNotFound(o.client.Delete(ctx, &networksv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}))
}

// attach updates the attachment to match its network, if its namespace exists.
func (o *SRIOVOperator) attach(ctx context.Context, network *unstructured.Unstructured) error {
	wanted, err := attachment(network)
	if err != nil {
		return err
	}
	if last := network.GetAnnotations()[lastNamespace]; last != "" && last != wanted.Namespace {
		if err := o.removeAttachment(ctx, last, wanted.Name); err != nil {
			return err
		}
	}
	found := &networksv1.NetworkAttachmentDefinition{}
	err = o.client.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if err == nil {
		if equality.Semantic.DeepEqual(found.Spec, wanted.Spec) &&
			equality.Semantic.DeepEqual(found.Annotations, wanted.Annotations) {
			return nil
		}
		wanted.ResourceVersion = found.ResourceVersion
		return o.client.Update(ctx, wanted)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	var ns corev1.Namespace
	if err := o.client.Get(ctx, types.NamespacedName{Name: wanted.Namespace}, &ns); err != nil ||
		ns.DeletionTimestamp != nil {
		return client.IgnoreNotFound(err) // made when the namespace is
	}
	if err := o.client.Create(ctx, wanted); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	before := network.DeepCopy()
	annotations := network.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastNamespace] = wanted.Namespace
	network.SetAnnotations(annotations)
	return o.client.Patch(ctx, network, client.MergeFrom(before))
}

// attachment returns the object that the operator renders for a SriovNetwork (bindata/manifests/cni-config/sriov).
func attachment(network *unstructured.Unstructured) (*networksv1.NetworkAttachmentDefinition, error) {
	spec, _, err := unstructured.NestedMap(network.Object, "spec")
	if err != nil {
		return nil, err
	}
	config, err := cniConfig(network.GetName(), spec)
	if err != nil {
		return nil, fmt.Errorf("SriovNetwork %s: %w", network.GetName(), err)
	}
	owner := fmt.Sprintf("SriovNetwork.%s/%s/%s", network.GroupVersionKind().Group, network.GetNamespace(),
		network.GetName())
	return &networksv1.NetworkAttachmentDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:      network.GetName(),
			Namespace: target(network),
			Annotations: map[string]string{
				resourceName: resourcePrefix + text(spec, "resourceName"), ownerRef: owner,
			},
		},
		Spec: networksv1.NetworkAttachmentDefinitionSpec{Config: config},
	}, nil
}

// cniConfig is the configuration of the sriov CNI plugin, in the order of the operator's template. The operator's
// webhook rejects quotes in its values.
func cniConfig(name string, spec map[string]any) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"cniVersion":"1.0.0","name":%q,`, name)
	meta := text(spec, "metaPlugins")
	if meta != "" {
		b.WriteString(`"plugins":[{`)
	}
	fmt.Fprintf(&b, `"type":"sriov","vlan":%d,`, number(spec, "vlan"))
	for _, f := range []struct{ key, field string }{{"spoofchk", "spoofChk"}, {"trust", "trust"}} {
		if v := text(spec, f.field); v != "" {
			fmt.Fprintf(&b, `%q:%q,`, f.key, v)
		}
	}
	fmt.Fprintf(&b, `"vlanQoS":%d,`, number(spec, "vlanQoS"))
	if v := text(spec, "vlanProto"); v != "" {
		fmt.Fprintf(&b, `"vlanProto":%q,`, v)
	}
	for _, f := range []struct{ key, field string }{{"min_tx_rate", "minTxRate"}, {"max_tx_rate", "maxTxRate"}} {
		if _, ok := spec[f.field]; ok {
			fmt.Fprintf(&b, `%q:%d,`, f.key, number(spec, f.field))
		}
	}
	if v := text(spec, "capabilities"); v != "" {
		fmt.Fprintf(&b, `"capabilities":%s,`, v)
	}
	for _, f := range []struct{ key, field string }{
		{"link_state", "linkState"},
		{"logLevel", "logLevel"},
		{"logFile", "logFile"},
	} {
		if v := text(spec, f.field); v != "" {
			fmt.Fprintf(&b, `%q:%q,`, f.key, v)
		}
	}
	ipam := text(spec, "ipam")
	if ipam == "" {
		ipam = "{}"
	}
	fmt.Fprintf(&b, `"ipam":%s}`, ipam)
	if meta != "" {
		fmt.Fprintf(&b, `,%s]}`, meta)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(b.String()), "", "    "); err != nil {
		return "", fmt.Errorf("CNI configuration %s: %w", b.String(), err)
	}
	return pretty.String(), nil
}

func text(spec map[string]any, field string) string {
	s, _, _ := unstructured.NestedString(spec, field)
	return s
}

func number(spec map[string]any, field string) int64 {
	n, _, _ := unstructured.NestedInt64(spec, field)
	return n
}
