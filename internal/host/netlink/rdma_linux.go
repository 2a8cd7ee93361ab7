package netlink

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/host"
)

// Wire reads all RDMA devices of this network namespace. It needs no privilege, but a security module may forbid the
// socket (EACCES).
func Wire(now func() time.Time) (host.Wire, error) {
	var wire host.Wire
	err := With(unix.NETLINK_RDMA, func(ask Exchange) (err error) {
		wire, err = ask.Read(now)
		return err
	})
	return wire, err
}

// With opens a family of netlink for a function.
func With(family int, use func(ask Exchange) error) error {
	socket, err := Open(family)
	if err != nil {
		return err
	}
	defer socket.Close()
	return use(socket.with(make([]byte, maxMessage)))
}
