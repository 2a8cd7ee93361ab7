package vm

// Accel is what runs the instructions of a machine.
type Accel string

// What QEMU can run a machine by.
const (
	TCG Accel = "tcg" // emulation, which works everywhere
	KVM Accel = "kvm" // this host's own processor
)

// arguments are those of QEMU.
func (a Accel) arguments() []string {
	if a == KVM {
		// Intel's IOMMU remaps interrupts only where KVM leaves the IO-APIC to QEMU: hw/i386/intel_iommu.c.
		return []string{"-accel", "kvm,kernel-irqchip=split", "-cpu", "host"}
	}
	// A smaller cache for translated code costs little and saves a third of the memory.
	return []string{"-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"}
}
