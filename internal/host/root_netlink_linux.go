package host

import (
	"net/netip"
	"strings"
	"syscall"
	"unsafe"
)

// interfaces asks rtnetlink for the interfaces of this namespace and their addresses; no privilege is needed for it.
func interfaces() ([]Link, error) {
	messages, err := dump(syscall.RTM_GETLINK)
	if err != nil {
		return nil, err
	}
	var links []Link
	at := map[int]int{} // interface index -> place in links
	for i := range messages {
		if l, ok := linkOf(&messages[i]); ok {
			at[l.Index.Value] = len(links)
			links = append(links, l)
		}
	}
	if messages, err = dump(syscall.RTM_GETADDR); err != nil {
		return nil, err
	}
	for i := range messages {
		index, prefix, ok := addressOf(&messages[i])
		if place, known := at[index]; ok && known {
			links[place].Addresses.Value = append(links[place].Addresses.Value, prefix)
		}
	}
	return links, nil
}

func dump(request int) ([]syscall.NetlinkMessage, error) {
	table, err := syscall.NetlinkRIB(request, syscall.AF_UNSPEC)
	if err != nil {
		return nil, err
	}
	return syscall.ParseNetlinkMessage(table)
}

// linkOf reads one RTM_NEWLINK (rtnetlink(7)).
func linkOf(m *syscall.NetlinkMessage) (Link, bool) {
	if m.Header.Type != syscall.RTM_NEWLINK || len(m.Data) < syscall.SizeofIfInfomsg {
		return Link{}, false
	}
	info := (*syscall.IfInfomsg)(unsafe.Pointer(&m.Data[0]))
	l := Link{Index: Know(int(info.Index)), Up: Know(info.Flags&syscall.IFF_UP != 0), Addresses: Know[[]netip.Prefix](nil)}
	if l.Up.Value {
		const lowerUp = 0x10000 // IFF_LOWER_UP: what /sys/class/net/*/carrier shows
		l.Carrier = Know(info.Flags&lowerUp != 0)
	}
	attrs, err := syscall.ParseNetlinkRouteAttr(m)
	for _, a := range attrs {
		switch {
		case a.Attr.Type == syscall.IFLA_IFNAME:
			l.Name = strings.TrimRight(string(a.Value), "\x00")
		case a.Attr.Type == syscall.IFLA_MTU && len(a.Value) >= 4:
			l.MTU = Know(int(*(*uint32)(unsafe.Pointer(&a.Value[0]))))
		}
	}
	return l, err == nil && l.Name != ""
}

// addressOf reads one RTM_NEWADDR: IFA_LOCAL where there is one, since on point-to-point links IFA_ADDRESS is the peer.
func addressOf(m *syscall.NetlinkMessage) (index int, prefix netip.Prefix, ok bool) {
	if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg {
		return 0, prefix, false
	}
	info := (*syscall.IfAddrmsg)(unsafe.Pointer(&m.Data[0]))
	attrs, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return 0, prefix, false
	}
	for _, a := range attrs {
		if a.Attr.Type != syscall.IFA_LOCAL && (a.Attr.Type != syscall.IFA_ADDRESS || ok) {
			continue
		}
		if ip, valid := netip.AddrFromSlice(a.Value); valid {
			prefix, ok = netip.PrefixFrom(ip, int(info.Prefixlen)), true
		}
	}
	return int(info.Index), prefix, ok
}

// ifreq is struct ifreq with a socket address (netdevice(7)).
type ifreq struct {
	name [syscall.IFNAMSIZ]byte
	addr syscall.RawSockaddrInet4
	_    [8]byte
}

// ifconf is struct ifconf.
type ifconf struct {
	length int32
	buf    *ifreq
}

// addressed lists the IPv4 addresses by one ioctl where rtnetlink takes a dozen calls.
func addressed() ([]Link, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	table := make([]ifreq, 256)
	conf := ifconf{length: int32(len(table)) * int32(unsafe.Sizeof(ifreq{})), buf: &table[0]}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCGIFCONF, uintptr(unsafe.Pointer(&conf))); errno != 0 {
		return nil, errno
	}
	n := int(conf.length) / int(unsafe.Sizeof(ifreq{}))
	if n == len(table) {
		return nil, syscall.ENOBUFS // there may be more
	}
	var links []Link
	for _, r := range table[:n] {
		name, _, _ := strings.Cut(strings.TrimRight(string(r.name[:]), "\x00"), ":") // eth0:1 is a label
		ip := netip.PrefixFrom(netip.AddrFrom4(r.addr.Addr), 32)
		if last := len(links) - 1; last >= 0 && links[last].Name == name {
			links[last].Addresses.Value = append(links[last].Addresses.Value, ip)
			continue
		}
		links = append(links, Link{Name: name, Up: Know(true), Addresses: Know([]netip.Prefix{ip})})
	}
	return links, nil
}
