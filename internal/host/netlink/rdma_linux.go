package netlink

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/host"
)

// Wire asks for the queue pairs and the counters of all RDMA devices of this network namespace. It needs no privilege,
// but a security module may forbid the socket (EACCES). A device that could not be read is in the result, with the
// reason.
func Wire(now func() time.Time) (host.Wire, error) {
	socket, err := Open(unix.NETLINK_RDMA)
	if err != nil {
		return host.Wire{}, err
	}
	defer socket.Close()
	r := reader{socket, make([]byte, maxMessage)}
	devices, err := r.devices()
	if err != nil {
		return host.Wire{}, err
	}
	w := host.Wire{Taken: now().UTC(), Devices: []host.WireDevice{}}
	for _, d := range devices {
		w.Devices = append(w.Devices, host.WireDevice{
			Name:       d.name,
			Taken:      now().UTC(),
			QueuePairs: dump(r, resQPGet, d, parseQueuePairs),
			Ports:      r.ports(d),
			Openers:    dump(r, resCtxGet, d, parseOpeners),
		})
	}
	return w, nil
}

type reader struct {
	socket Socket
	buf    []byte
}

// ask sends a command about a device, and about a port unless 0. A dump answers for all of the device's objects.
func (r reader) ask(command, flags uint16, d device, port uint32, each func(body []byte)) error {
	body := Attribute(attrDevIndex, Uint32(d.index))
	if port > 0 {
		body = append(body, Attribute(attrPortIndex, Uint32(port))...)
	}
	return r.exchange(Request(command, flags, body), flags, each)
}

func (r reader) exchange(request []byte, flags uint16, each func(body []byte)) error {
	return r.socket.Exchange(r.buf, request, func(_ uint16, body []byte) (last bool) {
		each(body)
		return flags != flagDump
	})
}

func (r reader) devices() ([]device, error) {
	var all []device
	err := r.exchange(Request(deviceGet, flagDump, nil), flagDump, func(body []byte) {
		if d := parseDevice(body); d.name != "" {
			all = append(all, d)
		}
	})
	slices.SortFunc(all, func(a, b device) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// dump returns all resources of a kind that a device has.
func dump[T any](r reader, command uint16, d device, parse func(body []byte) []T) host.Fact[[]T] {
	all := []T{}
	err := r.ask(command, flagDump, d, 0, func(body []byte) { all = append(all, parse(body)...) })
	if err != nil {
		return host.Unread[[]T](err.Error())
	}
	return host.Know(all)
}

func (r reader) ports(d device) []host.WirePort {
	var ports []host.WirePort
	for n := uint32(1); n <= d.ports; n++ {
		var counters map[string]uint64
		p := host.WirePort{Number: int(n)}
		err := r.ask(statGet, 0, d, n, func(body []byte) { counters = parseCounters(body) })
		if p.Counters = host.Know(counters); err != nil {
			p.Counters = host.Unread[map[string]uint64](err.Error())
		}
		ports = append(ports, p)
	}
	return ports
}
