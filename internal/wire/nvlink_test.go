package wire

import (
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
)

// With an IMEX channel in every pod, NVLink may carry the data: rails without a packet are no fault then, unless the
// data is seen on TCP.
func TestMayUseNVLink(t *testing.T) {
	const channel = "dev/nvidia-caps-imex-channels/channel0"
	joined := hosttest.Edited(t, "pod-roce-4vf", hosttest.Edit{Files: map[string]string{channel: ""}})
	alone := hosttest.Edited(t, "pod-roce-4vf", hosttest.Edit{})
	motion := func(s host.Snapshot, sent uint64) Motion {
		reading := func(at, bytes uint64) host.Fact[host.Wire] {
			return host.Know(host.Wire{Taken: s.Taken.Add(time.Duration(at) * time.Second), Links: []host.WireLink{
				{Name: "eth0", Sent: host.Know(bytes), Received: host.Know(bytes)},
			}})
		}
		s.Wire = reading(1, sent)
		return Between(reading(0, 0), s)
	}
	for name, c := range map[string]struct {
		pods  []host.Snapshot
		bytes uint64
		whole bool
		want  bool
	}{
		"every pod has a channel":    {pods: []host.Snapshot{joined, joined}, whole: true, want: true},
		"one pod has none":           {pods: []host.Snapshot{joined, alone}, whole: true},
		"the data is on TCP instead": {pods: []host.Snapshot{joined, joined}, bytes: 2e9, whole: true},
	} {
		var members []Member
		for _, s := range c.pods {
			members = append(members, Member{Ref: check.PodRef("train", name), Motion: motion(s, c.bytes)})
		}
		j := Together(members, c.whole)
		if j.Proof != NoConnection || j.MayUseNVLink != c.want {
			t.Errorf("%s: proof %s, NVLink %t", name, j.Proof, j.MayUseNVLink)
		}
	}
}
