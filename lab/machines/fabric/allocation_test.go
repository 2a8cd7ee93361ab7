package fabric

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/vm"
)

func TestAllocation(t *testing.T) {
	v := &vm.VM{Spec: vm.Spec{Config: Options{PodsOnly: true}.config(1, "token")}}
	want := []string{
		"PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA=0000:01:10.0",
		"PCIDEVICE_OPENSHIFT_IO_ENO6NP0RDMA=0000:02:10.0",
	}
	if diff := cmp.Diff(want, Allocation(v)); diff != "" {
		t.Errorf("of a machine that stands for a pod (-want +got):\n%s", diff)
	}
	v.Spec.Config.Node = &guest.Node{}
	if got := Allocation(v); got != nil {
		t.Errorf("of a node: %q", got)
	}
}
