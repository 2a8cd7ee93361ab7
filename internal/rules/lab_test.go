package rules

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// TestLabPairs examines two machines of the lab as pods of one job, the first with a real fault. The fault is reported
// with the differences under it. The process of each machine opens all devices, which is not tested here.
func TestLabPairs(t *testing.T) {
	peer := rulestest.Recorded(t, "lab-healthy-peer")
	for name, want := range map[string]string{
		"healthy": "", "wrong-mac": "", "firewall": "", "packet-loss": "", "slow-rail": "",
		"iommu-translated": "", "iommu-translated-amd": "", "iommu-absent": "",
		"vf-down":           "fail port-active",
		"pf-down":           "fail pf-up",
		"port-down":         "fail pf-up",
		"verbs-missing":     "fail uverbs-openable",
		"mtu":               "fail rail-mtu",
		"no-address":        "fail gid-usable",
		"link-local-only":   "fail gid-usable",
		"duplicate-address": "fail duplicate-address",
		"arp-flux":          "warn rail-arp",
		"rail-isolation":    "warn rails-routable",
		"rdma-exclusive":    "fail rdma-namespace",
	} {
		faulty := rulestest.Recorded(t, "lab-"+name)
		d := Diagnose(Case{Machines: JudgeAll([]Machine{
			{Ref: check.PodRef("train", "a"), Node: "a", Group: "job/train", Snapshot: faulty},
			{Ref: check.PodRef("train", "b"), Node: "b", Group: "job/train", Snapshot: peer},
		})})
		got := slices.DeleteFunc(checksOf(d), func(found string) bool { return found == "warn foreign-hca-hidden" })
		if want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
