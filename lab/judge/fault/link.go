package fault

import "context"

// linkFaults are faults of ports and links.
func linkFaults() []Fault {
	return []Fault{
		{
			Name: "vf-down", Title: "the virtual functions of a rail are down",
			make: eachFunction(keepAddresses, "ip link set DEV down"),
			heal: eachFunction("ip link set DEV up", restoreAddresses),
		},
		{
			Name: "pf-down", Title: "the physical function of a rail is down, so its virtual functions have no carrier",
			make: onCard("ip link set CARD down"),
			heal: onCard("ip link set CARD up"),
		},
		{
			Name: "port-down", Title: "a rail's cable is out: its functions are up, and the RDMA port is down",
			// The emulated card does not tell its virtual functions that the link has gone; a reset does, as the
			// mailbox of a real one would.
			make: sequence(plug(false), onCard("ethtool -r CARD")),
			heal: plug(true),
		},
		{
			Name: "wrong-mac", Title: "the physical function enforces another MAC than its virtual functions have",
			make: onCard("ip link set CARD vf 0 mac 02:de:ad:00:00:01", "ip link set CARD vf 1 mac 02:de:ad:00:00:02"),
			heal: onCard("ip link set CARD vf 0 mac MAC0", "ip link set CARD vf 1 mac MAC1"),
		},
		{
			Name: "verbs-missing", Title: "the folder of the verbs nodes, /dev/infiniband, is missing",
			make: script("mv /dev/infiniband /dev/infiniband.away"),
			heal: script("test -e /dev/infiniband || mv /dev/infiniband.away /dev/infiniband"),
		},
		{
			Name: "mtu", Title: "a rail has an MTU of 9000 on one machine, and of 1500 on the other",
			make: sequence(onCard("ip link set CARD mtu 9000"), eachFunction("ip link set DEV mtu 9000")),
			heal: sequence(eachFunction("ip link set DEV mtu 1500"), onCard("ip link set CARD mtu 1500")),
		},
	}
}

// An interface that goes down loses its IPv6 addresses, a flushed one all of them, so a file keeps them.
const (
	keepAddresses    = "test -e /run/addresses-MAC || ip addr save dev DEV > /run/addresses-MAC"
	restoreAddresses = "test ! -e /run/addresses-MAC || " +
		"{ ip addr flush dev DEV; ip addr restore < /run/addresses-MAC; rm /run/addresses-MAC; }"
)

// plug sets whether the first card has its cable in.
func plug(in bool) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error { return m.Plug(ctx, 0, in) }
}

// sequence does one thing after the other.
func sequence(all ...func(context.Context, *Machine) error) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		for _, do := range all {
			if err := do(ctx, m); err != nil {
				return err
			}
		}
		return nil
	}
}
