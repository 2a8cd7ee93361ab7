package fault

import (
	"context"
	"slices"
	"strings"

	"github.com/railhead/railhead/lab/machines/vm"
)

// machineFaults are set when a machine boots.
func machineFaults() []Fault {
	healthy := func(s *vm.Spec) {
		s.IOMMU, s.Config.SharedRDMA = vm.Intel, true
		s.Arguments = append(withoutIOMMU(s.Arguments), "intel_iommu=on", "iommu=pt")
	}
	boots := func(name, title string, change func(*vm.Spec)) Fault {
		return Fault{Name: name, Title: title, Reboots: true, make: reboot(change), heal: reboot(healthy)}
	}
	return []Fault{
		boots("iommu-translated", "the IOMMU translates what the cards access", func(s *vm.Spec) {
			s.IOMMU, s.Arguments = vm.Intel, append(withoutIOMMU(s.Arguments), "intel_iommu=on")
		}),
		boots("iommu-translated-amd", "AMD's IOMMU translates: the cards' transmit unit hangs", func(s *vm.Spec) {
			s.IOMMU, s.Arguments = vm.AMD, withoutIOMMU(s.Arguments)
		}),
		boots("iommu-absent", "there is no IOMMU, though the kernel's log says Translated", func(s *vm.Spec) {
			s.IOMMU, s.Arguments = vm.NoIOMMU, withoutIOMMU(s.Arguments)
		}),
		boots(
			"rdma-exclusive",
			"RDMA devices belong to one network namespace each, and no plugin gives pods theirs",
			func(s *vm.Spec) {
				s.Config.SharedRDMA = false
			},
		),
	}
}

func reboot(change func(*vm.Spec)) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error { return m.Reboot(ctx, change) }
}

// withoutIOMMU are arguments of the kernel less those about the IOMMU.
func withoutIOMMU(arguments []string) []string {
	return slices.DeleteFunc(slices.Clone(arguments), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return strings.HasSuffix(name, "iommu")
	})
}
