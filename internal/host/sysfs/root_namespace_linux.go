package sysfs

import (
	"fmt"
	"os"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

// processes is the mount point of a proc file system.
type processes string

// namespace returns the network namespace of a process, or "" if this process is in the same one. Only a process that
// may trace the other one can read its link (proc(5)).
func (p processes) namespace(pid int) (string, error) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	other, err := os.Readlink(p.networkOf(pid))
	if err != nil || other == own {
		return "", err
	}
	return other, nil
}

func (p processes) interfaceMTUs(pid int) (map[netlink.Port]host.Fact[int], error) {
	return netlink.InterfaceMTUsIn(p.networkOf(pid))
}

func (p processes) networkOf(pid int) string { return fmt.Sprintf("%s/%d/ns/net", p, pid) }
