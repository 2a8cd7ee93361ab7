package explain

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestClosedBeforeUse asserts that a peer which closes while communicators are set up is no part of their end.
func TestClosedBeforeUse(t *testing.T) {
	const at = "gpu-a:41:50 [1] "
	run := ofLines("train.log", []string{
		at + "misc/socket.cc:538 NCCL WARN Net : Connection closed by remote peer gpu-b<59227>",
		at + "NCCL INFO misc/socket.cc:546 -> 6",
		at + "NCCL INFO transport/net.cc:265 -> 6",
		at + "NCCL INFO init.cc:1089 -> 6",
		at + "NCCL INFO comm 0x1b838b90 rank 1 nranks 4 cudaDev 1 busId 7000 - Abort COMPLETE",
	}).Last()
	if run.Outcome != story.OutcomeFail || run.Causes[0].ID != story.PeerDied {
		t.Errorf("%s: %s", run.Outcome, run.Summary)
	}
}

// TestNetworkOfTrail asserts that the steps of an error name the network whose source they pass.
func TestNetworkOfTrail(t *testing.T) {
	const at = "gpu-a:41:50 [0] "
	for source, want := range map[string]story.Kind{
		"transport/net_ib.cc:593": story.IB, "transport/net_ib/connect.cc:593": story.IB,
		"transport/net_socket.cc:405": story.Socket,
	} {
		run := ofLines("train.log", []string{
			at + "include/socket.h:421 NCCL WARN Call to recv failed : Connection reset by peer",
			at + "NCCL INFO " + source + " -> 2", at + "NCCL INFO transport/net.cc:348 -> 2",
		}).Last()
		if run.Network.Kind != want {
			t.Errorf("%s: %s, want %s", source, run.Network.Kind, want)
		}
	}
}

// TestTrailWithoutWarning: an error without a warning says where it arose, and asks only for what the log lacks.
func TestTrailWithoutWarning(t *testing.T) {
	const at = "gpu-a:41:50 [0] NCCL INFO "
	for steps, want := range map[string]string{
		at + "misc/socket.cc:567 -> 2\n" + at + "bootstrap.cc:270 -> 2": "TCP between the ranks, not RDMA",
		at + "enqueue.cc:1350 -> 3":                                     "no warning gives the reason",
		"RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1, invalid usage, NCCL version 2.21.5\nncclInvalidUsage: x": "set NCCL_DEBUG=WARN",
	} {
		run := ofLines("train.log", strings.Split(steps, "\n")).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || !strings.HasSuffix(run.Causes[0].Summary, want) {
			t.Errorf("%s: %s, %+v", steps, run.Outcome, run.Causes)
		}
	}
}

// TestNetworkOfFailover asserts that a failover of NET/IB names its network.
func TestNetworkOfFailover(t *testing.T) {
	run := ofLines("train.log", []string{"gpu-a:41:50 [1] p2p_resiliency.cc:325 NCCL WARN NET/IB: " +
		"ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed. Initiating recovery? Yes"}).Last()
	if run.Network.Kind != story.IB || run.Outcome != story.OutcomeDegraded {
		t.Errorf("%s over %s: %s", run.Outcome, run.Network.Kind, run.Summary)
	}
}

// TestChannelsThatFailed: channels that were announced carried nothing if the run failed before they were connected, as
// far as the log has the lines that tell.
func TestChannelsThatFailed(t *testing.T) {
	const at = "gpu-a:41:50 [0] "
	const (
		begun    = at + "NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0"
		channel  = at + "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
		rings    = at + "NCCL INFO Connected all rings"
		complete = at + "NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 - Init COMPLETE"
		closed   = at + "misc/socket.cc:1 NCCL WARN socketProgress: Connection closed by remote peer gpu-b<41234>"
		refused  = at + "misc/socket.cc:1 NCCL WARN socketStartConnect: Connect to 10.0.0.2<1> failed : " +
			"Connection refused"
		reset = at + "misc/socket.cc:1 NCCL WARN socketProgress: Call to recv from 10.0.0.2<1> failed : " +
			"Connection reset by peer"
		trail = at + "NCCL INFO transport/net_ib/connect.cc:300 -> 6"
	)
	for name, c := range map[string]struct {
		lines []string
		want  story.Transport
	}{
		"closed":                   {[]string{begun, channel, closed, trail}, story.Unconnected},
		"refused":                  {[]string{begun, channel, refused, trail}, story.Unconnected},
		"reset":                    {[]string{begun, channel, reset}, story.Unconnected},
		"a step of an error alone": {[]string{begun, channel, trail}, story.Unconnected},
		"CUDA, while it is set up": {[]string{channel, at + "include/alloc.h:1 NCCL WARN Cuda failure 1 'invalid argument'",
			trail, at + "NCCL INFO init.cc:1089 -> 1"}, story.Unconnected},
		"a queue of libfabric": {[]string{channel, at + "create_nccl_ofi_component:459 NCCL WARN NET/OFI Couldn't open " +
			"AV. RC: -22, ERROR: Invalid argument"}, story.Unconnected},
		"CUDA, elsewhere": {[]string{channel, at + "enqueue.cc:1 NCCL WARN Cuda failure 1 'invalid argument'",
			at + "NCCL INFO enqueue.cc:300 -> 1"}, story.RDMA},

		"after the rings":           {[]string{begun, channel, rings, closed, trail}, story.RDMA},
		"after the set-up":          {[]string{begun, channel, complete, closed, trail}, story.RDMA},
		"a log of level NET":        {[]string{channel, closed}, story.RDMA},
		"an exception of a program": {[]string{begun, channel, "[rank0]: KeyError: 'x'"}, story.RDMA},
		"a bad completion, too":     {[]string{begun, channel, closed, completed(0, 5, hostB)}, story.RDMA},
		"a step before": {[]string{at + "NCCL INFO include/net.h:19 -> 2", begun, channel, complete},
			story.RDMA},
	} {
		run := ofLines("train.log", c.lines).Last()
		if run.Network.Transport != c.want {
			t.Errorf("%s: want %d, got %d: %s", name, c.want, run.Network.Transport, run.Network.Why)
		}
	}
}
