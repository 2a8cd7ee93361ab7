// Package machine makes what the lab's virtual machines boot and run from: a kernel, a root file system, QEMU, and the
// folder of programs that they share.
package machine

// Parts are what a virtual machine boots and runs from.
type Parts struct {
	Kernel        string // file of the kernel
	KernelRelease string // what uname -r says in it
	// Base is the root file system: a compressed cpio archive for -initrd, filled up to a multiple of four bytes, so that a
	// further archive may follow. It has no /init.
	Base string
	// QEMU is how to run qemu-system-x86_64: a program and its first arguments, then QEMUEnv besides the environment.
	QEMU    []string
	QEMUEnv []string
	// Programs is a folder with crun, modules/rdma_rxe_lab.ko and images/*.tar.
	Programs string
	// From are files and folders, one at least of every folder of the cache that the parts are or come from.
	From []string
	// Versions are those of what people ask for, by their names: Linux, QEMU, crun, perftest.
	Versions map[string]string
}
