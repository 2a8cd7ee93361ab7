package fabric

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/lab/machines/vm"
)

// Allocation is the environment that the SR-IOV device plugin would give a pod in place of a machine without
// Kubernetes: the first virtual function of each card. It is none on a node, whose pods have theirs from the device
// plugin.
func Allocation(v *vm.VM) []string {
	if v.Spec.Config.Node != nil {
		return nil
	}
	var env []string
	for i, card := range v.Spec.Config.Cards {
		// The cards are behind root ports of their own, whose buses are numbered from 1; igb's first function is 10.0.
		env = append(env, fmt.Sprintf("PCIDEVICE_OPENSHIFT_IO_%sRDMA=0000:%02x:10.0", strings.ToUpper(card.Name), i+1))
	}
	return env
}
