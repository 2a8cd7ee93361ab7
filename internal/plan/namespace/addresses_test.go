package namespace

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

func TestSubnets(t *testing.T) {
	for given, want := range map[string]string{
		"":                                "",
		"10.1.0.0/16":                     "10.1.0.0/18 10.1.64.0/18 10.1.128.0/18 10.1.192.0/18",
		"10.1.7.9/26":                     "10.1.7.0/28 10.1.7.16/28 10.1.7.32/28 10.1.7.48/28",
		"fd00::/64":                       "fd00::/66 fd00::4000:0:0:0/66 fd00::8000:0:0:0/66 fd00::c000:0:0:0/66",
		"10.1.0.0/24,10.2.0.0/24":         "fail",
		"10.1.0.0/27":                     "fail",
		"10.4.0.0/24,1::/64,2::/64,3::/9": "10.4.0.0/24 1::/64 2::/64 3::/9",
	} {
		d := &draft{}
		for text := range strings.SplitSeq(given, ",") {
			if p, err := netip.ParsePrefix(text); err == nil {
				d.RailSubnets = append(d.RailSubnets, p)
			}
		}
		var got []string
		for _, p := range subnetsOf(d, 4) {
			got = append(got, p.String())
		}
		if d.plan.Failed() {
			got = []string{"fail"}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", given, diff)
		}
	}
	three := &draft{Options: Options{RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	if got := subnetsOf(three, 3); len(got) != 3 || got[2] != netip.MustParsePrefix("10.128.0.0/10") {
		t.Errorf("three rails: %v", got)
	}
}

func TestCheckAddresses(t *testing.T) {
	prefix := netip.MustParsePrefix
	byWhereabouts := func(fields string) Options { return Options{IPAM: `{"type":"whereabouts",` + fields + "}"} }
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"nothing":         {},
		"whereabouts":     {byWhereabouts(`"range":"10.1.0.0/16"`), ""},
		"part of a range": {byWhereabouts(`"range":"10.1.0.5-10.1.0.9/16"`), ""},
		"another plugin":  {Options{IPAM: `{"type":"nv-ipam","poolName":"rails"}`}, ""},
		"text":            {Options{IPAM: "nonsense"}, `--ipam: "nonsense" is not a JSON object`},
		"a list":          {Options{IPAM: `[]`}, "is not a JSON object"},
		"without type":    {Options{IPAM: `{"range":"10.1.0.0/16"}`}, `has no "type"`},
		"no subnet":       {byWhereabouts(`"range":"10.1.0.0"`), "range: "},
		"both":            {Options{IPAM: `{"type":"dhcp"}`, RailSubnets: []netip.Prefix{prefix("10.0.0.0/8")}}, "exclude each other"},
		"subnets":         {Options{RailSubnets: []netip.Prefix{prefix("10.1.0.0/16"), prefix("10.2.0.0/16")}}, ""},
		"no address":      {byWhereabouts(`"range":"10.1.0.0/31"`), "10.1.0.0/31 has no address for a pod"},
		"start elsewhere": {
			byWhereabouts(`"range":"10.1.0.0/24","range_start":"10.9.0.5"`),
			"range_start 10.9.0.5 is not in 10.1.0.0/24",
		},
		"part elsewhere": {
			byWhereabouts(`"range":"10.1.0.5-10.2.0.9/24"`),
			"range_start 10.1.0.5 is not in 10.2.0.9/24",
		},
		"backwards": {byWhereabouts(`"range":"10.1.0.9-10.1.0.5/24"`), "before it starts"},
		"gateway": {
			byWhereabouts(`"range":"10.1.0.0/24","gateway":"10.1.0.1"`),
			`add "exclude": ["10.1.0.1/32"]`,
		},
		"gateway, excluded": {
			byWhereabouts(`"range":"10.1.0.0/24","gateway":"10.1.0.1","exclude":["10.1.0.0/30"]`),
			"",
		},
		"gateway before":    {byWhereabouts(`"range":"10.1.0.5-10.1.0.9/24","gateway":"10.1.0.1"`), ""},
		"gateway elsewhere": {byWhereabouts(`"range":"10.1.0.0/24","gateway":"10.2.0.1"`), ""},
		"a small subnet": {
			Options{RailSubnets: []netip.Prefix{prefix("10.1.0.0/31"), prefix("10.2.0.0/31")}},
			"10.1.0.0/31 has no address",
		},
		"subnets that meet": {Options{RailSubnets: []netip.Prefix{prefix("10.0.0.0/8"), prefix("10.2.0.0/16")}}, "10.0.0.0/8 and 10.2.0.0/16 overlap"},
	} {
		err := c.o.CheckAddresses()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestSubnetsOfMoreRails: another rail divides a subnet anew. Its part must not overlap those that the rails of the
// namespace have.
func TestSubnetsOfMoreRails(t *testing.T) {
	subnets := func(texts ...string) []netip.Prefix {
		var all []netip.Prefix
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	const quarters = "10.9.0.0/18,10.9.64.0/18,10.9.128.0/18,10.9.192.0/18"
	for name, test := range map[string]struct {
		namespace string
		subnets   []netip.Prefix
		want      []string
	}{
		"the same subnet": {
			"train", subnets("10.9.0.0/16"),
			[]string{"fail job-request namespace/train: the subnet 10.9.128.0/19 of train-eno9np0rdma " +
				"overlaps 10.9.128.0/18 of train-eno7np0rdma"},
		},
		"one more":          {"train", subnets(append(strings.Split(quarters, ","), "10.10.0.0/18")...), nil},
		"another namespace": {"other", subnets("10.9.0.0/16"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.BeforeSetup()
			s.SriovNetworks = nil
			p, _ := Setup(s, Options{Namespace: "train", RailSubnets: subnets("10.9.0.0/16")})
			s = plantest.AfterSetup(s, p)
			s.SriovPolicies = append(s.SriovPolicies, cluster.SriovPolicy{
				Namespace: "openshift-sriov-network-operator", Name: "eno9np0", ResourceName: "eno9np0rdma", RDMA: true,
			})
			_, findings := Setup(s, Options{Namespace: test.namespace, RailSubnets: test.subnets})
			findings = slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Status != check.Fail })
			if diff := cmp.Diff(test.want, plantest.Lines(findings)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// On OpenShift no pod would start whose attachment sets arp_ignore: one subnet for several RoCE rails is refused,
// unless a network there shows that the allowlist has it.
func TestOneSubnetOnOpenShift(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster.State)
		want   string // the finding
	}{
		"OpenShift": {
			func(*cluster.State) {},
			"fail job-request namespace/train: all rails would be in the subnet of --ipam",
		},
		"another network sets it": {func(s *cluster.State) {
			s.SriovNetworks = []cluster.SriovNetwork{{Spec: map[string]any{"metaPlugins": arpPlugin}}}
		}, ""},
		"without allowlist": {func(s *cluster.State) {
			s.Server.Groups = slices.DeleteFunc(slices.Clone(s.Server.Groups), func(g string) bool {
				return g == cluster.SecurityGroup
			})
		}, ""},
		"InfiniBand": {func(s *cluster.State) {
			for i := range s.SriovPolicies {
				s.SriovPolicies[i].LinkType = "IB"
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.BeforeSetup()
			s.SriovNetworks = nil
			test.change(&s)
			_, findings := Setup(s, Options{
				Namespace: "train", Name: "h-kim", IPAM: `{"type":"whereabouts","range":"10.1.0.0/16"}`,
			})
			got := ""
			for _, f := range findings {
				if f.Check == plan.JobRequest {
					got = fmt.Sprintf("%s %s %s: %s", f.Status, f.Check, f.Subject, f.Summary)
				}
			}
			if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}
