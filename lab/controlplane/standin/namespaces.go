package standin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Ranges that cluster-policy-controller gives to namespaces by default
// (openshift/cluster-policy-controller, pkg/cmd/controller/namespace_security_allocation.go).
const (
	firstUID      = 1000000000
	uidsPerBlock  = 10000
	labelsPerNode = 5 // MCS labels per namespace
)

// ClusterPolicyController stands for OpenShift's cluster-policy-controller: it gives every namespace a range of user
// ids, supplemental groups and an SELinux level, without which SCC admission refuses its pods.
//
// It leaves out the controller's other half, which sets pod security labels.
type ClusterPolicyController struct{ client client.Client }

func (p *ClusterPolicyController) add(m manager.Manager) error {
	p.client = m.GetClient()
	return builder.ControllerManagedBy(m).Named("cluster-policy-controller").For(&corev1.Namespace{}).Complete(p)
}

// Reconcile annotates one namespace. There is one worker, so two namespaces never get the same block.
func (p *ClusterPolicyController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var all corev1.NamespaceList
	if err := p.client.List(ctx, &all); err != nil {
		return reconcile.Result{}, err
	}
	used := map[int]bool{}
	var ns *corev1.Namespace
	for i := range all.Items {
		if block, ok := blockOf(all.Items[i].Annotations[securityv1.UIDRangeAnnotation]); ok {
			used[block] = true
		}
		if all.Items[i].Name == r.Name {
			ns = &all.Items[i]
		}
	}
	if ns == nil || ns.DeletionTimestamp != nil || ns.Annotations[securityv1.UIDRangeAnnotation] != "" {
		return reconcile.Result{}, nil
	}
	block := 0
	for used[block] {
		block++
	}
	before := ns.DeepCopy()
	if ns.Annotations == nil {
		ns.Annotations = map[string]string{}
	}
	ids := fmt.Sprintf("%d/%d", firstUID+block*uidsPerBlock, uidsPerBlock)
	ns.Annotations[securityv1.UIDRangeAnnotation] = ids
	ns.Annotations[securityv1.SupplementalGroupsAnnotation] = ids
	ns.Annotations[securityv1.MCSAnnotation] = mcs(block * labelsPerNode)
	// The lock makes a stale cache a conflict, and so a second try, instead of a block used twice.
	return reconcile.Result{}, client.IgnoreNotFound(
		p.client.Patch(ctx, ns, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})),
	)
}

// blockOf returns the index of a range such as "1000650000/10000".
func blockOf(ids string) (int, bool) {
	start, _, found := strings.Cut(ids, "/")
	n, err := strconv.Atoi(start)
	return (n - firstUID) / uidsPerBlock, found && err == nil && n >= firstUID
}

// mcs returns the n-th SELinux level with two categories, in the order of OpenShift: c1,c0; c2,c0; c2,c1; c3,c0; ...
// (openshift/library-go, pkg/security/mcs.)
func mcs(n int) string {
	a := 1
	for n >= a {
		n -= a
		a++
	}
	return fmt.Sprintf("s0:c%d,c%d", a, n)
}
