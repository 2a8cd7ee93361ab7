package podcli

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/wire"
)

// TestMeter reads a recorded pod whose queue pair sends 1,000 packets a second: sums grow with the readings, and
// looking at them takes no reading.
func TestMeter(t *testing.T) {
	machine, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		machine.Probes.Now = time.Now
		machine.Probes.Wire = func() (host.Wire, error) {
			asked.Add(1)
			now := time.Now()
			q := host.QueuePair{
				Number: 17, Remote: host.Know(uint32(42)), Type: host.TypeRC, State: host.StateRTS,
				SendPSN: uint32(now.Unix()*1000) & (1<<24 - 1), PID: host.Know(71), Program: "python",
			}
			return host.Wire{Taken: now, Devices: []host.WireDevice{
				{Name: "mlx5_6", Taken: now, QueuePairs: host.Know([]host.QueuePair{q})},
			}}, nil
		}
		m := newMeter(machine, time.Second)
		for range 90 { // more than one refresh
			<-time.After(time.Second)
			if motion := m.read(); motion.Proof != wire.RDMA {
				t.Fatalf("%+v", motion)
			}
		}
		for range 10 {
			// the rails have an MTU of 9000, so RDMA sends 4096 bytes in a packet
			want := `railhead_wire_sent_bytes_total{device="mlx5_6",program="python"} 368640000` + "\n"
			if page := string(m.page()); !strings.Contains(page, want) {
				t.Fatalf("no %s in:\n%s", want, page)
			}
		}
		if n := asked.Load(); n != 91 {
			t.Errorf("the driver was asked %d times", n)
		}
	})
}
