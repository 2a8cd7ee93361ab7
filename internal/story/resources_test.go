package story

import "testing"

// TestLocalAddresses: no other host reaches a link-local address of IPv4, so the cause is certain. An interface that
// many hosts number alike may still be the one that they share.
func TestLocalAddresses(t *testing.T) {
	for peer, want := range map[string]Confidence{
		"169.254.3.2<39275>":        Certain,
		"::ffff:169.254.3.2<39275>": Certain,
		"172.17.0.2<39275>":         Likely,
		"127.0.0.1<39275>":          Likely,
	} {
		run := ofLines("train.log", []string{"gpu-a:41:50 [0] misc/socket.cc:49 NCCL WARN socketStartConnect: Connect to " +
			peer + " failed : Connection timed out"}).Last()
		if run.Outcome != OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != BootstrapWrongAddress ||
			run.Causes[0].Confidence != want {
			t.Errorf("%s: want %s, got %s, %+v", peer, want, run.Outcome, run.Causes)
		}
	}
}

// TestDiskFull reads the errors of programs that write to a full disk. Shared memory has a cause of its own.
func TestDiskFull(t *testing.T) {
	for line, want := range map[string]CauseID{
		"RuntimeError: [enforce fail at inline_container.cc:603] . PytorchStreamWriter failed writing file data/42: " +
			"file write failed": DiskFull,
		"OSError: [Errno 28] No space left on device: '/ckpt/step-1000.pt'":       DiskFull,
		"OSError: [Errno 122] Disk quota exceeded: '/ckpt/step-1000.pt'":          DiskFull,
		"Error: write /cache/x: ENOSPC":                                           DiskFull,
		"OSError: [Errno 28] No space left on device: '/dev/shm/torch_41_2_0_42'": ShmTooSmall,
	} {
		run := ofLines("train.log", []string{"step 7 | loss 0.31", line}).Last()
		if run.Outcome != OutcomeFail || len(run.Causes) == 0 || run.Causes[0].ID != want {
			t.Errorf("%s: want %s, got %s, %+v", line, want, run.Outcome, run.Causes)
		}
	}
}
