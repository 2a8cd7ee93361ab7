// Package image makes the parts that the lab's virtual machines boot and run from: a kernel, a root file system,
// QEMU, and the folder of programs that they share.
package image

// Parts has the files that a virtual machine boots and runs from.
type Parts struct {
	Kernel        string // file of the kernel
	KernelRelease string // uname -r in the machine
	// Base is the root file system: a compressed cpio archive for -initrd, filled up to a multiple of four bytes, so
	// that a further archive may follow. It has no /init.
	Base string
	// QEMU runs qemu-system-x86_64: a program and its first arguments. QEMUEnv is added to the environment.
	QEMU    []string
	QEMUEnv []string
	// Programs is a folder with crun, modules/rdma_rxe_lab.ko and images/*.tar.
	Programs string
	// From are files and folders, one at least of every folder of the cache that the parts are or come from.
	From []string
	// Versions has the versions by name: Linux, QEMU, crun, perftest.
	Versions map[string]string
}
