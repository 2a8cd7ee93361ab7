package netlink

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// attribute is struct nlattr with its value, padded as the kernel does.
func attribute(kind uint16, value ...byte) []byte {
	a := Attribute(kind, value)
	return append(a, make([]byte, (4-len(a)%4)%4)...)
}

func nested(kind uint16, attributes ...[]byte) []byte {
	var all []byte
	for _, a := range attributes {
		all = append(all, a...)
	}
	return attribute(kind|nestedFlag, all...)
}

func named(kind uint16, text string) []byte { return attribute(kind, append([]byte(text), 0)...) }

func TestQueuePairs(t *testing.T) {
	const entry = 20 // RDMA_NLDEV_ATTR_RES_QP_ENTRY
	message := append(attribute(attrDevIndex, Uint32(0)...), nested(attrQP,
		nested(entry, attribute(attrLocalQPN, Uint32(1)...), attribute(attrSendPSN, Uint32(9)...),
			attribute(attrType, 1), attribute(attrState, 3), named(attrKernelName, "ib_core")),
		nested(entry, attribute(attrPortIndex, Uint32(1)...), attribute(attrLocalQPN, Uint32(17)...),
			attribute(attrRemoteQPN, Uint32(42)...), attribute(attrRecvPSN, Uint32(7)...),
			attribute(attrSendPSN, Uint32(9)...), attribute(attrType, 2), attribute(attrState, 3),
			attribute(attrPID, Uint32(71)...)),
	)...)
	want := []host.QueuePair{
		{Number: 1, SendPSN: 9, Type: 1, State: host.StateRTS, Program: "ib_core", Kernel: true},
		{
			Number: 17, Remote: host.Know(uint32(42)), Port: 1, Type: host.TypeRC, State: host.StateRTS,
			SendPSN: 9, RecvPSN: host.Know(uint32(7)), PID: host.Know(71),
		},
	}
	if diff := cmp.Diff(want, parseQueuePairs(message)); diff != "" {
		t.Error(diff)
	}
}

func TestOpeners(t *testing.T) {
	const entry, number = 87, 64 // RDMA_NLDEV_ATTR_RES_CTX_ENTRY, _CTXN
	message := append(attribute(attrDevIndex, Uint32(0)...), nested(attrContext,
		nested(entry, attribute(number, Uint32(1)...), attribute(attrPID, Uint32(71)...)),
		nested(entry, attribute(number, Uint32(2)...)), // of another PID namespace
		nested(entry, named(attrKernelName, "ib_core")),
	)...)
	if diff := cmp.Diff([]host.Process{{PID: 71}}, parseOpeners(message)); diff != "" {
		t.Error(diff)
	}
}

func TestCounters(t *testing.T) {
	count := func(name string, n uint64) []byte {
		return nested(81, named(attrCounterName, name), attribute(attrCounterValue, binary.NativeEndian.AppendUint64(nil, n)...))
	}
	got := parseCounters(nested(attrCounters, count("sent_pkts", 1<<40), count("out_of_sequence", 0)))
	if diff := cmp.Diff(map[string]uint64{"sent_pkts": 1 << 40, "out_of_sequence": 0}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDevice(t *testing.T) {
	message := append(attribute(attrDevIndex, Uint32(3)...), named(attrDevName, "mlx5_6")...)
	message = append(message, attribute(attrPortIndex, Uint32(2)...)...)
	if got := parseDevice(message); got != (device{3, "mlx5_6", 2}) {
		t.Errorf("%+v", got)
	}
}

func FuzzRDMA(f *testing.F) {
	f.Add(Request(resQPGet, flagDump, nested(attrQP, nested(20, attribute(attrLocalQPN, Uint32(17)...)))))
	for _, recording := range recordings(f) {
		for _, x := range recording.Exchanges {
			var answer []byte
			for _, m := range x.Messages {
				answer = append(answer, Request(m.Kind, 0, m.Body)...)
			}
			f.Add(answer)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, body, rest := Cut(data); kind != 0; kind, body, rest = Cut(rest) {
			if len(rest) >= len(data) {
				t.Fatalf("%d bytes of %d are left", len(rest), len(data))
			}
			if all := parseQueuePairs(body); len(all) > len(body)/4 {
				t.Errorf("%d queue pairs in %d bytes", len(all), len(body))
			}
			parseCounters(body)
			parseObjects(body)
			parseOpeners(body)
			parseDevice(body)
			data = rest
		}
	})
}
