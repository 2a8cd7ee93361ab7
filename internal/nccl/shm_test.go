package nccl

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

func TestSharedMemory(t *testing.T) {
	for name, test := range map[string]struct {
		size host.Fact[uint64]
		mode Mode
		want []string
	}{
		"the runtime's own":      {host.Know[uint64](64 << 20), RDMA, []string{"/dev/shm has 64 MiB"}},
		"the runtime's own, TCP": {host.Know[uint64](64 << 20), TCP, []string{"/dev/shm has 64 MiB"}},
		"a volume in memory":     {host.Know[uint64](8 << 30), RDMA, nil},
		"just enough":            {host.Know[uint64](256 << 20), RDMA, nil},
		"not there":              {host.Unread[uint64]("no such file"), RDMA, nil},
		"not read":               {host.Fact[uint64]{}, RDMA, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, rails := pod(t, "pod-roce-4vf")
			s.Limits.ShmBytes = test.size
			_, findings := Compute(rails, s, Policy{Mode: test.mode})
			var got []string
			for _, f := range findings {
				if f.Check == SharedMemory && f.Status == check.Warn {
					got = append(got, f.Summary[:len("/dev/shm has 64 MiB")])
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
