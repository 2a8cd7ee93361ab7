package netlink

import (
	"syscall"
	"testing"
)

// TestEndOfDump: the last message of a dump has the error that ended it.
func TestEndOfDump(t *testing.T) {
	for name, want := range map[string]syscall.Errno{"complete": 0, "a queue pair cannot be queried": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			kernel, socket := Socket(fds[0]), Socket(fds[1])
			defer kernel.Close()
			defer socket.Close()
			done := Request(syscall.NLMSG_DONE, 0, Uint32(uint32(-int32(want))))
			if _, err := syscall.Write(int(kernel), done); err != nil {
				t.Fatal(err)
			}
			got := dump(socket.with(make([]byte, 64)), resQPGet, device{name: "mlx5_6"}, parseQueuePairs)
			if got.IsKnown() != (want == 0) || want != 0 && got.Why != want.Error() {
				t.Errorf("%+v", got)
			}
		})
	}
}
