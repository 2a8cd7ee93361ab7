package boot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Cgroups is the folder of the version 2 cgroups.
const Cgroups = "/sys/fs/cgroup"

// Controllers gives the cgroups below the root all controllers that the kernel has, as systemd does. Unlike other
// cgroups the root may have processes of its own, too (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process
// Constraint").
func Controllers() error {
	text, err := os.ReadFile(filepath.Join(Cgroups, "cgroup.controllers"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(Cgroups, "cgroup.subtree_control"),
		[]byte("+"+strings.Join(strings.Fields(string(text)), " +")), 0)
}

// sysctls of every machine. Several cards of a machine may be on one segment: without the ARP settings each of them
// answers for the addresses of all (Documentation/networking/ip-sysctl.rst, arp_ignore, arp_announce).
var sysctls = []struct{ name, value string }{
	{"net/ipv4/ip_forward", "1"},
	{"net/ipv4/conf/all/arp_ignore", "1"},
	{"net/ipv4/conf/all/arp_announce", "2"},
	{"kernel/printk_devkmsg", "on\n"}, // else the kernel drops lines of who writes more than ten in five seconds
}

// Sysctls sets the kernel parameters of every machine of the lab.
func Sysctls() error {
	for _, s := range sysctls {
		if err := os.WriteFile(filepath.Join("/proc/sys", s.name), []byte(s.value), 0); err != nil {
			return err
		}
	}
	return nil
}

// Name gives the machine its name, in the kernel and in the files that programs ask.
func Name(name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := os.WriteFile("/etc/hostname", []byte(name+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile("/etc/hosts", []byte("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 "+name+"\n"), 0o644)
}
