package netlink

import (
	"syscall"
	"unsafe"
)

// Socket is a netlink socket. Its calls bypass the scheduler, because the kernel answers within the call.
type Socket int

// Open returns a socket of a family, such as NETLINK_ROUTE. It needs no privilege.
func Open(family int) (Socket, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, family)
	return Socket(fd), err
}

// Close closes the socket.
func (s Socket) Close() { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(s), 0, 0) }

// Exchange sends a request and calls each for every message of the answer until that one says that it was the last.
func (s Socket) Exchange(buf, request []byte, each func(kind uint16, body []byte) (last bool)) error {
	if _, err := s.call(syscall.SYS_WRITE, request); err != nil { // a datagram goes whole or not at all
		return err
	}
	for {
		n, err := s.call(syscall.SYS_READ, buf)
		if err != nil {
			return err
		}
		for kind, body, rest := Cut(buf[:n]); kind != 0; kind, body, rest = Cut(rest) {
			switch {
			case kind == syscall.NLMSG_ERROR,
				kind == syscall.NLMSG_DONE: // with the error that ended the dump (netlink_dump_done)
				return errorOf(body)
			case each(kind, body):
				return nil
			}
		}
	}
}

// with returns the Exchange of a socket.
func (s Socket) with(buf []byte) Exchange {
	return func(request []byte, each func(kind uint16, body []byte) (last bool)) error {
		return s.Exchange(buf, request, each)
	}
}

func (s Socket) call(number uintptr, data []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(number, uintptr(s), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
