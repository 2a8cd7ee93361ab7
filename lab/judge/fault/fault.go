// Package fault makes the faults of an RDMA fabric for real, on machines of the lab, and heals them.
package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// Machine is one machine of a lab that runs.
type Machine struct {
	Config guest.Config
	Run    perf.Exec
	// Service stops or starts one of its services.
	Service func(context.Context, guest.ServiceOrder) error
	// Reboot boots it as change leaves it, and waits until it is up.
	Reboot func(ctx context.Context, change func(*vm.Spec)) error
	// Plug puts the cable of a card in, or pulls it out.
	Plug func(ctx context.Context, card int, in bool) error
	// Cluster is the API server's, by an administrator; nil without Kubernetes.
	Cluster client.Client
	// Peer is another machine of the lab, to which it is connected; nil where there is none.
	Peer *Machine
}

// Fault is something that breaks or slows RDMA.
type Fault struct {
	Name  string
	Title string // the fault, as a fact
	// Reboots means that the machine reboots and loses its processes.
	Reboots bool
	// Nodes means that only machines that are nodes of a cluster can have it.
	Nodes bool
	// Namespace of the pod named Pod that has the fault: making the fault creates both, healing it removes both. "" for
	// faults of machines and of nodes.
	Namespace string
	// Doctor says which check names it.
	Doctor Doctor

	make, heal func(context.Context, *Machine) error
}

// Make makes the fault on a machine.
func (f Fault) Make(ctx context.Context, m *Machine) error { return f.do(ctx, m, f.make, "make") }

// Heal undoes it. To heal a fault that was not made is not an error.
func (f Fault) Heal(ctx context.Context, m *Machine) error { return f.do(ctx, m, f.heal, "heal") }

func (f Fault) do(ctx context.Context, m *Machine, what func(context.Context, *Machine) error, word string) error {
	if f.Nodes && m.Config.Node == nil {
		return fmt.Errorf("%s %s: %s is no node of a cluster", word, f.Name, m.Config.Name)
	}
	if err := what(ctx, m); err != nil {
		return fmt.Errorf("%s %s on %s: %w", word, f.Name, m.Config.Name, err)
	}
	return nil
}

// All returns every fault, in the order in which people look for them: the devices first, then the network, then the
// node, then the pod.
func All() []Fault {
	all := slices.Concat(linkFaults(), addressFaults(), networkFaults(), machineFaults(), nodeFaults(),
		networkPluginFaults(), podFaults())
	named := doctors()
	for i := range all {
		all[i].Doctor = named[all[i].Name]
	}
	return all
}

// Find returns the fault of a name.
func Find(name string) (Fault, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Fault{}, fmt.Errorf("there is no fault %s; there are %s", name, strings.Join(names, ", "))
}

// command runs a command that must end well.
func (m *Machine) command(ctx context.Context, argv ...string) (string, error) {
	r, err := m.Run(ctx, argv...)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("%s ended with %d: %s", strings.Join(argv, " "), r.Code, strings.TrimSpace(r.Stderr+r.Stdout))
	}
	return r.Stdout, err
}
