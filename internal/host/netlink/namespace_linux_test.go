package netlink

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenIn: a socket is in the namespace of another process, and this thread is where it was.
func TestOpenIn(t *testing.T) {
	other := exec.Command("sleep", "3600")
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := other.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("needs CAP_SYS_ADMIN")
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	namespace := fmt.Sprintf("/proc/%d/ns/net", other.Process.Pid)
	before := inode(t, "/proc/thread-self/ns/net")
	sockets, err := openIn(namespace, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(sockets)
	fd, err := unix.IoctlRetInt(int(sockets[0]), unix.SIOCGSKNS) // the namespace of a socket (net/socket.c)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	want, got := inode(t, namespace), inode(t, fmt.Sprintf("/proc/self/fd/%d", fd))
	if got != want || want == before {
		t.Errorf("the socket is in %d, the process in %d, this thread in %d", got, want, before)
	}
	if after := inode(t, "/proc/thread-self/ns/net"); after != before {
		t.Errorf("this thread is in %d, and was in %d", after, before)
	}
	if _, err := openIn("/proc/self/status", unix.NETLINK_ROUTE); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("entering a file: %v", err)
	}
	if _, err := openIn("/proc/0/ns/net", unix.NETLINK_ROUTE); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that does not exist: %v", err)
	}
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}
