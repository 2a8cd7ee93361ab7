package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/story"
)

// lines of a run of NCCL 2.28 on two pods of one GPU each.
const overIB = `h-kim-0:37:37 [0] NCCL INFO NET/IB : Using [0]mlx5_6:1/RoCE [1]mlx5_10:1/RoCE [RO]; OOB eth0:10.128.2.15<0>
h-kim-0:37:37 [0] NCCL INFO Using network IB
h-kim-0:37:37 [0] NCCL INFO ncclCommInitRankConfig comm 0x55b6aa64a990 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 commId 0x54fe282d32a87d85 - Init START
h-kim-0:37:37 [0] NCCL INFO comm 0x55b6aa64a990 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
h-kim-0:37:52 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA
h-kim-0:37:52 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1/GDRDMA
h-kim-1:41:41 [0] NCCL INFO NET/IB : Using [0]mlx5_7:1/RoCE [1]mlx5_10:1/RoCE [RO]; OOB eth0:10.128.2.16<0>
h-kim-1:41:41 [0] NCCL INFO Using network IB
h-kim-1:41:41 [0] NCCL INFO comm 0x55b6aa64b010 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
h-kim-1:41:60 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA
h-kim-1:41:60 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [receive] via NET/IB/1/GDRDMA`

func TestNetworkLine(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want string
	}{
		"nothing": {"", "not known: no line shows which network was used"},
		"training without NCCL": {"epoch 1 loss 0.3\nChannel 4 via the door",
			"not known: no line shows which network was used"},
		"RDMA on both ranks": {overIB, "RDMA: 2 channels over NET/IB with GPUDirect on all 2 ranks " +
			"(mlx5_6, mlx5_7, mlx5_10)"},
		"TCP where RDMA was not found": {strings.NewReplacer("NET/IB : Using [0]mlx5_6:1/RoCE [1]mlx5_10:1/RoCE [RO];", "NET/Socket : Using [0]eth0:10.128.2.15<0> [1]net1:10.0.0.1<0> ;", "network IB", "network Socket", "/IB/", "/Socket/", "/GDRDMA", "").Replace(overIB), "TCP: 2 channels over NET/Socket on all 2 ranks (eth0, net1)"},
		"one rank alone is on TCP": {
			overIB + "\nh-kim-1:41:60 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[0] [receive] via NET/Socket/0",
			"mixed: rank 1 on h-kim-1 on TCP; 3 channels over NET/IB and NET/Socket with GPUDirect on 4 of 5 ends " +
				"on all 2 ranks (mlx5_6, mlx5_7, mlx5_10)",
		},
		"NCCL chose RDMA, no channel yet": {"h-kim-0:37:37 [0] NCCL INFO Using network IBext_v11\nh-kim-0:37:37 " +
			"[0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1",
			"not known: NET/IBext_v11 (InfiniBand or RoCE: the log does not show which) was chosen, but no line " +
				"shows a channel between nodes"},
		"one node by the communicator": {"a:1:1 [0] NCCL INFO Using network IB\na:1:1 [0] NCCL INFO comm 0x1 " +
			"rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\na:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> " +
			"1[1] via P2P/CUMEM/read", "one node: no network between nodes was used"},
		"one node by its ranks": {
			"a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 18000 commId 0x2 - Init COMPLETE\na:2:2 " +
				"[1] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 1 busId 2a000 commId 0x2 - Init COMPLETE\na:1:1 " +
				"[0] NCCL INFO Channel 00 : 0[18000] -> 1[2a000] via SHM/direct/direct",
			"one node: no network between nodes was used",
		},
		"log of one rank of two, without the number of nodes": {
			"a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 18000 commId 0x2 - Init COMPLETE\na:1:1 " +
				"[0] NCCL INFO Channel 00 : 0[18000] -> 1[2a000] via P2P/IPC",
			"not known: no line shows which network was used",
		},
		"NVLink between nodes": {"a:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 " +
			"localRanks 4\na:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL",
			"NVLink between the nodes (MNNVL): no NIC was used"},
		"a plugin that may be anything": {"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] " +
			"via NET/AWS Libfabric/5/GDRDMA/Shared",
			"plugin AWS Libfabric: 1 channel over NET/AWS Libfabric with GPUDirect, seen on 1 rank; its name does " +
				"not say whether it uses RDMA"},
		"GPUDirect on one end alone": {"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] " +
			"via NET/IB/0\nb:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0/GDRDMA",
			"RDMA: 1 channel over NET/IB with GPUDirect on 1 of 2 ends, seen on 2 ranks"},
		"GPUDirect on some channels": {"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] " +
			"via NET/IB/0(3)/GDRDMA(PCI)/Shared\na:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1",
			"RDMA: 2 channels over NET/IB with GPUDirect on 1 of 2 ends, seen on 1 rank"},
		"two communicators with the same channel": {strings.Repeat("a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> "+
			"1[0] [send] via NET/IB/0\nb:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n", 2),
			"RDMA: 2 channels over NET/IB without GPUDirect, seen on 2 ranks"},
		"8 of 16 ranks have NICs of their own": {"a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev " +
			"0\na:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
			"RDMA: 1 channel over NET/IB with GPUDirect, seen on 1 of 16 ranks"},
		"a rank that was started again": {"a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev " +
			"0\na:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\na:9:9 [0] NCCL INFO comm 0x1 " +
			"rank 0 nranks 2 cudaDev 0\na:9:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0",
			"RDMA: 1 channel over NET/IB without GPUDirect, seen on 1 of 2 ranks"},
		"lines of two processes in one": {"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via " +
			"P2P/IPCa:2:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA",
			"RDMA: 1 channel over NET/IB with GPUDirect, seen on 1 rank"},
		"prefixes of mpirun and torchrun": {"[1,0]<stdout>:[rank0]: 2026-01-02 a.b:1:1 [0] NCCL INFO " +
			"Channel 00/0 : 0[0] -> 1[0] [send] via NET/IBext_v11/0/GDRDMA",
			"RDMA: 1 channel over NET/IBext_v11 with GPUDirect, seen on 1 rank"},
		"joined devices of 2.22": {"a:1:1 [0] NCCL INFO NET/IB : Using [0]={[0] " +
			"mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]={[2] mlx5_0:1/RoCE, [3] mlx5_1:1/RoCE} [RO]; OOB " +
			"bond0.526:10.0.0.9<0>\na:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/1",
			"RDMA: 1 channel over NET/IB without GPUDirect, seen on 1 rank (mlx5_0+mlx5_1)"},
		"virtual device of 2.28": {"a:1:1 [0] NCCL INFO NET/IB : Made virtual device [8] " +
			"name=mlx5_0+mlx5_1 speed=400000 ndevs=2\na:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via " +
			"NET/IB/8", "RDMA: 1 channel over NET/IB without GPUDirect, seen on 1 rank (mlx5_0+mlx5_1)"},
		"a list of devices that is empty is no proof": {"a:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB " +
			"eth0:10.128.2.15<0>\na:1:1 [0] NCCL INFO Using network Socket", "TCP: NCCL chose TCP sockets, no RDMA"},
		"escape sequences in a name": {"a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] " +
			"via NET/I\x1b[2J/0\na:1:1 [0] NCCL INFO Using network \x1b[31mX",
			"not known: no line shows which network was used"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lastRun(c.log).NetworkLine()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzNetworkLine: the line is printable, and a line that says nothing does not change it.
func FuzzNetworkLine(f *testing.F) {
	for line := range strings.Lines(overIB) {
		f.Add(line)
	}
	f.Add("x NCCL INFO Channel 9/9 : 1[f] -> 2[0] [send] via NET/AWS Libfabric/31(2)/GDRDMA(PCI)/SharedNCCL INFO " +
		"comm 0 rank 1 nranks 1")
	f.Add("x NCCL INFO NET/IB : Using [0]={[0] a:1/IB, [1] b:1/IB} [RO]; OOB eth0:1<0>")
	f.Fuzz(func(t *testing.T, log string) {
		before := lastRun(log)
		text := before.NetworkLine()
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("not one printable line: %q", text)
		}
		if before.Traffic.Direct > before.Traffic.Ends {
			t.Errorf("%d of %d ends with GPUDirect", before.Traffic.Direct, before.Traffic.Ends)
		}
		if after := lastRun(log + "\na line that says nothing"); after.NetworkLine() != text {
			t.Errorf("a line that says nothing changed %q to %q", text, after.NetworkLine())
		}
	})
}

func lastRun(log string) story.Run { return Log(parsed("a.log", []byte(log))).Last() }
