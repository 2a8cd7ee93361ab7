package rules

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// TestLabPairs: two machines of the lab as the pods of one job, the first with a fault that a kernel made. It is said first,
// and what differs because of it is under it. Each machine's process opens all devices, of which nothing is said here.
func TestLabPairs(t *testing.T) {
	read := func(name string) host.Snapshot {
		m, err := sysfs.Open("../../testdata/hosts/lab-" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		return m.Snapshot()
	}
	peer := read("healthy-peer")
	for name, want := range map[string][]string{
		"healthy": nil, "vf-down": {"fail port-active"}, "pf-down": {"fail pf-up"}, "port-down": {"fail pf-up"}, "wrong-mac": nil,
		"verbs-missing": {"fail uverbs-openable"}, "mtu": {"fail rail-mtu"}, "no-address": {"fail gid-usable"}, "link-local-only": {"fail gid-usable"},
		"duplicate-address": {"fail duplicate-address"}, "arp-flux": {"warn rail-arp"}, "rail-isolation": {"warn rails-routable"},
		"firewall": nil, "packet-loss": nil, "slow-rail": nil, "rdma-exclusive": {"fail rdma-namespace"},
		"iommu-translated": nil, "iommu-translated-amd": nil, "iommu-absent": nil,
	} {
		d := Diagnose(Case{Machines: []Machine{
			{Ref: check.PodRef("train", "a"), Node: "a", Group: "job/train", Snapshot: read(name)}, {Ref: check.PodRef("train", "b"), Node: "b", Group: "job/train", Snapshot: peer},
		}})
		got := slices.DeleteFunc(checksOf(d), func(said string) bool { return said == "warn foreign-hca-hidden" })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFoldFleet: a difference is under its cause, whichever of the two is graver, and however many there are.
func TestFoldFleet(t *testing.T) {
	of := func(id check.ID, status check.Status, pod string, machines ...check.Ref) Problem {
		about := []check.Ref{check.PodRef("t", pod)}
		return Problem{Finding: check.Finding{Check: id, Status: status, About: about, Summary: "it"}, Machines: machines}
	}
	pod0, pod1, pod2 := check.PodRef("t", "0"), check.PodRef("t", "1"), check.PodRef("t", "2")
	left := folder{explainedBy: Fleet(nil).ExplainedBy}.differences([]Problem{
		of("rail-mtu", check.Warn, "0", pod0), of(FleetMTU, check.Fail, "0"),
		of("pf-up", check.Warn, "1", pod1), of(FleetRails, check.Fail, "1"), of(FleetRate, check.Warn, "1"),
		of("rate-uniform", check.Unknown, "2", pod2), of(FleetRate, check.Warn, "2"),
	})
	want := []string{"fail rail-mtu", "fail pf-up", "unknown rate-uniform", "warn fleet-rate"}
	if got := checksOf(Diagnosis{Problems: left}); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if n := len(left[1].Consequences); n != 2 {
		t.Errorf("%d differences are under the physical function", n)
	}
}

// TestConcerning: whoever asks about a namespace is not told of the attachments of another that bring nothing.
func TestConcerning(t *testing.T) {
	broken := cluster.Network{Namespace: "elsewhere", Name: "nowhere", Type: "sriov", Resource: "openshift.io/nowhererdma"}
	attach := func(s *cluster.State) {
		for i := range s.Pods {
			s.Pods[i].Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "elsewhere/nowhere"}
		}
	}
	for name, test := range map[string]struct {
		options clusterrules.Options
		change  func(*cluster.State)
		want    bool
	}{
		"of another namespace":              {options: clusterrules.Options{Namespace: "train"}},
		"of this one":                       {options: clusterrules.Options{Namespace: "elsewhere"}, want: true},
		"of another, which a pod names":     {options: clusterrules.Options{Namespace: "train"}, change: attach, want: true},
		"the whole cluster was asked about": {options: clusterrules.Options{Whole: true}, want: true},
		"nobody said which":                 {want: true},
	} {
		s := training()
		s.Networks = append(s.Networks, broken)
		if test.change != nil {
			test.change(&s)
		}
		got := slices.ContainsFunc(clusterrules.Judge(s, test.options).Findings, func(f check.Finding) bool { return f.Check == clusterrules.NetworkResource })
		if got != test.want {
			t.Errorf("%s: told %t, want %t", name, got, test.want)
		}
	}
}
