package netlink

import (
	"encoding/binary"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// Messages of RDMA netlink: RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command) (include/uapi/rdma/rdma_netlink.h).
const (
	deviceGet  = nldev | 1
	portGet    = nldev | 5
	resGet     = nldev | 9
	resQPGet   = nldev | 10
	statGet    = nldev | 17
	resCtxGet  = nldev | 22
	nldev      = 5 << 10
	flagDump   = 0x300 // NLM_F_DUMP
	maxMessage = 64 << 10
)

// Attributes: enum rdma_nldev_attr (include/uapi/rdma/rdma_netlink.h).
const (
	attrDevIndex     = 1
	attrDevName      = 2
	attrPortIndex    = 3
	attrSummary      = 15
	attrObjectName   = 17
	attrObjectCount  = 18
	attrQP           = 19
	attrLocalQPN     = 21
	attrRemoteQPN    = 22
	attrRecvPSN      = 23
	attrSendPSN      = 24
	attrType         = 26
	attrState        = 27
	attrPID          = 28
	attrKernelName   = 29
	attrInterface    = 50 // RDMA_NLDEV_ATTR_NDEV_INDEX
	attrCounters     = 80
	attrCounterName  = 82
	attrCounterValue = 83
	attrContext      = 86
)

// device is one RDMA device that this network namespace may use.
type device struct {
	index uint32
	name  string
	ports uint32
}

func parseDevice(body []byte) (d device) {
	EachAttribute(body, func(kind uint16, value []byte) {
		switch kind {
		case attrDevIndex:
			d.index = number(value)
		case attrDevName:
			d.name = text(value)
		case attrPortIndex: // of a device: the last port
			d.ports = number(value)
		}
	})
	return d
}

// parseQueuePairs returns the queue pairs of one message of a dump.
func parseQueuePairs(body []byte) (all []host.QueuePair) {
	EachAttribute(body, func(kind uint16, table []byte) {
		if kind == attrQP {
			EachAttribute(table, func(_ uint16, entry []byte) { all = append(all, parseQueuePair(entry)) })
		}
	})
	return all
}

func parseQueuePair(entry []byte) (q host.QueuePair) {
	EachAttribute(entry, func(kind uint16, value []byte) {
		switch kind {
		case attrPortIndex:
			q.Port = int(number(value))
		case attrLocalQPN:
			q.Number = number(value)
		case attrRemoteQPN:
			q.Remote = host.Know(number(value))
		case attrRecvPSN:
			q.RecvPSN = host.Know(number(value))
		case attrSendPSN:
			q.SendPSN = number(value)
		case attrType:
			q.Type = host.QueuePairType(small(value))
		case attrState:
			q.State = host.QueuePairState(small(value))
		case attrPID:
			q.PID = host.Know(int(number(value)))
		case attrKernelName:
			q.Program, q.Kernel = text(value), true
		}
	})
	return q
}

// parseOpeners returns the processes of one message of a dump of contexts.
func parseOpeners(body []byte) (all []host.Process) {
	EachAttribute(body, func(kind uint16, table []byte) {
		if kind != attrContext {
			return
		}
		EachAttribute(table, func(_ uint16, entry []byte) {
			EachAttribute(entry, func(kind uint16, value []byte) {
				if kind == attrPID {
					all = append(all, host.Process{PID: int(number(value))})
				}
			})
		})
	})
	return all
}

// parseCounters returns the hardware counters of a port.
func parseCounters(body []byte) map[string]uint64 {
	return parseCounts(body, attrCounters, attrCounterName, attrCounterValue)
}

// parseObjects returns how many objects of each kind a device has, such as memory regions ("mr").
func parseObjects(body []byte) map[string]uint64 {
	return parseCounts(body, attrSummary, attrObjectName, attrObjectCount)
}

func parseCounts(body []byte, tableAttr, nameAttr, countAttr uint16) map[string]uint64 {
	counts := map[string]uint64{}
	EachAttribute(body, func(kind uint16, table []byte) {
		if kind != tableAttr {
			return
		}
		EachAttribute(table, func(_ uint16, entry []byte) {
			if name, count := parseCount(entry, nameAttr, countAttr); name != "" {
				counts[name] = count
			}
		})
	})
	return counts
}

func parseCount(entry []byte, nameAttr, countAttr uint16) (name string, count uint64) {
	EachAttribute(entry, func(kind uint16, value []byte) {
		switch {
		case kind == nameAttr:
			name = text(value)
		case kind == countAttr && len(value) >= 8:
			count = binary.NativeEndian.Uint64(value)
		}
	})
	return name, count
}

func number(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

func small(value []byte) uint8 {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

func text(value []byte) string { return strings.TrimRight(string(value), "\x00") }
