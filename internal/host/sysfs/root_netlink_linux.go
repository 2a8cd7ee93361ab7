package sysfs

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

// interfaces lists the interfaces of this namespace that have an address, in the kernel's order: index, name, addresses
// and flags. It needs no privilege. A dump of all interfaces with their attributes takes five times as long as one of
// the addresses, and package syscall would make four hundred small allocations of it.
func interfaces() ([]host.Link, error) {
	socket, err := netlink.Open(syscall.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	var links []host.Link
	all := netlink.Request(syscall.RTM_GETADDR, syscall.NLM_F_DUMP, make([]byte, syscall.SizeofIfAddrmsg))
	// the kernel makes messages no longer than this, or than the last read (netlink_dump)
	err = socket.Exchange(make([]byte, 8<<10), all, func(kind uint16, message []byte) (last bool) {
		index, prefix, ok := parseAddress(message)
		if kind != syscall.RTM_NEWADDR || !ok {
			return false
		}
		i := slices.IndexFunc(links, func(l host.Link) bool { return l.Index.Value == index })
		if i < 0 {
			i = len(links)
			links = append(links, linkAt(int(socket), index))
		}
		links[i].Addresses.Value = append(links[i].Addresses.Value, prefix)
		return false
	})
	if err != nil {
		return nil, err
	}
	links = slices.DeleteFunc(links, func(l host.Link) bool { return l.Name == "" })
	sortByIndex(links)
	return links, nil
}

// parseAddress reads struct ifaddrmsg and its attributes: IFA_LOCAL where there is one, since on point-to-point links
// IFA_ADDRESS is the peer's.
func parseAddress(message []byte) (index int, prefix netip.Prefix, ok bool) {
	if len(message) < syscall.SizeofIfAddrmsg {
		return 0, prefix, false
	}
	bits, index := int(message[1]), int(binary.NativeEndian.Uint32(message[4:]))
	netlink.EachAttribute(message[syscall.SizeofIfAddrmsg:], func(kind uint16, value []byte) {
		ip, valid := netip.AddrFromSlice(value)
		if valid && (kind == syscall.IFA_LOCAL || kind == syscall.IFA_ADDRESS && !ok) {
			prefix, ok = netip.PrefixFrom(ip, bits), true
		}
	})
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
