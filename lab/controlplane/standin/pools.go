package standin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// MachineConfigController stands for the machine-config-controller where its build would take longer than all that is
// shown: render merges the MachineConfigs of a pool, node hands the result to the pool's nodes within maxUnavailable,
// drain cordons, evicts and uncordons as the daemons ask for it.
//
// It merges kernel arguments, files and units only, and knows neither images, kubelet configurations nor the states in
// which it should refuse: the tests run the real one.
type MachineConfigController struct {
	client client.Client
}

func (c *MachineConfigController) add(m manager.Manager) error {
	c.client = m.GetClient()
	drain := &drainController{client: m.GetClient()}
	pools := handler.EnqueueRequestsFromMapFunc(c.pools)
	return errors.Join(
		builder.ControllerManagedBy(m).Named("pools").For(&machineconfigv1.MachineConfigPool{}).
			Watches(&machineconfigv1.MachineConfig{}, pools).Watches(&corev1.Node{}, pools).Complete(c),
		builder.ControllerManagedBy(m).Named("drain").For(&corev1.Node{}).Complete(drain),
	)
}

// pools returns all pools: any of them may be concerned.
func (c *MachineConfigController) pools(ctx context.Context, _ client.Object) []reconcile.Request {
	var pools machineconfigv1.MachineConfigPoolList
	if err := c.client.List(ctx, &pools); err != nil {
		return nil
	}
	var all []reconcile.Request
	for _, p := range pools.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&p)})
	}
	return all
}

// Reconcile renders the pool's configuration and brings its nodes one step nearer to it.
func (c *MachineConfigController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var pool machineconfigv1.MachineConfigPool
	if err := c.client.Get(ctx, r.NamespacedName, &pool); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if changed, err := c.render(ctx, &pool); err != nil || changed {
		return reconcile.Result{}, err // the change calls again
	}
	nodes, err := c.nodes(ctx, &pool)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.roll(ctx, &pool, nodes); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.report(ctx, &pool, nodes)
}

// render gives the pool the configuration that its MachineConfigs make, and reports whether that is another one.
func (c *MachineConfigController) render(ctx context.Context, pool *machineconfigv1.MachineConfigPool) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(pool.Spec.MachineConfigSelector)
	if err != nil {
		return false, fmt.Errorf("selector of pool %s: %w", pool.Name, err)
	}
	var configs machineconfigv1.MachineConfigList
	if err := c.client.List(ctx, &configs, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, err
	}
	if len(configs.Items) == 0 {
		return false, nil
	}
	rendered, sources, err := merge(pool, configs.Items)
	if err != nil || rendered.Name == pool.Spec.Configuration.Name {
		return false, err
	}
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, rendered)); err != nil {
		return false, err
	}
	before := pool.DeepCopy()
	pool.Spec.Configuration.Name = rendered.Name
	pool.Spec.Configuration.Source = sources
	return true, c.client.Patch(ctx, pool, client.MergeFrom(before))
}

// nodes returns the nodes of the pool, the oldest first, as the real controller takes them.
func (c *MachineConfigController) nodes(
	ctx context.Context, of *machineconfigv1.MachineConfigPool,
) ([]corev1.Node, error) {
	var all corev1.NodeList
	var pools machineconfigv1.MachineConfigPoolList
	if err := errors.Join(c.client.List(ctx, &all), c.client.List(ctx, &pools)); err != nil {
		return nil, err
	}
	var own []corev1.Node
	for _, n := range all.Items {
		if pool, err := poolOf(&n, pools.Items); err != nil {
			return nil, err
		} else if pool != nil && pool.Name == of.Name {
			own = append(own, n)
		}
	}
	slices.SortStableFunc(own, func(a, b corev1.Node) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return own, nil
}

// updated reports whether the node has the configuration.
func updated(n *corev1.Node, config string) bool {
	a := n.Annotations
	return a[currentConfig] == config && a[desiredConfig] == config && a[state] == done
}

// available reports whether the node runs pods and its daemon does nothing.
func available(n *corev1.Node) bool {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	return ready && !n.Spec.Unschedulable && updated(n, n.Annotations[desiredConfig])
}

// roll gives the configuration to as many more nodes as may be away at the same time.
func (c *MachineConfigController) roll(
	ctx context.Context, pool *machineconfigv1.MachineConfigPool, nodes []corev1.Node,
) error {
	most := intstr.FromInt32(1)
	if pool.Spec.MaxUnavailable != nil {
		most = *pool.Spec.MaxUnavailable
	}
	free, err := intstr.GetScaledValueFromIntOrPercent(&most, len(nodes), false)
	if err != nil || pool.Spec.Paused {
		return err
	}
	for _, n := range nodes {
		if !available(&n) {
			free--
		}
	}
	target := pool.Spec.Configuration.Name
	for i := range nodes {
		n := &nodes[i]
		if free <= 0 || n.Annotations[currentConfig] == "" || n.Annotations[desiredConfig] == target || !available(n) {
			continue
		}
		if err := annotate(ctx, c.client, n, map[string]string{desiredConfig: target}); err != nil {
			return err
		}
		free--
	}
	return nil
}

// report writes the status of the pool.
func (c *MachineConfigController) report(
	ctx context.Context, pool *machineconfigv1.MachineConfigPool, nodes []corev1.Node,
) error {
	before := pool.DeepCopy()
	target, s := pool.Spec.Configuration.Name, &pool.Status
	s.ObservedGeneration, s.MachineCount = pool.Generation, int32(len(nodes)) //nolint:gosec // a count of nodes
	s.UpdatedMachineCount, s.ReadyMachineCount, s.UnavailableMachineCount, s.DegradedMachineCount = 0, 0, 0, 0
	for _, n := range nodes {
		has, serves := updated(&n, target), available(&n)
		s.UpdatedMachineCount += count(has)
		s.ReadyMachineCount += count(has && serves)
		s.UnavailableMachineCount += count(!serves)
		s.DegradedMachineCount += count(n.Annotations[state] == degraded)
	}
	all := target != "" && s.UpdatedMachineCount == s.MachineCount && s.UnavailableMachineCount == 0
	if all {
		s.Configuration = pool.Spec.Configuration
	}
	for kind, is := range map[machineconfigv1.MachineConfigPoolConditionType]bool{
		machineconfigv1.MachineConfigPoolUpdated:        all,
		machineconfigv1.MachineConfigPoolUpdating:       !all && !pool.Spec.Paused,
		machineconfigv1.MachineConfigPoolNodeDegraded:   s.DegradedMachineCount > 0,
		machineconfigv1.MachineConfigPoolRenderDegraded: false,
		machineconfigv1.MachineConfigPoolDegraded:       s.DegradedMachineCount > 0,
	} {
		setCondition(s, kind, is)
	}
	return client.IgnoreNotFound(c.client.Status().Patch(ctx, pool, client.MergeFrom(before)))
}

func count(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// setCondition sets a condition of the pool, whose time changes with its status only.
func setCondition(
	s *machineconfigv1.MachineConfigPoolStatus, kind machineconfigv1.MachineConfigPoolConditionType, is bool,
) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	at := slices.IndexFunc(s.Conditions, func(c machineconfigv1.MachineConfigPoolCondition) bool {
		return c.Type == kind
	})
	if at < 0 {
		at = len(s.Conditions)
		s.Conditions = append(s.Conditions, machineconfigv1.MachineConfigPoolCondition{Type: kind})
	}
	if c := &s.Conditions[at]; c.Status != status {
		c.Status, c.LastTransitionTime = status, metav1.Now()
	}
}
