package story

import "testing"

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
	if run.Outcome != OutcomeFail || run.Causes[0].ID != PeerDied {
		t.Errorf("%s: %s", run.Outcome, run.Summary)
	}
}

// TestNetworkOfTrail asserts that the steps of an error name the network whose source they pass.
func TestNetworkOfTrail(t *testing.T) {
	const at = "gpu-a:41:50 [0] "
	for source, want := range map[string]Kind{
		"transport/net_ib.cc:593": IB, "transport/net_ib/connect.cc:593": IB, "transport/net_socket.cc:405": Socket,
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

// TestNetworkOfFailover asserts that a failover of NET/IB names its network.
func TestNetworkOfFailover(t *testing.T) {
	run := ofLines("train.log", []string{"gpu-a:41:50 [1] p2p_resiliency.cc:325 NCCL WARN NET/IB: " +
		"ncclIbResiliencyHandleDeviceFailure: Device 0 marked as failed. Initiating recovery? Yes"}).Last()
	if run.Network.Kind != IB || run.Outcome != OutcomeDegraded {
		t.Errorf("%s over %s: %s", run.Outcome, run.Network.Kind, run.Summary)
	}
}
