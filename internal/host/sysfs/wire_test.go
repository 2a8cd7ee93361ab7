package sysfs

import (
	"errors"
	"syscall"
	"testing"
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
			read, archive := machine.Record()
			again, err := Recorded(archive)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read.Wire, again.Snapshot().Wire); diff != "" {
				t.Error(diff)
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
