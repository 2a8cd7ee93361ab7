package controlplane

import (
	"context"
	"fmt"
	"slices"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// poolsUpdated returns an error until every pool has brought its nodes to its configuration.
func (p *ControlPlane) poolsUpdated(ctx context.Context, nodes []corev1.Node) error {
	var pools machineconfigv1.MachineConfigPoolList
	if err := p.client.List(ctx, &pools); err != nil {
		return err
	}
	var configs machineconfigv1.MachineConfigList
	if err := p.client.List(ctx, &configs); err != nil {
		return err
	}
	counted := 0
	for _, pool := range pools.Items {
		if want, got := sourcesOf(pool, configs.Items); !slices.Equal(want, got) {
			return fmt.Errorf("pool %s is rendered from %v, and its MachineConfigs are %v", pool.Name, got, want)
		}
		s := pool.Status
		if pool.Spec.Configuration.Name == "" || s.Configuration.Name != pool.Spec.Configuration.Name ||
			s.UpdatedMachineCount != s.MachineCount || s.ReadyMachineCount != s.MachineCount ||
			s.ObservedGeneration != pool.Generation {
			return fmt.Errorf("pool %s: %d of %d nodes updated, configuration %q of %q",
				pool.Name, s.UpdatedMachineCount, s.MachineCount, s.Configuration.Name, pool.Spec.Configuration.Name)
		}
		counted += int(s.MachineCount)
	}
	if managed := inPools(nodes, pools.Items); counted != managed {
		return fmt.Errorf("pools count %d of %d nodes", counted, managed)
	}
	return nil
}

// sourcesOf returns the names of the MachineConfigs that a pool selects, and of those that its configuration was
// rendered from: the controller notices some seconds later that there are others.
func sourcesOf(
	pool machineconfigv1.MachineConfigPool, configs []machineconfigv1.MachineConfig,
) (selected, rendered []string) {
	selector, err := metav1.LabelSelectorAsSelector(pool.Spec.MachineConfigSelector)
	for _, c := range configs {
		if err == nil && selector.Matches(labels.Set(c.Labels)) {
			selected = append(selected, c.Name)
		}
	}
	for _, source := range pool.Spec.Configuration.Source {
		rendered = append(rendered, source.Name)
	}
	slices.Sort(selected)
	slices.Sort(rendered)
	return selected, rendered
}

// inPools returns the number of nodes that a pool selects.
func inPools(nodes []corev1.Node, pools []machineconfigv1.MachineConfigPool) int {
	n := 0
	for _, node := range nodes {
		for _, pool := range pools {
			selector, err := metav1.LabelSelectorAsSelector(pool.Spec.NodeSelector)
			if err == nil && selector.Matches(labels.Set(node.Labels)) {
				n++
				break
			}
		}
	}
	return n
}
