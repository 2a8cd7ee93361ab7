package host

import "time"

// Wire has the queue pairs and counters of the RDMA devices that this network namespace may use, from RDMA netlink
// (drivers/infiniband/core/nldev.c).
type Wire struct {
	Taken   time.Time    `json:"taken"`
	Devices []WireDevice `json:"devices"`
	Links   []WireLink   `json:"links,omitempty"`
	// Pods are the UIDs of the pods of processes with queue pairs, where their cgroups show them, as on a node.
	Pods map[int]string `json:"pods,omitempty"`
}

// Device returns a device by its name.
func (w Wire) Device(name string) (WireDevice, bool) {
	for _, d := range w.Devices {
		if d.Name == name {
			return d, true
		}
	}
	return WireDevice{}, false
}

// WireLink has the bytes that an interface of this network namespace counted. RDMA of hardware bypasses them.
type WireLink struct {
	Name     string       `json:"name"`
	Sent     Fact[uint64] `json:"sent,omitzero"`     // /sys/class/net/<name>/statistics/tx_bytes
	Received Fact[uint64] `json:"received,omitzero"` // rx_bytes
}

// WireDevice is one device. The driver is asked for each queue pair, so Taken differs from device to device.
type WireDevice struct {
	Name       string            `json:"name"` // mlx5_6
	Taken      time.Time         `json:"taken"`
	QueuePairs Fact[[]QueuePair] `json:"queuePairs,omitzero"`
	Ports      []WirePort        `json:"ports,omitempty"`
	// Openers are the processes that opened the device, unless they are of another PID namespace. Old kernels refuse.
	Openers Fact[[]Process] `json:"openers,omitzero"`
	// Objects counts the objects of all users of the device by kind, as rdma(8) names them: pd, cq, qp, mr, ctx, ....
	Objects Fact[map[string]uint64] `json:"objects,omitzero"`
}

// Process is a process of this PID namespace.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program,omitempty"` // /proc/PID/comm
}

// WirePort has the hardware counters of a port, by the driver's names, and the bytes of all its packets with their
// headers. Bytes are not in netlink: a pod that shares its RDMA devices with the node does not see them.
type WirePort struct {
	Number   int                     `json:"number"`
	Counters Fact[map[string]uint64] `json:"counters,omitzero"`
	Sent     Fact[uint64]            `json:"sent,omitzero"`     // 4 * counters/port_xmit_data
	Received Fact[uint64]            `json:"received,omitzero"` // 4 * counters/port_rcv_data
	// InterfaceMTU is the MTU of the port's interface if a process with queue pairs has it in another network
	// namespace, as pods on a node do.
	InterfaceMTU Fact[int] `json:"interfaceMTU,omitzero"`
}

// QueuePair is one queue pair. DevX queue pairs (IBGDA, GIN) are not listed by the kernel.
type QueuePair struct {
	Number  uint32         `json:"number"`
	Remote  Fact[uint32]   `json:"remote,omitzero"` // number of the other end; absent unless connected
	Port    int            `json:"port,omitempty"`  // 0: not bound to one
	Type    QueuePairType  `json:"type"`
	State   QueuePairState `json:"state"`
	SendPSN uint32         `json:"sendPSN"`           // next packet sequence number, 24 bits
	RecvPSN Fact[uint32]   `json:"recvPSN,omitzero"`  // expected; absent unless connected
	PID     Fact[int]      `json:"pid,omitzero"`      // absent for another PID namespace
	Program string         `json:"program,omitempty"` // /proc/PID/comm; of the kernel's own: the module
	Kernel  bool           `json:"kernel,omitempty"`  // made by the kernel, such as those for management
}

// QueuePairType is enum ib_qp_type (include/rdma/ib_verbs.h).
type QueuePairType uint8

// The types that training programs use.
const (
	TypeRC     QueuePairType = 2
	TypeUC     QueuePairType = 3
	TypeUD     QueuePairType = 4
	TypeXRC    QueuePairType = 9    // and 10, the responder
	TypeDriver QueuePairType = 0xff // DCT, DCI and SRD
)

// QueuePairState is enum ib_qp_state (include/rdma/ib_verbs.h).
type QueuePairState uint8

// A connected queue pair becomes INIT, RTR (ready to receive), RTS (ready to send).
const (
	StateReset QueuePairState = iota
	StateInit
	StateRTR
	StateRTS
	StateSQD
	StateSQE
	StateError
)

var stateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

// String returns the state as rdma(8) prints it.
func (s QueuePairState) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}
