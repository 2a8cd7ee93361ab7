package sysfs

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// TestRecordedWire: a recording has the queue pairs, the traffic of the interfaces, or the reason why neither was read.
func TestRecordedWire(t *testing.T) {
	machine, err := Open("../../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	taken := time.Date(2026, 11, 23, 12, 0, 0, 5, time.UTC)
	queuePairs := host.Wire{Taken: taken, Devices: []host.WireDevice{{
		Name: "mlx5_6", Taken: taken,
		QueuePairs: host.Know([]host.QueuePair{{Number: 17, Type: host.TypeRC, State: host.StateRTS, PID: host.Know(1)}}),
	}}}
	for name, answer := range map[string]error{"read": nil, "refused": syscall.EACCES, "no RDMA": syscall.EPROTONOSUPPORT} {
		t.Run(name, func(t *testing.T) {
			machine.Probes.Wire = func() (host.Wire, error) { return queuePairs, answer }
			machine.Probes.Earlier = &host.Snapshot{SchemaVersion: 1, Wire: host.Know(queuePairs)}
			read, archive := machine.Record()
			again, err := Recorded(archive)
			if err != nil {
				t.Fatal(err)
			}
			replayed := again.Snapshot()
			if diff := cmp.Diff(read.Wire, replayed.Wire); diff != "" {
				t.Error(diff)
			}
			if replayed.Earlier == nil || !cmp.Equal(replayed.Earlier.Wire, host.Know(queuePairs)) {
				t.Errorf("the earlier reading: %+v", replayed.Earlier)
			}
			if wire, known := read.Wire.Get(); known != (answer == nil) || known && len(wire.Links) == 0 {
				t.Errorf("%+v", read.Wire)
			}
			if errors.Is(answer, syscall.EACCES) != read.Wire.IsUnreadable() {
				t.Errorf("%+v", read.Wire)
			}
		})
	}
}

// TestPortBytes: ports count words of four bytes, and show them only to those who see all of the device.
func TestPortBytes(t *testing.T) {
	root := fstest.MapFS{
		"sys/class/infiniband/mlx5_6/ports/1/counters/port_xmit_data": {Data: []byte("10\n")},
		"sys/class/infiniband/mlx5_6/ports/1/counters/port_rcv_data":  {Data: []byte("N/A (no PMA)\n")},
		"sys/class/infiniband/mlx5_7/ports/1/state":                   {Data: []byte("4: ACTIVE\n")},
	}
	one := []host.WirePort{{Number: 1}}
	read := Machine{Root: root, Probes: Probes{Wire: func() (host.Wire, error) {
		return host.Wire{Devices: []host.WireDevice{
			{Name: "mlx5_6", Ports: slices.Clone(one)}, {Name: "mlx5_7", Ports: slices.Clone(one)},
		}}, nil
	}}}.Wire(host.Snapshot{})
	seen, hidden := read.Value.Devices[0].Ports[0], read.Value.Devices[1].Ports[0]
	if seen.Sent != host.Know(uint64(40)) || !seen.Received.IsUnreadable() {
		t.Errorf("the ports of mlx5_6: %+v", seen)
	}
	if hidden.Sent.IsKnown() || hidden.Sent.IsUnreadable() {
		t.Errorf("the ports of mlx5_7: %+v", hidden)
	}
}

func TestPodOf(t *testing.T) {
	const uid = "0f2a8b6e-4a3c-4a8e-9c55-6d8f3e0b7a11"
	for name, c := range map[string]struct{ cgroup, want string }{
		"CRI-O": {"0::/kubepods.slice/kubepods-burstable.slice/" +
			"kubepods-burstable-pod0f2a8b6e_4a3c_4a8e_9c55_6d8f3e0b7a11.slice/crio-83b35ad4.scope/container\n", uid},
		"guaranteed": {
			"0::/kubepods.slice/kubepods-pod0f2a8b6e_4a3c_4a8e_9c55_6d8f3e0b7a11.slice/a.scope\n", uid,
		},
		"cgroupfs":              {"0::/kubepods/besteffort/pod" + uid + "/83b35ad4\n", uid},
		"version 1":             {"12:pids:/kubepods/pod" + uid + "/83b35ad4\n11:cpu:/\n", uid},
		"its own namespace":     {"0::/\n", ""},
		"a service":             {"0::/system.slice/podman.service\n", ""},
		"a container of podman": {"0::/machine.slice/libpod-83b35ad4.scope/container\n", ""},
		"a process that ended":  {"", ""},
	} {
		if got := podOf(c.cgroup); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
