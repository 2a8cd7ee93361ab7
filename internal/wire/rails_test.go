package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// pod returns a pod with rails a, b and c, and the rate of each that one process uses: -1 has a queue pair at rest.
func pod(name string, rates map[string]float64) Member {
	m := Motion{Rails: []string{"a", "b", "c"}}
	for _, device := range m.Rails {
		rate, used := rates[device]
		if !used {
			continue
		}
		u := Usage{Device: device, PID: 7, Pairs: 8, Sent: Amount{Rate: max(rate, 0)}}
		if rate > 0 {
			u.Active = 8
		}
		m.Usages = append(m.Usages, u)
	}
	m.judge()
	return Member{Ref: check.PodRef("train", name), Motion: m}
}

func TestIdleRails(t *testing.T) {
	all := map[string]float64{"a": 1e9, "b": 1e9, "c": 1e9}
	two := map[string]float64{"a": 1e9, "b": 1e9}
	fewer := pod("fewer", map[string]float64{"a": 1e9, "b": 1e9})
	fewer.Rails, fewer.Unused = fewer.Rails[:2], nil
	head := pod("head", two)
	head.Usages[0].PID = 8
	late := pod("late", two)
	late.Unread = []check.Evidence{{Got: "no such device"}}
	for name, c := range map[string]struct {
		members []Member
		part    bool
		want    []string
	}{
		"all rails are used":        {[]Member{pod("0", all), pod("1", all), pod("2", all)}, false, nil},
		"one pod leaves one out":    {[]Member{pod("0", all), pod("1", two), pod("2", all)}, false, []string{"1"}},
		"no pod uses it: storage":   {[]Member{pod("0", two), pod("1", two), pod("2", two)}, false, nil},
		"one of two pods":           {[]Member{pod("0", all), pod("1", two)}, false, nil},
		"half of the pods":          {[]Member{pod("0", all), pod("1", two), pod("2", two), pod("3", all)}, false, nil},
		"not all pods were read":    {[]Member{pod("0", all), pod("1", two), pod("2", all)}, true, nil},
		"a device was not read":     {[]Member{pod("0", all), late, pod("2", all)}, false, nil},
		"pods with other rails":     {[]Member{fewer, pod("1", two), fewer}, false, nil},
		"a pod with more processes": {[]Member{pod("0", all), head, pod("2", all)}, false, nil},
		"a queue pair at rest": {
			[]Member{pod("0", all), pod("1", map[string]float64{"a": 1e9, "b": 1e9, "c": -1}), pod("2", all)},
			false, nil,
		},
		"a pod at rest": {
			[]Member{pod("0", all), pod("1", map[string]float64{"a": -1, "b": -1}), pod("2", all)}, false, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range Together(c.members, !c.part).IdleRails {
				got = append(got, r.Name)
				if r != check.DeviceRef("c").On(check.PodRef("train", r.Name)) {
					t.Error(r)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUneven(t *testing.T) {
	at := func(a, b, c float64) Member { return pod("0", map[string]float64{"a": a, "b": b, "c": c}) }
	wrapped := at(5e9, 1e9, 4e9)
	wrapped.Usages[2].Sent.AtLeast = true
	late := at(5e9, 1e9, 4e9)
	late.ends = []End{{Device: "b", Remote: 42, State: host.StateRTS}}
	slow := []Uneven{{check.DeviceRef("b").On(check.PodRef("train", "0")), 1e9, 4e9}}
	for name, c := range map[string]struct {
		member Member
		want   []Uneven
	}{
		"equal":                       {at(5e9, 4e9, 5e9), nil},
		"one is slow":                 {at(5e9, 1e9, 4e9), slow},
		"one is fast":                 {at(9e9, 1e9, 1e9), nil},
		"one is at rest":              {at(5e9, -1, 5e9), nil},
		"the rates are not certain":   {wrapped, nil},
		"one connected meanwhile":     {late, nil},
		"one rail carries everything": {at(5e9, -1, -1), nil},
	} {
		if diff := cmp.Diff(c.want, Together([]Member{c.member}, false).Uneven); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOverTCP(t *testing.T) {
	eth := func(sent, received float64) Member {
		eth0 := LinkRate{Name: "eth0", Sent: sent, Received: received}
		m := Motion{Proof: NoConnection, Rails: []string{"a"}, Links: []LinkRate{eth0}}
		return Member{Ref: check.PodRef("train", "0"), Motion: m}
	}
	bare, node, refused := eth(5e8, 5e8), eth(5e8, 5e8), eth(5e8, 5e8)
	bare.Rails, node.nodeNetwork, refused.Proof = nil, true, NotProved
	connected := eth(5e8, 5e8)
	connected.Proof = NoTraffic
	for name, c := range map[string]struct {
		members []Member
		part    bool
		over    bool
	}{
		"two pods exchange data":              {[]Member{eth(5e8, 5e8), eth(5e8, 5e8)}, false, true},
		"one sends, the other receives":       {[]Member{eth(1e9, 1e6), eth(1e6, 1e9)}, false, true},
		"both download":                       {[]Member{eth(1e7, 1e9), eth(1e7, 1e9)}, false, false},
		"both upload":                         {[]Member{eth(1e9, 1e7), eth(1e9, 1e7)}, false, false},
		"control traffic":                     {[]Member{eth(1e7, 1e7), eth(1e7, 1e7)}, false, false},
		"queue pairs are connected":           {[]Member{eth(5e8, 5e8), connected}, false, false},
		"one pod was not read":                {[]Member{eth(5e8, 5e8), refused}, false, false},
		"pods without rails":                  {[]Member{bare, bare}, false, false},
		"one pod has rails":                   {[]Member{eth(5e8, 5e8), bare}, false, false},
		"one pod is in the node's namespace":  {[]Member{eth(5e8, 5e8), node}, false, false},
		"not all pods of the job":             {[]Member{eth(5e8, 5e8), eth(5e8, 5e8)}, true, false},
		"one pod, which talks to the outside": {[]Member{eth(5e8, 5e8)}, false, false},
	} {
		j := Together(c.members, !c.part)
		if (j.OverTCP != nil) != c.over || c.over && j.OverTCP.Name != "eth0" {
			t.Errorf("%s: %+v", name, j.OverTCP)
		}
	}
}
