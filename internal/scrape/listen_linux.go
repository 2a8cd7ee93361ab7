package scrape

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

const (
	backlog   = 64
	exhausted = time.Second // pause when there are too many open files
)

// limits bound how long one client may take. Clients are served one after the other.
type limits struct {
	stall    time.Duration // without a byte
	patience time.Duration // for the whole request
}

// Listener accepts connections at one address.
type Listener struct {
	fd      int
	Address netip.AddrPort
	limits  limits
}

// Listen binds a TCP socket. An address for all interfaces accepts IPv6 and IPv4, or IPv4 alone if the kernel has no
// IPv6.
func Listen(address netip.AddrPort) (Listener, error) {
	l, err := listen(address)
	if errors.Is(err, syscall.EAFNOSUPPORT) && address.Addr() == netip.IPv6Unspecified() {
		l, err = listen(netip.AddrPortFrom(netip.IPv4Unspecified(), address.Port()))
	}
	if err != nil {
		return l, fmt.Errorf("listen on %v: %w", address, err)
	}
	return l, nil
}

func listen(address netip.AddrPort) (Listener, error) {
	family, sockaddr := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{
		Port: int(address.Port()), Addr: address.Addr().As16(),
	})
	if address.Addr().Is4() {
		family = syscall.AF_INET
		sockaddr = &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return Listener{}, err
	}
	if family == syscall.AF_INET6 { // IPv4 clients, too, whatever net.ipv6.bindv6only says
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0)
	}
	l := Listener{fd: fd, limits: limits{stall: 2 * time.Second, patience: 5 * time.Second}}
	err = errors.Join(err,
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, sockaddr), syscall.Listen(fd, backlog))
	if err == nil {
		l.Address, err = bound(fd)
	}
	if err != nil {
		l.Close()
	}
	return l, err
}

// bound returns the address of a socket: a port that was 0 is now a number.
func bound(fd int) (netip.AddrPort, error) {
	name, err := syscall.Getsockname(fd)
	switch name := name.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port)), err
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), uint16(name.Port)), err
	}
	return netip.AddrPort{}, err
}

// Close ends Serve.
func (l Listener) Close() {
	_ = syscall.Shutdown(l.fd, syscall.SHUT_RDWR) // an accept that waits returns EINVAL
	_ = syscall.Close(l.fd)
}

// Serve answers scrapes with the page until the listener is closed or broken.
func (l Listener) Serve(page func() []byte) error {
	for {
		fd, _, err := syscall.Accept4(l.fd, syscall.SOCK_CLOEXEC)
		switch {
		case err == nil:
			l.limits.serve(fd, page)
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM):
			<-time.After(exhausted)
		case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EBADF):
			return fmt.Errorf("accept on %v: %w", l.Address, err)
		}
		// All other errors concern one connection only (accept(2)).
	}
}

// serve answers one request. Only the client causes errors; it gets no answer then.
func (l limits) serve(fd int, page func() []byte) {
	defer func() { _ = syscall.Close(fd) }()
	limit := syscall.NsecToTimeval(l.stall.Nanoseconds())
	for _, option := range []int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &limit) != nil {
			return
		}
	}
	request, buf := make([]byte, 0, 1024), make([]byte, 1024)
	for begun := time.Now(); !complete(request) && len(request) < maxRequest; {
		n, err := syscall.Read(fd, buf)
		if n <= 0 && !errors.Is(err, syscall.EINTR) || time.Since(begun) > l.patience {
			return
		}
		request = append(request, buf[:max(n, 0)]...)
	}
	for rest := answer(request, page); len(rest) > 0; {
		n, err := syscall.Write(fd, rest)
		if n <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
		rest = rest[max(n, 0):]
	}
}
