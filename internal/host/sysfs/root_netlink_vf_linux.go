package sysfs

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"github.com/railhead/railhead/internal/host"
)

func netlinkSocket() (int, error) {
	return syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
}

// request makes a netlink message: struct nlmsghdr and its body.
func request(kind, flags uint16, body []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(syscall.NLMSG_HDRLEN+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags|syscall.NLM_F_REQUEST)
	return append(append(m, make([]byte, 8)...), body...)
}

func netlinkAttribute(kind uint16, value []byte) []byte {
	a := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	return append(binary.NativeEndian.AppendUint16(a, kind), value...)
}

func number32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// exchange sends a request and calls each for every message of the answer until that one says that it was the last.
func exchange(fd int, buf, request []byte, each func(kind uint16, body []byte) (last bool)) error {
	if err := send(fd, request); err != nil {
		return err
	}
	for {
		n, err := read(fd, buf)
		if err != nil {
			return err
		}
		for kind, body, rest := cutMessage(buf[:n]); kind != 0; kind, body, rest = cutMessage(rest) {
			switch {
			case kind == syscall.NLMSG_DONE:
				return nil
			case kind == syscall.NLMSG_ERROR:
				return errorOf(body)
			case each(kind, body):
				return nil
			}
		}
	}
}

// ask makes an exchange on a socket of its own.
func ask(request []byte, each func(kind uint16, body []byte) (last bool)) error {
	fd, err := netlinkSocket()
	if err != nil {
		return err
	}
	defer closeFile(fd)
	return exchange(fd, make([]byte, 256<<10), request, each) // a PF's message holds all its VFs
}

func errorOf(body []byte) error {
	if len(body) < 4 {
		return syscall.EINVAL
	}
	if errno := -int32(binary.NativeEndian.Uint32(body)); errno > 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// virtualFunctions asks for the interfaces of this namespace with the settings of their VFs.
func virtualFunctions() ([]host.Link, error) {
	const iflaExtMask, filterVF = 29, 1 // RTEXT_FILTER_VF
	body := append(make([]byte, 16), netlinkAttribute(iflaExtMask, number32(filterVF))...)
	var links []host.Link
	question := request(syscall.RTM_GETLINK, syscall.NLM_F_DUMP, body)
	err := ask(question, func(kind uint16, body []byte) (last bool) {
		if l, ok := parseLink(body); ok && kind == syscall.RTM_NEWLINK && len(l.VFs) > 0 {
			links = append(links, l)
		}
		return false
	})
	return links, err
}

// route asks how the kernel reaches dest from an address, bound to its interface; not valid: as a neighbour.
func route(from netip.Addr, link int, dest netip.Addr) (netip.Addr, error) {
	src, dst := from.As4(), dest.As4()
	// struct rtmsg: family, lengths of dest and source
	body := []byte{syscall.AF_INET, 32, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	body = append(body, netlinkAttribute(syscall.RTA_DST, dst[:])...)
	body = append(body, netlinkAttribute(syscall.RTA_SRC, src[:])...)
	body = append(body, netlinkAttribute(syscall.RTA_OIF, number32(uint32(link)))...)
	var gateway netip.Addr
	err := ask(request(syscall.RTM_GETROUTE, 0, body), func(_ uint16, body []byte) (last bool) {
		gateway, _ = netip.AddrFromSlice(parseGateway(body))
		return true
	})
	return gateway, err
}
