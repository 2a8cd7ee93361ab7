//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// netlink is a socket to the kernel's network configuration (rtnetlink(7)).
type netlink struct {
	fd  int
	seq uint32
}

func openNetlink() (*netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	return &netlink{fd: fd}, nil
}

func (n *netlink) close() { _ = unix.Close(n.fd) }

var native = binary.NativeEndian

// request sends one message and waits for its acknowledgement.
func (n *netlink) request(kind, flags uint16, body []byte) error {
	n.seq++
	m := native.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	m = native.AppendUint16(m, kind)
	m = native.AppendUint16(m, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = native.AppendUint32(m, n.seq)
	m = native.AppendUint32(m, 0) // from: the kernel fills it in
	if err := unix.Sendto(n.fd, append(m, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	var buf [8192]byte
	size, _, err := unix.Recvfrom(n.fd, buf[:], 0)
	if err != nil {
		return err
	}
	const errorAt = unix.NLMSG_HDRLEN
	if size < errorAt+4 || native.Uint16(buf[4:]) != unix.NLMSG_ERROR {
		return errors.New("rtnetlink: unexpected answer")
	}
	if code := int32(native.Uint32(buf[errorAt:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

// attribute appends one attribute, padded to four bytes.
func attribute(m []byte, kind uint16, data []byte) []byte {
	m = native.AppendUint16(m, uint16(unix.SizeofRtAttr+len(data)))
	m = native.AppendUint16(m, kind)
	m = append(m, data...)
	for len(m)%unix.RTA_ALIGNTO != 0 {
		m = append(m, 0)
	}
	return m
}

func number(v uint32) []byte { return native.AppendUint32(nil, v) }

// linkMessage is a struct ifinfomsg that asks for the interface to be up.
func linkMessage(index int) []byte {
	m := []byte{unix.AF_UNSPEC, 0, 0, 0} // family, padding, type
	m = append(m, number(uint32(index))...)
	m = append(m, number(unix.IFF_UP)...)
	return append(m, number(unix.IFF_UP)...) // the flags that are to change
}

func (n *netlink) setUp(index int) error {
	if err := n.request(unix.RTM_NEWLINK, 0, linkMessage(index)); err != nil {
		return fmt.Errorf("set interface %d up: %w", index, err)
	}
	return nil
}

// addLink creates an interface that is up, of the first kind that the kernel has. None of them sends anything
// anywhere; ifb does what dummy does, a bridge without ports has no carrier.
func (n *netlink) addLink(name string, index int) error {
	var err error
	for _, kind := range []string{"dummy", "ifb", "bridge"} {
		m := attribute(linkMessage(index), unix.IFLA_IFNAME, append([]byte(name), 0))
		m = attribute(m, unix.IFLA_LINKINFO, attribute(nil, unix.IFLA_INFO_KIND, append([]byte(kind), 0)))
		err = n.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m)
		if !errors.Is(err, syscall.EOPNOTSUPP) { // the answer to an unknown kind
			break
		}
	}
	if err != nil {
		return fmt.Errorf("create interface with index %d: %w", index, err)
	}
	return nil
}

// addAddress adds an address, without duplicate address detection: no host could answer, and until then the address
// would not be usable.
func (n *netlink) addAddress(index int, p netip.Prefix) error {
	family, flags, raw := uint8(unix.AF_INET), uint8(0), p.Addr().AsSlice()
	if p.Addr().Is6() {
		family, flags = unix.AF_INET6, unix.IFA_F_NODAD
	}
	m := []byte{family, uint8(p.Bits()), flags, unix.RT_SCOPE_UNIVERSE} // struct ifaddrmsg
	m = append(m, number(uint32(index))...)
	m = attribute(m, unix.IFA_LOCAL, raw)
	m = attribute(m, unix.IFA_ADDRESS, raw)
	if err := n.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m); err != nil {
		return fmt.Errorf("add address %s: %w", p, err)
	}
	return nil
}

// addDefault adds a default route; onlink, since the gateway of a pod need not lie in its subnet.
func (n *netlink) addDefault(index int, r defaultRoute) error {
	family, scope := uint8(unix.AF_INET), uint8(unix.RT_SCOPE_LINK)
	if r.gateway.Is6() {
		family, scope = unix.AF_INET6, unix.RT_SCOPE_UNIVERSE
	}
	flags := uint32(0)
	if !r.gateway.IsUnspecified() {
		flags, scope = unix.RTNH_F_ONLINK, unix.RT_SCOPE_UNIVERSE
	}
	m := []byte{family, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, scope, unix.RTN_UNICAST} // struct rtmsg
	m = append(m, number(flags)...)
	m = attribute(m, unix.RTA_OIF, number(uint32(index)))
	m = attribute(m, unix.RTA_PRIORITY, number(r.metric))
	if flags != 0 {
		m = attribute(m, unix.RTA_GATEWAY, r.gateway.AsSlice())
	}
	if err := n.request(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, m); err != nil {
		return fmt.Errorf("add default route on interface %d: %w", index, err)
	}
	return nil
}
