package netlink

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/host"
)

// InterfaceMTUsIn returns the MTUs of the interfaces of RDMA ports in another network namespace, such as
// /proc/71/ns/net. It needs CAP_SYS_ADMIN (net/core/net_namespace.c netns_install).
func InterfaceMTUsIn(namespace string) (map[Port]host.Fact[int], error) {
	sockets, err := openIn(namespace, unix.NETLINK_RDMA, unix.NETLINK_ROUTE)
	defer closeAll(sockets)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, maxMessage)
	return InterfaceMTUs(sockets[0].with(buf), sockets[1].with(buf))
}

// openIn opens sockets in a network namespace. They stay in it, and the thread returns to its own.
func openIn(namespace string, families ...int) ([]Socket, error) {
	there, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", namespace, err)
	}
	defer unix.Close(there)
	here, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open own network namespace: %w", err)
	}
	defer unix.Close(here)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Setns(there, unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter %s: %w", namespace, err)
	}
	sockets, err := openAll(families)
	if back := unix.Setns(here, unix.CLONE_NEWNET); back != nil {
		panic(fmt.Sprintf("return from %s: %v", namespace, back)) // or this thread would read a pod as the node
	}
	return sockets, err
}

func openAll(families []int) (sockets []Socket, err error) {
	for _, family := range families {
		s, err := Open(family)
		if err != nil {
			return sockets, fmt.Errorf("open netlink socket of family %d: %w", family, err)
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

func closeAll(sockets []Socket) {
	for _, s := range sockets {
		s.Close()
	}
}
