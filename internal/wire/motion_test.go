package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

// TestBetween compares readings of a recorded pod with four rails, of which one carries data.
func TestBetween(t *testing.T) {
	recorded, err := sysfs.Open("../../testdata/hosts/pod-roce-4vf.txtar")
	if err != nil {
		t.Fatal(err)
	}
	pod := recorded.Snapshot()
	reading := func(second int, packets uint32, eth uint64) host.Fact[host.Wire] {
		taken := start.Add(time.Duration(second) * time.Second)
		return host.Know(host.Wire{
			Taken: taken,
			Devices: []host.WireDevice{{
				Name: "mlx5_6", Taken: taken, QueuePairs: host.Know([]host.QueuePair{{
					Number: 17, Remote: host.Know(uint32(42)), Type: host.TypeRC, State: host.StateRTS, SendPSN: packets,
					PID: host.Know(71), Program: "python",
				}}),
			}},
			Links: []host.WireLink{
				{Name: "eth0", Sent: host.Know(eth), Received: host.Know(eth)},
				{Name: "net1", Sent: host.Know(eth), Received: host.Know(eth)},
			},
		})
	}
	before := reading(0, 1000, 5000)
	refused := host.Unread[host.Wire]("permission denied")
	halfRead := reading(2, 9000, 5000)
	halfRead.Value.Devices = append(halfRead.Value.Devices,
		host.WireDevice{Name: "mlx5_7", QueuePairs: host.Unread[[]host.QueuePair]("no such device")})
	unused := reading(2, 0, 9000)
	unused.Value.Devices[0].QueuePairs = host.Know([]host.QueuePair{})
	unusedBefore := reading(0, 0, 5000)
	unusedBefore.Value.Devices[0].QueuePairs = host.Know([]host.QueuePair{})
	for name, c := range map[string]struct {
		before, after host.Fact[host.Wire]
		want          Motion
	}{
		"one of four rails": {before, reading(2, 9000, 9000), Motion{
			Proof: RDMA, Seconds: 2, Unused: []string{"mlx5_7", "mlx5_10", "mlx5_11"},
			Links: []LinkRate{{Name: "eth0", Sent: 2000, Received: 2000}},
		}},
		"it stands still": {before, reading(2, 1000, 5000), Motion{
			Proof: NoTraffic, Seconds: 2, Unused: pod4, Links: []LinkRate{{Name: "eth0"}},
		}},
		"no queue pair: what the rail carries is not RDMA": {before, unused, Motion{
			Proof: NoConnection, Unused: pod4, Links: []LinkRate{
				{Name: "eth0", Sent: 2000, Received: 2000}, {Name: "net1", Sent: 2000, Received: 2000},
			},
		}},
		"only the second reading has the queue pair": {unusedBefore, reading(2, 9000, 5000), Motion{
			Proof: NotProved, Why: "they connected after the first reading", Unused: pod4[1:], Links: []LinkRate{{Name: "eth0"}},
		}},
		"counters that were reset": {before, reading(2, 9000, 100), Motion{
			Proof: RDMA, Seconds: 2, Unused: []string{"mlx5_7", "mlx5_10", "mlx5_11"},
		}},
		"refused":       {refused, refused, Motion{Proof: NotProved, Why: "permission denied", Refused: true}},
		"refused later": {before, refused, Motion{Proof: NotProved, Why: "permission denied", Refused: true}},
		"read by an earlier railhead-pod": {host.Fact[host.Wire]{}, host.Fact[host.Wire]{},
			Motion{Proof: NotProved, Why: "they were not read twice"}},
		"one device was not read, another moves": {before, halfRead, Motion{
			Proof: RDMA, Seconds: 2, Unused: []string{"mlx5_10", "mlx5_11"}, Links: []LinkRate{{Name: "eth0"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod.Wire = c.after
			got := Between(c.before, pod)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Motion{}, "Usages", "Rails", "Unread"),
				cmpopts.IgnoreUnexported(Motion{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := Of(host.Snapshot{}); got.Proof != NoConnection || got.Why != "the kernel has no RDMA" {
		t.Errorf("a machine without RDMA devices: %+v", got)
	}
	pod.Wire = reading(2, 9000, 9000)
	// the rails have an MTU of 9000, so RDMA sends 4096 bytes in a packet
	if u := Between(before, pod).Usages; len(u) != 1 || u[0].Sent.Rate != 8000*4096/2 || u[0].Program != "python" {
		t.Errorf("%+v", u)
	}
}

var pod4 = []string{"mlx5_6", "mlx5_7", "mlx5_10", "mlx5_11"}

// TestUnlisted: a pod whose device serves requests may use queue pairs that the kernel does not list.
func TestUnlisted(t *testing.T) {
	var m Machine
	for i, w := range []*host.Wire{&m.Before, &m.After} {
		counters := host.Know(map[string]uint64{"rx_write_requests": uint64(i * 7)})
		w.Devices = []host.WireDevice{{Name: "mlx5_0", Ports: []host.WirePort{{Number: 1, Counters: counters}}}}
	}
	motion := Motion{Proof: NoConnection, Rails: []string{"mlx5_0"}}
	if motion.unlisted(m, ""); motion.Proof != NotProved {
		t.Errorf("%+v", motion)
	}
}

// TestOtherPods: queue pairs without a process, on a device that pods share, do not prove that this pod uses RDMA.
func TestOtherPods(t *testing.T) {
	ends := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{9, 99}}).Ends()
	for virtual, kept := range map[bool]int{true: 1, false: 0} {
		var m Motion
		foreign := m.own(ends, []rail.Rail{{Device: "mlx5_0", Virtual: virtual}})
		if len(m.ends) != kept || (foreign == "") != virtual {
			t.Errorf("virtual %v: %+v, %q", virtual, m.ends, foreign)
		}
	}
}
