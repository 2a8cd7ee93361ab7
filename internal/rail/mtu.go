package rail

// RDMAMTU returns the MTU of RoCE over an interface of the given MTU: the largest of 256 to 4096 that leaves room for
// all headers, 0 if none does. 1500 gives 1024. The kernel reserves 96 bytes (include/rdma/ib_addr.h, iboe_get_mtu:
// GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4).
func RDMAMTU(netdev int) int {
	const headers = 40 + 8 + 12 + 4 + 28 + 4
	for mtu := 4096; mtu >= 256; mtu /= 2 {
		if netdev-headers >= mtu {
			return mtu
		}
	}
	return 0
}
