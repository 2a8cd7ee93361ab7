package standin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Annotations and states of openshift/machine-config-operator, pkg/daemon/constants.
const (
	mco           = "machineconfiguration.openshift.io/"
	currentConfig = mco + "currentConfig"
	desiredConfig = mco + "desiredConfig"
	state         = mco + "state"
	reason        = mco + "reason"
	desiredDrain  = mco + "desiredDrain"
	appliedDrain  = mco + "lastAppliedDrain"
	// PostConfigAction is "Rebooting" from when the daemon orders a reboot until it runs again afterwards.
	PostConfigAction = mco + "post-config-action"
	// Rebooting is its value.
	Rebooting = "Rebooting"

	done, working, degraded = "Done", "Working", "Degraded"
)

// MachineConfigDaemon stands for the machine-config-daemons of all nodes: each brings its node from its current to
// its desired configuration, by the annotations with which the real daemon and the machine-config-controller talk. It
// asks the controller to cordon and drain, "reboots" for a while in which the node is not ready, asks for the
// uncordon and reports Done. To a node without annotations it gives those that a new machine gets from its pool.
//
// It leaves out all that happens on the machine: files, units, kernel arguments, images; and it reboots for every
// change of them, but not for another name of the same configuration.
type MachineConfigDaemon struct {
	// Boot boots the machine that a node is, with a configuration, and returns when it is up. Without it nodes are
	// not ready for a while.
	Boot func(ctx context.Context, node string, config *machineconfigv1.MachineConfig) error

	client client.Client
	wake   chan event.GenericEvent

	mu       sync.Mutex
	reboot   time.Duration
	failing  map[string]string    // node -> why its daemon cannot apply a configuration
	rebooted map[string]time.Time // node -> when its reboot ends
}

// NewMachineConfigDaemon returns daemons whose nodes take that long to reboot.
func NewMachineConfigDaemon(reboot time.Duration) *MachineConfigDaemon {
	return &MachineConfigDaemon{
		wake: make(chan event.GenericEvent, 1), reboot: reboot,
		failing: map[string]string{}, rebooted: map[string]time.Time{},
	}
}

// SetReboot sets how long nodes take to reboot from now on.
func (d *MachineConfigDaemon) SetReboot(reboot time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reboot = reboot
}

// Fail makes a node's daemon unable to apply configurations, until Heal: when it next tries, after the drain, its
// node is Degraded for that reason.
func (d *MachineConfigDaemon) Fail(node, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing[node] = why
}

// Heal makes a node's daemon work again. It tries again at once, as the real one does on its next sync.
func (d *MachineConfigDaemon) Heal(ctx context.Context, node string) error {
	d.mu.Lock()
	delete(d.failing, node)
	d.mu.Unlock()
	select {
	case d.wake <- event.GenericEvent{Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *MachineConfigDaemon) add(m manager.Manager) error {
	d.client = m.GetClient()
	return builder.ControllerManagedBy(m).Named("machine-config-daemon").For(&corev1.Node{}).
		Watches(&machineconfigv1.MachineConfigPool{}, handler.EnqueueRequestsFromMapFunc(d.nodesWithoutConfig)).
		WatchesRawSource(source.Channel(d.wake, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).Complete(d)
}

// nodesWithoutConfig are the nodes that wait for a pool to have a configuration.
func (d *MachineConfigDaemon) nodesWithoutConfig(ctx context.Context, _ client.Object) []reconcile.Request {
	var nodes corev1.NodeList
	if err := d.client.List(ctx, &nodes); err != nil {
		return nil
	}
	var found []reconcile.Request
	for _, n := range nodes.Items {
		if n.Annotations[currentConfig] == "" {
			found = append(found, reconcile.Request{NamespacedName: types.NamespacedName{Name: n.Name}})
		}
	}
	return found
}

// Reconcile does the next step of one node's daemon. Each step changes the node, which calls for the next one.
func (d *MachineConfigDaemon) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var node corev1.Node
	if err := d.client.Get(ctx, r.NamespacedName, &node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if node.Annotations[currentConfig] == "" {
		return reconcile.Result{}, d.provision(ctx, &node)
	}
	to := node.Annotations[desiredConfig]
	if to == node.Annotations[currentConfig] {
		if node.Annotations[state] == done {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, d.complete(ctx, &node, to)
	}
	return d.update(ctx, &node, to)
}

// provision gives a new node its pool's configuration, as the machine-config-server does. A pool that no node
// finished yet has its first configuration in its spec only.
func (d *MachineConfigDaemon) provision(ctx context.Context, node *corev1.Node) error {
	pool, err := d.pool(ctx, node)
	if err != nil || pool == nil {
		return err
	}
	name := pool.Status.Configuration.Name
	if name == "" {
		name = pool.Spec.Configuration.Name
	}
	if name == "" {
		return nil
	}
	return d.annotate(ctx, node, map[string]string{
		currentConfig: name, desiredConfig: name, state: done, reason: "",
		desiredDrain: "uncordon-" + name, appliedDrain: "uncordon-" + name,
	})
}

// pool returns the node's pool.
func (d *MachineConfigDaemon) pool(ctx context.Context, node *corev1.Node) (*machineconfigv1.MachineConfigPool, error) {
	var pools machineconfigv1.MachineConfigPoolList
	if err := d.client.List(ctx, &pools); err != nil {
		return nil, err
	}
	return poolOf(node, pools.Items)
}

// poolOf returns the one of the pools that a node is in, or nil: master before custom before worker, as the operator's
// helpers.GetPoolsForNode.
func poolOf(node *corev1.Node, pools []machineconfigv1.MachineConfigPool) (*machineconfigv1.MachineConfigPool, error) {
	rank := func(name string) int {
		switch name {
		case "master":
			return 3
		case "worker":
			return 1
		}
		return 2
	}
	var best *machineconfigv1.MachineConfigPool
	for i := range pools {
		p := &pools[i]
		selector, err := metav1.LabelSelectorAsSelector(p.Spec.NodeSelector)
		if err != nil {
			return nil, fmt.Errorf("node selector of pool %s: %w", p.Name, err)
		}
		if selector.Matches(labelSet(node)) && (best == nil || rank(p.Name) > rank(best.Name)) {
			best = p
		}
	}
	return best, nil
}

// update does the next step of an update to the configuration: work, drain, reboot, complete.
func (d *MachineConfigDaemon) update(ctx context.Context, node *corev1.Node, to string) (reconcile.Result, error) {
	a := node.Annotations
	drain := "drain-" + to
	switch {
	case a[state] != working && a[state] != degraded:
		return reconcile.Result{}, d.annotate(ctx, node, map[string]string{state: working})
	case a[desiredDrain] == "uncordon-"+to:
		return reconcile.Result{}, d.complete(ctx, node, to)
	case a[desiredDrain] != drain:
		same, err := d.same(ctx, a[currentConfig], to)
		if err != nil {
			return reconcile.Result{}, err
		}
		if same {
			return reconcile.Result{}, d.complete(ctx, node, to)
		}
		return reconcile.Result{}, d.annotate(ctx, node, map[string]string{desiredDrain: drain})
	case a[appliedDrain] != drain:
		return reconcile.Result{}, nil // the controller drains
	}
	if why := d.fails(node.Name); why != "" {
		if a[state] == degraded && a[reason] == why {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, d.annotate(ctx, node, map[string]string{state: degraded, reason: why})
	}
	if a[PostConfigAction] != Rebooting {
		return reconcile.Result{}, d.shutDown(ctx, node)
	}
	if d.Boot != nil {
		return reconcile.Result{}, d.bootMachine(ctx, node, to)
	}
	if left := d.rebootLeft(node.Name); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, d.boot(ctx, node, to)
}

// same reports whether two rendered configurations differ in their names only, as those of two pools do.
func (d *MachineConfigDaemon) same(ctx context.Context, a, b string) (bool, error) {
	var from, to machineconfigv1.MachineConfig
	err := errors.Join(
		d.client.Get(ctx, client.ObjectKey{Name: a}, &from),
		d.client.Get(ctx, client.ObjectKey{Name: b}, &to),
	)
	return err == nil && equality.Semantic.DeepEqual(from.Spec, to.Spec), err
}

func (d *MachineConfigDaemon) fails(node string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failing[node]
}

// shutDown begins the reboot. A kubelet that is shut down reports its node not ready.
func (d *MachineConfigDaemon) shutDown(ctx context.Context, node *corev1.Node) error {
	d.mu.Lock()
	d.rebooted[node.Name] = time.Now().Add(d.reboot)
	d.mu.Unlock()
	err := d.annotate(ctx, node, map[string]string{PostConfigAction: Rebooting})
	if err != nil || d.Boot != nil {
		return err // a kubelet speaks for itself
	}
	return d.ready(ctx, node, corev1.ConditionFalse, "KubeletNotReady", "node is shutting down")
}

// rebootLeft returns the rest of a node's reboot, or zero if this process did not see it start.
func (d *MachineConfigDaemon) rebootLeft(node string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.rebooted[node])
}

// bootMachine reboots the machine for real.
func (d *MachineConfigDaemon) bootMachine(ctx context.Context, node *corev1.Node, to string) error {
	var config machineconfigv1.MachineConfig
	if err := d.client.Get(ctx, client.ObjectKey{Name: to}, &config); err != nil {
		return err
	}
	if err := d.Boot(ctx, node.Name, &config); err != nil {
		return fmt.Errorf("boot %s: %w", node.Name, err)
	}
	if err := d.client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil { // its kubelet has written to it
		return err
	}
	return d.annotate(ctx, node, map[string]string{PostConfigAction: "", desiredDrain: "uncordon-" + to})
}

// boot ends the reboot: the node has a new boot id, is ready, and its daemon asks for the uncordon.
func (d *MachineConfigDaemon) boot(ctx context.Context, node *corev1.Node, to string) error {
	node.Status.NodeInfo.BootID = string(uuid.NewUUID())
	if err := d.ready(ctx, node, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"); err != nil {
		return err
	}
	return d.annotate(ctx, node, map[string]string{PostConfigAction: "", desiredDrain: "uncordon-" + to})
}

// complete ends an update: uncordoned first, then Done.
func (d *MachineConfigDaemon) complete(ctx context.Context, node *corev1.Node, at string) error {
	uncordon := "uncordon-" + at
	switch uncordon {
	case node.Annotations[appliedDrain]:
		return d.annotate(ctx, node,
			map[string]string{currentConfig: at, state: done, reason: "", desiredDrain: uncordon})
	case node.Annotations[desiredDrain]:
		return nil // the controller uncordons
	}
	return d.annotate(ctx, node, map[string]string{desiredDrain: uncordon})
}
