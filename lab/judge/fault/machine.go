package fault

import (
	"bytes"
	"context"

	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

// On returns the machine of a fabric on which faults are made; its peer is the next one.
func On(f *fabric.Fabric, v *vm.VM) *Machine {
	m := single(f, v)
	for i, other := range f.Machines {
		if other == v && len(f.Machines) > 1 {
			m.Peer = single(f, f.Machines[(i+1)%len(f.Machines)])
		}
	}
	return m
}

func single(f *fabric.Fabric, v *vm.VM) *Machine {
	m := &Machine{
		Config: v.Spec.Config, Run: In(v), Service: v.Agent.Service, Plug: v.Plug,
		Reboot: func(ctx context.Context, change func(*vm.Spec)) error { return f.Reboot(ctx, v, change) },
	}
	if f.ControlPlane != nil {
		m.Cluster = f.ControlPlane.Client()
	}
	return m
}

// AwaitPorts waits until every RDMA port that the machine shows is active: when a physical function is up again, the
// driver of a virtual function takes some seconds to see its carrier.
func (m *Machine) AwaitPorts(ctx context.Context) error {
	return script(
		"inactive() { grep -Lw ACTIVE /sys/class/infiniband/*/ports/*/state | grep .; }",
		"for try in $(seq 120); do inactive >/dev/null || exit 0; sleep 0.5; done",
		"echo not active after a minute: $(inactive); exit 1",
	)(ctx, m)
}

// In runs commands in a machine, with variables of the environment besides PATH and HOME.
func In(v *vm.VM, env ...string) perf.Exec {
	return func(ctx context.Context, argv ...string) (perf.Result, error) {
		var stdout, stderr bytes.Buffer
		code, err := v.Agent.Exec(ctx, guest.Exec{Argv: argv, Env: env}, &stdout, &stderr)
		return perf.Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}, err
	}
}
