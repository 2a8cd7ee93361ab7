package standin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/sriov"
)

// policy is the part of a SriovNetworkNodePolicy that decides which PFs get how many VFs under which resource name.
type policy struct {
	Name string `json:"-"`
	Spec struct {
		ResourceName string            `json:"resourceName"`
		NodeSelector map[string]string `json:"nodeSelector"`
		Priority     int               `json:"priority"`
		Mtu          int               `json:"mtu"`
		NumVfs       int               `json:"numVfs"`
		NicSelector  struct {
			Vendor      string   `json:"vendor"`
			DeviceID    string   `json:"deviceID"`
			RootDevices []string `json:"rootDevices"`
			PfNames     []string `json:"pfNames"`
		} `json:"nicSelector"`
	} `json:"spec"`
}

// nodeState is the part of a SriovNetworkNodeState that the stand-in writes.
type nodeState struct {
	Status struct {
		Interfaces []sriov.PF `json:"interfaces,omitempty"`
		SyncStatus string     `json:"syncStatus,omitempty"`
	} `json:"status"`
}

func (o *SRIOVOperator) addPolicies(m manager.Manager) error {
	everyState := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		states := &unstructured.UnstructuredList{}
		states.SetGroupVersionKind(scheme.SRIOVKind("SriovNetworkNodeStateList"))
		if err := o.client.List(ctx, states, client.InNamespace(openshift.SRIOVNamespace)); err != nil {
			return nil
		}
		var all []reconcile.Request
		for i := range states.Items {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&states.Items[i])})
		}
		return all
	})
	return builder.ControllerManagedBy(m).Named("sriov-node-state").For(sriovObject("SriovNetworkNodeState")).
		Watches(sriovObject("SriovNetworkNodePolicy"), everyState).Complete(reconcile.Func(o.reconcileState))
}

// reconcileState gives one node the VFs and the resources that the policies want there.
func (o *SRIOVOperator) reconcileState(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	state := sriovObject("SriovNetworkNodeState")
	if err := o.client.Get(ctx, r.NamespacedName, state); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if found, _, _ := unstructured.NestedSlice(state.Object, "status", "interfaces"); len(found) == 0 {
		return reconcile.Result{}, nil // the node has not reported its NICs yet: what it offers is not known to be 0
	}
	var node corev1.Node
	if err := o.client.Get(ctx, client.ObjectKey{Name: r.Name}, &node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	policies, err := o.policies(ctx, labelSet(&node))
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := o.makeVFs(ctx, state, policies); err != nil {
		return reconcile.Result{}, err
	}
	var now nodeState
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(state.Object, &now); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, o.advertise(ctx, &node, resources(now.Status.Interfaces, policies))
}

// policies returns the policies for a node, the most important last: a lower number wins, as in the operator.
func (o *SRIOVOperator) policies(ctx context.Context, node labels.Set) ([]policy, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(scheme.SRIOVKind("SriovNetworkNodePolicyList"))
	if err := o.client.List(ctx, list, client.InNamespace(openshift.SRIOVNamespace)); err != nil {
		return nil, err
	}
	var found []policy
	for _, u := range list.Items {
		p := policy{Name: u.GetName()}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
			return nil, fmt.Errorf("SriovNetworkNodePolicy %s: %w", u.GetName(), err)
		}
		if u.GetDeletionTimestamp() == nil && labels.SelectorFromSet(p.Spec.NodeSelector).Matches(node) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b policy) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), strings.Compare(a.Name, b.Name))
	})
	return found, nil
}

// makeVFs writes the VFs that the policies want into the status, where they are not there yet.
func (o *SRIOVOperator) makeVFs(ctx context.Context, state *unstructured.Unstructured, policies []policy) error {
	var wanted nodeState
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(state.Object, &wanted); err != nil {
		return err
	}
	before := state.DeepCopy()
	for i := range wanted.Status.Interfaces {
		pf := &wanted.Status.Interfaces[i]
		vfs := 0
		for _, p := range policies {
			if _, _, ok := p.selects(*pf); ok {
				vfs = p.Spec.NumVfs
				if p.Spec.Mtu > 0 {
					pf.Mtu = p.Spec.Mtu
				}
			}
		}
		if vfs != len(pf.VFs) {
			pf.NumVfs, pf.VFs = vfs, sriov.VFs(*pf, vfs)
		}
	}
	wanted.Status.SyncStatus = "Succeeded"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted)
	if err != nil {
		return err
	}
	for _, field := range []string{"interfaces", "syncStatus"} {
		value, found, _ := unstructured.NestedFieldNoCopy(object, "status", field)
		if !found {
			continue
		}
		if err := unstructured.SetNestedField(state.Object, value, "status", field); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(before.Object, state.Object) {
		return nil
	}
	return client.IgnoreNotFound(o.client.Status().Patch(ctx, state, client.MergeFrom(before)))
}

// selects reports whether the policy wants VFs of the PF, and which of them are under its resource name.
func (p policy) selects(pf sriov.PF) (first, last int, ok bool) {
	s := p.Spec.NicSelector
	last = p.Spec.NumVfs - 1
	if s.Vendor != "" && s.Vendor != pf.Vendor || s.DeviceID != "" && s.DeviceID != pf.DeviceID ||
		len(s.RootDevices) > 0 && !slices.Contains(s.RootDevices, pf.PciAddress) || p.Spec.NumVfs > pf.TotalVfs {
		return 0, 0, false
	}
	if len(s.PfNames) == 0 {
		return 0, last, true
	}
	for _, pattern := range s.PfNames {
		name, some, ranged := strings.Cut(pattern, "#") // "eno5np0#0-3": some of its VFs
		if name != pf.Name {
			continue
		}
		if ranged {
			if _, err := fmt.Sscanf(some, "%d-%d", &first, &last); err != nil {
				return 0, 0, false
			}
		}
		return first, last, true
	}
	return 0, 0, false
}

// resources are the VFs under each resource name.
func resources(pfs []sriov.PF, policies []policy) map[string]int {
	count := map[string]int{}
	for _, p := range policies {
		if p.Spec.ResourceName == "" {
			continue
		}
		name := resourcePrefix + p.Spec.ResourceName
		count[name] += 0
		for _, pf := range pfs {
			if first, last, ok := p.selects(pf); ok {
				count[name] += last - first + 1
			}
		}
	}
	return count
}

// advertise makes the resources allocatable on the node. A resource that is gone stays with 0, as with a real kubelet.
func (o *SRIOVOperator) advertise(ctx context.Context, node *corev1.Node, count map[string]int) error {
	before := node.DeepCopy()
	for _, list := range []*corev1.ResourceList{&node.Status.Capacity, &node.Status.Allocatable} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		for name := range *list {
			if _, ok := count[string(name)]; !ok && strings.HasPrefix(string(name), resourcePrefix) {
				(*list)[name] = resource.MustParse("0")
			}
		}
		for name, n := range count {
			(*list)[corev1.ResourceName(name)] = *resource.NewQuantity(int64(n), resource.DecimalSI)
		}
	}
	if equality.Semantic.DeepEqual(before.Status, node.Status) {
		return nil
	}
	return client.IgnoreNotFound(o.client.Status().Patch(ctx, node, client.StrategicMergeFrom(before)))
}
