package sysfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/host"
)

// readWire asks for the queue pairs, and names the programs that hold them. A kernel without RDMA has no such netlink
// family.
func readWire(in *input, s *host.Snapshot) {
	if in.probes.Wire == nil {
		return
	}
	wire, err := in.probes.Wire()
	switch {
	case errors.Is(err, syscall.EPROTONOSUPPORT):
		return
	case err != nil:
		s.Wire = host.Unread[host.Wire](err.Error())
		return
	}
	programs := map[int]string{}
	for _, d := range wire.Devices {
		for i := range d.QueuePairs.Value {
			q := &d.QueuePairs.Value[i]
			pid, known := q.PID.Get()
			if !known || q.Program != "" {
				continue
			}
			if _, read := programs[pid]; !read {
				programs[pid] = strings.TrimSpace(in.text(fmt.Sprintf("proc/%d/comm", pid)).Value)
			}
			q.Program = programs[pid]
		}
	}
	for _, l := range s.Links {
		if l.Name == "lo" {
			continue
		}
		dir := classNet + "/" + l.Name + "/statistics/"
		wire.Links = append(wire.Links, host.WireLink{
			Name:     l.Name,
			Sent:     parsed(in.tree, dir+"tx_bytes", parseCount),
			Received: parsed(in.tree, dir+"rx_bytes", parseCount),
		})
	}
	s.Wire = host.Know(wire)
}

func parseCount(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// Wire reads only the queue pairs and counters of a machine whose Snapshot was taken.
func (m Machine) Wire(s host.Snapshot) host.Fact[host.Wire] {
	now := host.Snapshot{Links: s.Links}
	readWire(newInput(m.Root, m.Probes), &now)
	return now.Wire
}
