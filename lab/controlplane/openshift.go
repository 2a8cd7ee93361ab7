package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/controlplane/standin"
)

// installOpenShift creates the objects of OpenShift's operators.
func (p *ControlPlane) installOpenShift(ctx context.Context) error {
	var objects []client.Object
	if p.options.SCC {
		objects = append(openshift.Security(), openshift.Config()...)
	}
	if p.options.MachineConfig {
		if !p.options.SCC {
			objects = append(objects, openshift.Config()...)
		}
		objects = append(objects, openshift.MachineConfiguration()...)
	}
	if p.options.SRIOV {
		objects = append(objects, openshift.SRIOV()...)
	}
	return openshift.Install(ctx, p.client, objects...)
}

// startStandIns starts those that the options need.
func (p *ControlPlane) startStandIns(context.Context) error {
	var all []standin.StandIn
	if p.options.SCC {
		all = append(all, &standin.ClusterPolicyController{})
	}
	if p.options.MachineConfig {
		reboot := p.options.Reboot
		if reboot == 0 {
			reboot = 200 * time.Millisecond
		}
		p.Daemon = standin.NewMachineConfigDaemon(reboot)
		p.Daemon.Boot = p.options.Boot
		all = append(all, p.Daemon)
		if p.options.Demo {
			all = append(all, &standin.MachineConfigController{})
		}
	}
	if p.options.Scheduler && p.options.Demo {
		all = append(all, &standin.Scheduler{})
	}
	if p.options.SRIOV {
		all = append(all, &standin.SRIOVOperator{})
	}
	if len(all) == 0 {
		return nil
	}
	cfg, err := p.Users.Config("stand-ins", masters()...)
	if err != nil {
		return err
	}
	cfg.WarningHandler = rest.NoWarnings{}
	if p.standins.log, err = os.Create(filepath.Join(p.Logs(), "stand-ins.log")); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background()) // Stop ends it
	p.standins.stop = stop
	p.standins.done.Go(func() {
		if err := standin.Run(ctx, cfg, p.standins.log, all...); err != nil {
			fmt.Fprintln(p.standins.log, err)
		}
	})
	return nil
}

// admits waits until a pod would be admitted. SCC admission refuses all pods until it has seen the standard SCCs, and
// those of a namespace until it has a range of user ids.
func (p *ControlPlane) admits(ctx context.Context) error {
	if !p.options.SCC {
		return nil
	}
	return process.Until(ctx, "SCC admission admits a pod", p.api.process, func(ctx context.Context) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "would-be-admitted"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
		}
		return p.client.Create(ctx, pod, client.DryRunAll)
	})
}

// Settle waits until every node is ready and, with Options.MachineConfig, every pool has brought all of its nodes to
// its configuration.
func (p *ControlPlane) Settle(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A thousand nodes take minutes, and to list them is work for the server.
	w := process.Wait{What: "nodes and pools have settled", Patience: 5 * time.Minute, Poll: 200 * time.Millisecond}
	return w.Until(ctx, nil, func(ctx context.Context) error {
		for _, c := range p.clients {
			if err := c.process.Err(); err != nil {
				cancel(err)
				return err
			}
		}
		if err := p.Addons.Err(); err != nil {
			cancel(err)
			return err
		}
		var nodes corev1.NodeList
		if err := p.client.List(ctx, &nodes); err != nil {
			return err
		}
		for _, n := range nodes.Items {
			ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
			tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
				return t.Key == corev1.TaintNodeNotReady
			})
			if !ready || tainted {
				return fmt.Errorf("node %s is not ready", n.Name)
			}
		}
		if !p.options.MachineConfig {
			return nil
		}
		return p.poolsUpdated(ctx, nodes.Items)
	})
}
