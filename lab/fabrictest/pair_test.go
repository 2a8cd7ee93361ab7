//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/fabric"
	"github.com/railhead/railhead/lab/fault"
	"github.com/railhead/railhead/lab/perf"
	"github.com/railhead/railhead/lab/vm"
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

// meetingPlace is where perftest's client finds its server: on the second rail, for faults are made on the first.
func (p pair) meetingPlace() string {
	return p.other.Spec.Config.Cards[1].VFs[0].Address.Addr().String()
}

// railhead runs railhead-pod on the machine with the fault, where the pod's devices are allocated to it.
func (p pair) railhead(t *testing.T, within []string, args ...string) perf.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := fault.In(p.broken, p.allocation()...)(ctx, slices.Concat(within, []string{program}, args)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// allocation is the environment that the device plugin gives a pod.
func (p pair) allocation() []string {
	var env []string
	for i, rail := range fabric.Rails() {
		env = append(env, fmt.Sprintf("PCIDEVICE_OPENSHIFT_IO_%sRDMA=0000:%02x:10.0", strings.ToUpper(rail), i+1))
	}
	return env
}
