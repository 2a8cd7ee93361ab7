package explain

import (
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// TestLocalAddresses: hosts that one cable joins may have link-local addresses of IPv4 alone. An interface that many
// hosts number alike may still be the one that they share.
func TestLocalAddresses(t *testing.T) {
	const cable = "gpu-a:41:41 [0] NCCL INFO Bootstrap: Using enp1s0f1np1:169.254.28.198<0>"
	for _, c := range []struct {
		own, peer, problem string
		want               story.CauseID
	}{
		{"", "169.254.3.2<39275>", "Connection timed out", story.BootstrapWrongAddress},
		{"", "::ffff:169.254.3.2<39275>", "Connection timed out", story.BootstrapWrongAddress},
		{"", "172.17.0.2<39275>", "Connection timed out", story.BootstrapWrongAddress},
		{"", "127.0.0.1<39275>", "Connection timed out", story.BootstrapWrongAddress},
		{"gpu-a:41:41 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.2<0>", "169.254.3.2<39275>", "Connection refused",
			story.BootstrapWrongAddress},
		{"gpu-a:41:41 [0] NCCL INFO Bootstrap: Using usb0:169.254.3.1<0>", "169.254.3.2<39275>", "Connection refused",
			story.BootstrapWrongAddress},
		{cable, "169.254.3.2<39275>", "Connection refused", story.PeerDied},
		{cable, "169.254.3.2<39275>", "Connection timed out", story.PeerUnreachable},
	} {
		run := ofLines("train.log", []string{c.own, "gpu-a:41:41 [0] misc/socket.cc:49 NCCL WARN socketStartConnect: " +
			"Connect to " + c.peer + " failed : " + c.problem}).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != c.want ||
			run.Causes[0].Confidence != story.Likely {
			t.Errorf("%+v: got %s, %+v", c, run.Outcome, run.Causes)
		}
	}
}

// TestNoFreePort: a socket that could not be bound says nothing about a peer.
func TestNoFreePort(t *testing.T) {
	run := ofLines("train.log", []string{"gpu-a:41:41 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.2<0>",
		"gpu-a:41:41 [0] misc/socket.cc:409 NCCL WARN Call to bind failed: Address already in use"}).Last()
	if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != story.UnknownCause {
		t.Errorf("got %s, %+v", run.Outcome, run.Causes)
	}
}

// TestDiskFull reads the errors of programs that write to a full disk. Shared memory has a cause of its own.
func TestDiskFull(t *testing.T) {
	for line, want := range map[string]story.CauseID{
		"RuntimeError: [enforce fail at inline_container.cc:603] . PytorchStreamWriter failed writing file data/42: " +
			"file write failed": story.DiskFull,
		"OSError: [Errno 28] No space left on device: '/ckpt/step-1000.pt'":       story.DiskFull,
		"OSError: [Errno 122] Disk quota exceeded: '/ckpt/step-1000.pt'":          story.DiskFull,
		"Error: write /cache/x: ENOSPC":                                           story.DiskFull,
		"OSError: [Errno 28] No space left on device: '/dev/shm/torch_41_2_0_42'": story.ShmTooSmall,
	} {
		run := ofLines("train.log", []string{"step 7 | loss 0.31", line}).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != want {
			t.Errorf("%s: want %s, got %s, %+v", line, want, run.Outcome, run.Causes)
		}
	}
}
