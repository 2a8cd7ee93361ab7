package vm

import "fmt"

// Accel runs the instructions of a machine: KVM or QEMU's emulation.
type Accel string

// What QEMU can run a machine by.
const (
	TCG Accel = "tcg" // emulation, which works everywhere
	KVM Accel = "kvm" // this host's own processor
)

// The memory of QEMU itself for translated code, in MiB. Where the code of a machine's programs does not fit, all of
// it is thrown away and translated again: with 256 MiB a node did so every other pod, and needed nearly twice the
// time for each.
const (
	codeOfNode    = 480
	codeOfMachine = 256
)

// arguments returns QEMU's arguments. The cache is the MiB for translated code.
func (a Accel) arguments(cache int) []string {
	if a == KVM {
		// Intel's IOMMU remaps interrupts only where KVM leaves the IO-APIC to QEMU: hw/i386/intel_iommu.c.
		return []string{"-accel", "kvm,kernel-irqchip=split", "-cpu", "host"}
	}
	// Where the processor says that it copies bytes fast (ERMS, FSRM), the kernel has it copy them one by one, which
	// is slow to emulate; so are page tables of five levels.
	return []string{"-accel", fmt.Sprintf("tcg,thread=multi,tb-size=%d", cache), "-cpu", "max,-erms,-fsrm,-la57"}
}

// kernelArguments are added to every kernel.
func (a Accel) kernelArguments() []string {
	// On a busy host an emulated kernel finds its timer late, and would panic.
	always := []string{"console=ttyS0", "panic=-1", "quiet", "no_timer_check"}
	if a == KVM {
		return always
	}
	// What costs an emulated processor much, and protects nothing here.
	return append(always, "mitigations=off", "init_on_alloc=0", "transparent_hugepage=never")
}
