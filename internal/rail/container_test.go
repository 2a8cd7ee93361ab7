package rail

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// TestContainer: a container without a device learns so, and what to request, whatever it sees of the pod and the node.
func TestContainer(t *testing.T) {
	denied := func(s *host.Snapshot) {
		for i := range s.Uverbs {
			s.Uverbs[i].Access = host.Denied
		}
	}
	for name, test := range map[string]struct {
		change  func(*host.Snapshot)
		check   check.ID
		summary string
		fix     string
		who     check.Who
	}{
		"another container has them": {
			func(s *host.Snapshot) { unallocated(s); withoutNodes(s) },
			DeviceAllocated, "though the interfaces of mlx5_6 (net1), mlx5_7 (net2), ",
			"Request the RDMA resource in this container", check.User,
		},
		"nodes by a mount": {
			func(s *host.Snapshot) { unallocated(s); denied(s) },
			UverbsOpenable, "uverbs0 not permitted", "do not mount /dev/infiniband", check.User,
		},
		"given, and not permitted": {
			denied, UverbsOpenable, "not permitted", "recreate the pod", check.Admin,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := recorded(t, "pod-roce-4vf")
			test.change(&s)
			f := Resolve(s, Pod).NoRail(s)
			said := strings.Contains(f.Summary, test.summary) && strings.Contains(f.Fix.Text, test.fix)
			if !said || f.Check != test.check || f.Fix.Who != test.who {
				t.Errorf("%s: %s\nfix (%s): %s", f.Check, f.Summary, f.Fix.Who, f.Fix.Text)
			}
		})
	}
}
