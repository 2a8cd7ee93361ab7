package image

import (
	"time"

	"github.com/railhead/railhead/lab/machines/debian"
)

// unread are folders of packages that no program reads.
func unread() []string {
	return []string{
		"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/info",
		"usr/share/bash-completion",
		"usr/share/bug", "usr/share/zsh", "usr/lib/x86_64-linux-gnu/gconv", "var",
	}
}

// installers are packages for the scripts of an installation, which does not take place.
func installers() []string {
	return []string{
		"adduser", "debconf", "passwd", "login*", "libpam*", "libsemanage*", "perl*", "libperl*", "init-system-helpers",
		"udev",
		"systemd*", "libsystemd-shared", "initramfs-tools*", "dracut*", "klibc*", "libklibc", "linux-base", "cpio",
		"logsave",
	}
}

// emulator is QEMU.
func emulator() debian.Set {
	return debian.Set{
		Name:     "qemu",
		What:     "QEMU",
		Packages: []string{"qemu-system-x86"},
		Without:  installers(),
		First:    20 * time.Second,
		Drop: append(unread(), "usr/bin/qemu-system-i386", "usr/bin/qemu-system-x86_64-microvm",
			"usr/share/qemu/*ppc*", "usr/share/qemu/*sparc*", "usr/share/qemu/skiboot*", "usr/share/qemu/slof*"),
	}
}

// system has the files for the machines' root file system and their pods' image, and the program that starts
// containers.
func system() debian.Set {
	return debian.Set{
		Name: "system", What: "the machines' programs", Without: installers(), First: 30 * time.Second, Drop: unread(),
		Packages: []string{
			"busybox-static", "bash", "kmod", "mount", "util-linux", "libcap2-bin", "strace", "pci.ids",
			"rdma-core", "ibverbs-utils", "ibverbs-providers", "perftest", "rdmacm-utils", "infiniband-diags",
			"iproute2", "iputils-ping", "iperf3", "pciutils", "ethtool", "nftables", "tcpdump",
			"crun",
		},
	}
}

// mpi has Open MPI with UCX, NetPIPE and ucx_perftest, which measure what MPI and UCX carry, and OpenSSH, which starts
// the ranks. Only a module of UCX that is left out needs the libraries of AMD's GPUs.
func mpi() debian.Set {
	return debian.Set{
		Name: "mpi", What: "MPI and SSH", First: 20 * time.Second, Drop: unread(),
		Packages: []string{"openmpi-bin", "netpipe-openmpi", "ucx-utils", "openssh-client", "openssh-server"},
		Without:  []string{"libamd*", "libhsa*", "libllvm*", "libz3*", "perl*", "systemd"},
	}
}

// kernel is the kernel, its source, and the tools to build a module for it: one set, so that they are of the same
// version.
func kernel() debian.Set {
	return debian.Set{
		Name: "kernel", What: "the kernel, its source and a compiler", First: time.Minute,
		Packages: []string{
			"linux-image-amd64", "linux-headers-amd64", "linux-source", "kmod", "make", "gcc", "patch", "xz-utils",
		},
		Without: append(installers(), "libasan*", "liblsan*", "libtsan*", "libhwasan*", "libubsan*"),
		Drop:    append(unread(), "boot/System.map-*", "usr/libexec/gcc/x86_64-linux-gnu/*/lto*"),
	}
}
