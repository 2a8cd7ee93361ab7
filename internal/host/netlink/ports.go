package netlink

import (
	"encoding/binary"

	"github.com/railhead/railhead/internal/host"
)

// Messages of route netlink (include/uapi/linux/rtnetlink.h, if_link.h).
const (
	linkGet     = 18 // RTM_GETLINK
	linkInfo    = 16 // size of struct ifinfomsg
	attrLinkMTU = 4  // IFLA_MTU
)

// Port is a port of an RDMA device.
type Port struct {
	Device string
	Number int
}

// InterfaceMTUs returns the MTUs of the interfaces of RDMA ports. The kernel names an interface only to the network
// namespace that it is in, whichever namespace the device belongs to (drivers/infiniband/core/nldev.c fill_port_info).
func InterfaceMTUs(rdma, route Exchange) (map[Port]host.Fact[int], error) {
	devices, err := rdma.devices()
	if err != nil {
		return nil, err
	}
	all := map[Port]host.Fact[int]{}
	for _, d := range devices {
		for n := uint32(1); n <= d.ports; n++ {
			if mtu := interfaceMTU(rdma, route, portOf(d, n)); !mtu.IsZero() {
				all[Port{d.name, int(n)}] = mtu
			}
		}
	}
	return all, nil
}

// interfaceMTU returns the MTU of the interface of a port; absent: it has none here.
func interfaceMTU(rdma, route Exchange, port []byte) (mtu host.Fact[int]) {
	var index uint32
	err := rdma(Request(portGet, 0, port), func(_ uint16, body []byte) (last bool) {
		index = parseInterface(body)
		return true
	})
	if err == nil && index > 0 {
		err = route(Request(linkGet, 0, linkAt(index)), func(_ uint16, body []byte) (last bool) {
			mtu = parseMTU(body)
			return true
		})
	}
	if err != nil {
		return host.Unread[int](err.Error())
	}
	return mtu
}

// portOf returns the attributes that name a port.
func portOf(d device, number uint32) []byte {
	return append(about(d), Attribute(attrPortIndex, Uint32(number))...)
}

// linkAt returns struct ifinfomsg that asks for an interface by its index.
func linkAt(index uint32) []byte {
	const at = 4 // ifi_index
	info := make([]byte, linkInfo)
	binary.NativeEndian.PutUint32(info[at:], index)
	return info
}

// parseInterface returns the index of a port's interface; 0: it has none in this network namespace.
func parseInterface(body []byte) (index uint32) {
	EachAttribute(body, func(kind uint16, value []byte) {
		if kind == attrInterface {
			index = number(value)
		}
	})
	return index
}

func parseMTU(body []byte) (mtu host.Fact[int]) {
	EachAttribute(body[min(linkInfo, len(body)):], func(kind uint16, value []byte) {
		if n := number(value); kind == attrLinkMTU && n > 0 {
			mtu = host.Know(int(n))
		}
	})
	return mtu
}
