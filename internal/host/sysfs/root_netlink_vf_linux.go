package sysfs

import (
	"net/netip"
	"syscall"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

// ask makes an exchange on a socket of its own.
func ask(request []byte, each func(kind uint16, body []byte) (last bool)) error {
	socket, err := netlink.Open(syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer socket.Close()
	return socket.Exchange(make([]byte, 256<<10), request, each) // a PF's message holds all its VFs
}

// virtualFunctions asks for the interfaces of this namespace with the settings of their VFs.
func virtualFunctions() ([]host.Link, error) {
	const iflaExtMask, filterVF = 29, 1 // RTEXT_FILTER_VF
	body := append(make([]byte, 16), netlink.Attribute(iflaExtMask, netlink.Uint32(filterVF))...)
	var links []host.Link
	question := netlink.Request(syscall.RTM_GETLINK, syscall.NLM_F_DUMP, body)
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
	body = append(body, netlink.Attribute(syscall.RTA_DST, dst[:])...)
	body = append(body, netlink.Attribute(syscall.RTA_SRC, src[:])...)
	body = append(body, netlink.Attribute(syscall.RTA_OIF, netlink.Uint32(uint32(link)))...)
	var gateway netip.Addr
	err := ask(netlink.Request(syscall.RTM_GETROUTE, 0, body), func(_ uint16, body []byte) (last bool) {
		gateway, _ = netip.AddrFromSlice(parseGateway(body))
		return true
	})
	return gateway, err
}
