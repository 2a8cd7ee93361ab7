package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/wire"
)

func TestMotion(t *testing.T) {
	usage := func(device string, pid int, gigabytes float64, more bool) wire.Usage {
		a := wire.Amount{Packets: uint64(gigabytes * 1e9 / 4096), Rate: gigabytes * 1e9, AtLeast: more}
		return wire.Usage{Device: device, PID: pid, Program: "python", Pairs: 8, Active: 8, Sent: a, Got: a}
	}
	for name, c := range map[string]struct {
		motion wire.Motion
		want   string
	}{
		"RDMA on two of three rails": {
			wire.Motion{
				Proof: wire.RDMA, Seconds: 1, Rails: []string{"mlx5_6", "mlx5_7", "mlx5_8"}, Unused: []string{"mlx5_8"},
				Usages: []wire.Usage{
					usage("mlx5_6", 71, 20.55, false), usage("mlx5_7", 72, 20.65, false),
					{Device: "mlx5_8", PID: 72, Program: "python", Pairs: 2},
				},
			}, `DEVICE   PROCESS     CONNECTED   MOVING   SENT        RECEIVED
mlx5_6   71 python   8           8        20.6 GB/s   20.6 GB/s
mlx5_7   72 python   8           8        20.6 GB/s   20.6 GB/s
mlx5_8   72 python   2           0        -           -
RDMA: 2 processes on 2 devices, 41.2 GB/s sent, 41.2 GB/s received; nothing on mlx5_8
`,
		},
		"faster than the sequence numbers": {
			wire.Motion{Proof: wire.RDMA, Seconds: 10, Usages: []wire.Usage{usage("mlx5_6", 0, 48, true)}},
			`DEVICE   PROCESS                    CONNECTED   MOVING   SENT              RECEIVED
mlx5_6   of another PID namespace   8           8        48 GB/s or more   48 GB/s or more
RDMA: 1 process on 1 device, 48 GB/s or more sent, 48 GB/s or more received
`,
		},
		"InfiniBand, whose MTU sysfs does not show": {
			wire.Motion{Proof: wire.RDMA, Seconds: 2, Usages: []wire.Usage{{
				Device: "mlx5_0", PID: 7, Pairs: 1, Active: 1, Sent: wire.Amount{Packets: 9000}, NoRate: "not Ethernet",
			}}},
			`DEVICE   PROCESS   CONNECTED   MOVING   SENT             RECEIVED
mlx5_0   7         1           1        4500 packets/s   -
no byte rate: mlx5_0: not Ethernet
RDMA: 1 process on 1 device, 4500 packets/s sent, nothing received
`,
		},
		"a program over TCP": {
			wire.Motion{
				Proof: wire.NoConnection, Seconds: 1,
				Links: []wire.LinkRate{{Name: "eth0", Sent: 0.5e9, Received: 0.48e9}, {Name: "net1"}},
			}, "not RDMA: no queue pair is connected; 500 MB/s over eth0\n",
		},
		"queue pairs that stay in INIT": {
			wire.Motion{
				Proof: wire.NoConnection, Usages: []wire.Usage{{Device: "mlx5_6", PID: 7, Made: 4}},
				Openers: []wire.Opener{{PID: 8, Program: "python", Devices: []string{"mlx5_6", "mlx5_7"}}},
			},
			`DEVICE   PROCESS   CONNECTED   MOVING   SENT   RECEIVED
mlx5_6   7         0           0        -      -
no queue pair: 8 python opened mlx5_6, mlx5_7
not RDMA: 4 queue pairs made, none is connected
`,
		},
		"a program that waits": {
			wire.Motion{Proof: wire.NoTraffic, Seconds: 1, Usages: []wire.Usage{{Device: "mlx5_6", PID: 7, Pairs: 4}}},
			`DEVICE   PROCESS   CONNECTED   MOVING   SENT   RECEIVED
mlx5_6   7         4           0        -      -
no traffic: 4 queue pairs are connected, and no packet moved in 1.0 s
`,
		},
		"refused by a security module": {
			wire.Motion{Proof: wire.NotProved, Why: "permission denied"},
			"unknown: the queue pairs could not be read: permission denied\n",
		},
		"a device that was not read": {
			wire.Motion{
				Proof: wire.NotProved, Why: "no such device",
				Unread: []check.Evidence{{Source: "mlx5_6, queue pairs", Got: "no such device"}},
			},
			"not read: mlx5_6, queue pairs: no such device\n" +
				"unknown: the queue pairs could not be read: no such device\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := Motion(&got, c.motion); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
