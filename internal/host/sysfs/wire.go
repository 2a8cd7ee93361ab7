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
	nameProcesses(in, &wire)
	countBytes(in, wire)
	readInterfaceMTUs(in, wire, s)
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

// podOf returns the UID of the pod in /proc/PID/cgroup. The kubelet's cgroups are kubepods/burstable/pod<UID>, or with
// systemd kubepods-burstable-pod<UID with underscores>.slice (kubernetes pkg/kubelet/cm/pod_container_manager_linux.go,
// cgroup_manager_linux.go). In a container's own cgroup namespace there is none.
func podOf(cgroup string) string {
	for part := range strings.FieldsFuncSeq(cgroup, func(r rune) bool { return r == '/' || r == '\n' }) {
		at := strings.LastIndex(part, "pod")
		if at < 0 {
			continue
		}
		uid := strings.ReplaceAll(strings.TrimSuffix(part[at+len("pod"):], ".slice"), "_", "-")
		if len(uid) == 36 && strings.Count(uid, "-") == 4 {
			return uid
		}
	}
	return ""
}

// nameProcesses reads the names of processes, and the pods that they belong to.
func nameProcesses(in *input, w *host.Wire) {
	programs := map[int]string{}
	if w.Pods == nil {
		w.Pods = map[int]string{}
	}
	name := func(pid int, program *string) {
		if *program != "" || pid == 0 {
			return
		}
		if _, read := programs[pid]; !read {
			programs[pid] = strings.TrimSpace(in.text(fmt.Sprintf("proc/%d/comm", pid)).Value)
			if pod := podOf(in.text(fmt.Sprintf("proc/%d/cgroup", pid)).Value); pod != "" {
				w.Pods[pid] = pod
			}
		}
		*program = programs[pid]
	}
	for _, d := range w.Devices {
		for i := range d.QueuePairs.Value {
			q := &d.QueuePairs.Value[i]
			name(q.PID.Value, &q.Program)
		}
		for i := range d.Openers.Value {
			o := &d.Openers.Value[i]
			name(o.PID, &o.Program)
		}
	}
}

// countBytes reads the bytes that the ports carried.
func countBytes(in *input, w host.Wire) {
	for _, d := range w.Devices {
		for i := range d.Ports {
			p := &d.Ports[i]
			dir := fmt.Sprintf("%s/%s/ports/%d/counters/", classInfiniBand, d.Name, p.Number)
			p.Sent = parsed(in.tree, dir+"port_xmit_data", parseWords)
			p.Received = parsed(in.tree, dir+"port_rcv_data", parseWords)
		}
	}
}

func parseCount(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// parseWords returns the bytes of a counter of 4-byte words.
func parseWords(text string) (uint64, error) {
	n, err := parseCount(text)
	return 4 * n, err
}

// Wire reads only the queue pairs and counters of a machine whose Snapshot was taken.
func (m Machine) Wire(s host.Snapshot) host.Fact[host.Wire] {
	now := host.Snapshot{Links: s.Links, Devices: s.Devices}
	readWire(newInput(m.newReading(), m.Probes), &now)
	return now.Wire
}
