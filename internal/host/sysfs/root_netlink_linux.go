package sysfs

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/railhead/railhead/internal/host"
)

// interfaces lists the interfaces of this namespace that have an address, in the kernel's order: index, name, addresses
// and flags. It needs no privilege. A dump of all interfaces with their attributes takes five times as long as one of
// the addresses.
func interfaces() ([]host.Link, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer closeFile(fd)
	var links []host.Link
	err = dumpAddresses(fd, func(index int, prefix netip.Prefix) {
		i := slices.IndexFunc(links, func(l host.Link) bool { return l.Index.Value == index })
		if i < 0 {
			i = len(links)
			links = append(links, linkAt(fd, index))
		}
		links[i].Addresses.Value = append(links[i].Addresses.Value, prefix)
	})
	if err != nil {
		return nil, err
	}
	links = slices.DeleteFunc(links, func(l host.Link) bool { return l.Name == "" })
	sortByIndex(links)
	return links, nil
}

// dumpAddresses asks rtnetlink(7) for all addresses of this namespace. It parses the answer itself: package syscall
// does it in four hundred small allocations, and NetlinkRIB asks for the socket's name after every message.
func dumpAddresses(fd int, each func(index int, prefix netip.Prefix)) error {
	q := struct {
		header syscall.NlMsghdr
		addr   syscall.IfAddrmsg
	}{header: syscall.NlMsghdr{Type: syscall.RTM_GETADDR, Flags: syscall.NLM_F_REQUEST | syscall.NLM_F_DUMP}}
	q.header.Len = uint32(unsafe.Sizeof(q))
	if err := send(fd, unsafe.Slice((*byte)(unsafe.Pointer(&q)), q.header.Len)); err != nil {
		return err
	}
	// the kernel makes messages no longer than this, or than the last read (netlink_dump)
	buf := make([]byte, 8<<10)
	for {
		n, err := read(fd, buf)
		if err != nil {
			return err
		}
		for kind, message, rest := cutMessage(buf[:n]); kind != 0; kind, message, rest = cutMessage(rest) {
			switch kind {
			case syscall.NLMSG_DONE:
				return nil
			case syscall.NLMSG_ERROR:
				return syscall.EINVAL
			case syscall.RTM_NEWADDR:
				if index, prefix, ok := parseAddress(message); ok {
					each(index, prefix)
				}
			}
		}
	}
}

// cutMessage splits off the first netlink message: struct nlmsghdr, then its body; kind is 0 when there is none.
func cutMessage(data []byte) (kind uint16, body, rest []byte) {
	if len(data) < syscall.NLMSG_HDRLEN {
		return 0, nil, nil
	}
	length := int(binary.NativeEndian.Uint32(data))
	if length < syscall.NLMSG_HDRLEN || length > len(data) {
		return 0, nil, nil
	}
	aligned := min((length+3)&^3, len(data))
	return binary.NativeEndian.Uint16(data[4:]), data[syscall.NLMSG_HDRLEN:length], data[aligned:]
}

// parseAddress reads struct ifaddrmsg and its attributes: IFA_LOCAL where there is one, since on point-to-point links
// IFA_ADDRESS is the peer's.
func parseAddress(message []byte) (index int, prefix netip.Prefix, ok bool) {
	if len(message) < syscall.SizeofIfAddrmsg {
		return 0, prefix, false
	}
	bits, index := int(message[1]), int(binary.NativeEndian.Uint32(message[4:]))
	for rest := message[syscall.SizeofIfAddrmsg:]; len(rest) >= syscall.SizeofRtAttr; {
		length, kind := int(binary.NativeEndian.Uint16(rest)), binary.NativeEndian.Uint16(rest[2:])
		if length < syscall.SizeofRtAttr || length > len(rest) {
			break
		}
		ip, valid := netip.AddrFromSlice(rest[syscall.SizeofRtAttr:length])
		if valid && (kind == syscall.IFA_LOCAL || kind == syscall.IFA_ADDRESS && !ok) {
			prefix, ok = netip.PrefixFrom(ip, bits), true
		}
		rest = rest[min((length+3)&^3, len(rest)):]
	}
	return index, prefix, ok
}

// ifreq is struct ifreq (netdevice(7)) with an index or flags.
type ifreq struct {
	name  [syscall.IFNAMSIZ]byte
	value int32
	_     [20]byte
}

// linkAt asks for the name and the flags of an interface; any socket takes these requests (net/socket.c sock_do_ioctl).
// The name of one that is gone by now is empty.
func linkAt(fd, index int) host.Link {
	l := host.Link{Index: host.Know(index), Addresses: host.Know[[]netip.Prefix](nil)}
	r := ifreq{value: int32(index)}
	if ioctl(fd, syscall.SIOCGIFNAME, unsafe.Pointer(&r)) != nil {
		return l
	}
	l.Name, _, _ = strings.Cut(string(r.name[:]), "\x00")
	if ioctl(fd, syscall.SIOCGIFFLAGS, unsafe.Pointer(&r)) == nil {
		flags := *(*uint16)(unsafe.Pointer(&r.value))
		l.Up, l.Running = host.Know(flags&syscall.IFF_UP != 0), host.Know(flags&syscall.IFF_RUNNING != 0)
	}
	return l
}
