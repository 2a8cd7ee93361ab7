//go:build vm

package fabrictest

import (
	"context"
	"slices"
	"testing"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/vm"
)

// pair is two machines, each of which stands for a pod that owns the first virtual function of each card.
type pair struct {
	fabric *fabric.Fabric
	broken *vm.VM // has the fault
	other  *vm.VM
}

// bandwidth moves bytes by RDMA over a rail, from the machine with the fault to the other.
func (p pair) bandwidth(ctx context.Context, rail int) (perf.Bandwidth, error) {
	end := func(v *vm.VM) perf.End {
		return perf.End{Run: fault.In(v), HCA: v.Spec.Config.Cards[rail].VFs[0].HCA, GID: 1}
	}
	return perf.WriteBandwidth(ctx, end(p.other), end(p.broken), p.meetingPlace())
}

// meetingPlace returns the address at which perftest's client finds its server: on the second rail, for faults are made
// on the first.
func (p pair) meetingPlace() string {
	return p.other.Spec.Config.Cards[1].VFs[0].Address.Addr().String()
}

// railhead runs railhead-pod on the machine with the fault, where the pod's devices are allocated to it.
func (p pair) railhead(t *testing.T, within []string, args ...string) perf.Result {
	t.Helper()
	return podRun(t, p.broken, within, args...)
}

// podRun runs railhead-pod on a machine, with what the device plugin gives the pod that it stands for.
func podRun(t *testing.T, v *vm.VM, within []string, args ...string) perf.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := fault.In(v, fabric.Allocation(v)...)(ctx, slices.Concat(within, []string{program}, args)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
