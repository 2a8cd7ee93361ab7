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
	err := WithRDMA(func(ask Exchange) (err error) {
		wire, err = ask.Read(now)
		return err
	})
	return wire, err
}

// WithRDMA opens RDMA netlink for a function.
func WithRDMA(use func(ask Exchange) error) error {
	socket, err := Open(unix.NETLINK_RDMA)
	if err != nil {
		return err
	}
	defer socket.Close()
	return use(socket.with(make([]byte, maxMessage)))
}
