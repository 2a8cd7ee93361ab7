package netlink

import (
	"sort"
	"time"

	"github.com/railhead/railhead/internal/host"
)

// Exchange sends a request to RDMA netlink and calls each for every message of the answer, until each says that it was
// the last.
type Exchange func(request []byte, each func(kind uint16, body []byte) (last bool)) error

// Read asks for the queue pairs, the counters and the numbers of objects of all RDMA devices. A device that could not
// be read is in the result, with the reason.
func (x Exchange) Read(now func() time.Time) (host.Wire, error) {
	devices, err := x.devices()
	if err != nil {
		return host.Wire{}, err
	}
	w := host.Wire{Taken: now().UTC(), Devices: []host.WireDevice{}}
	for _, d := range devices {
		w.Devices = append(w.Devices, host.WireDevice{
			Name:       d.name,
			Taken:      now().UTC(),
			QueuePairs: dump(x, resQPGet, d, parseQueuePairs),
			Ports:      x.ports(d),
			Openers:    dump(x, resCtxGet, d, parseOpeners),
			Objects:    x.counts(resGet, parseObjects, about(d)),
		})
	}
	return w, nil
}

// about returns the attribute that names a device.
func about(d device) []byte { return Attribute(attrDevIndex, Uint32(d.index)) }

func (x Exchange) devices() ([]device, error) {
	var all []device
	err := x(Request(deviceGet, flagDump, nil), func(_ uint16, body []byte) (last bool) {
		if d := parseDevice(body); d.name != "" {
			all = append(all, d)
		}
		return false
	})
	sort.Slice(all, func(i, k int) bool { return all[i].name < all[k].name })
	return all, err
}

// dump returns all objects of a kind that a device has.
func dump[T any](x Exchange, command uint16, d device, parse func(body []byte) []T) host.Fact[[]T] {
	all := []T{}
	err := x(Request(command, flagDump, about(d)), func(_ uint16, body []byte) (last bool) {
		all = append(all, parse(body)...)
		return false
	})
	if err != nil {
		return host.Unread[[]T](err.Error())
	}
	return host.Know(all)
}

func (x Exchange) ports(d device) []host.WirePort {
	var ports []host.WirePort
	for n := uint32(1); n <= d.ports; n++ {
		ports = append(ports, host.WirePort{Number: int(n), Counters: x.counts(statGet, parseCounters, portOf(d, n))})
	}
	return ports
}

// counts asks a question that one message answers.
func (x Exchange) counts(
	command uint16, parse func(body []byte) map[string]uint64, subject []byte,
) (counts host.Fact[map[string]uint64]) {
	err := x(Request(command, 0, subject), func(_ uint16, body []byte) (last bool) {
		counts = host.Know(parse(body))
		return true
	})
	if err != nil {
		return host.Unread[map[string]uint64](err.Error())
	}
	return counts
}
