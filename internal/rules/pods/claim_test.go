package pods

import (
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// claimState has two nodes with the ports eth1 and eth2, and a pod whose claim requests one device.
func claimState(request cluster.ClaimRequest, held ...cluster.ResourceClaim) cluster.State {
	s := cluster.State{
		Read:          []cluster.Kind{cluster.DRADevices, cluster.DeviceClasses, cluster.ResourceClaims},
		DeviceClasses: []cluster.DeviceClass{{Name: "dranet", Selectors: []string{`device.driver == "dra.net"`}}},
	}
	for _, node := range []string{"a", "b"} {
		for _, port := range []string{"eth1", "eth2"} {
			s.DRADevices = append(s.DRADevices, cluster.DRADevice{
				Driver: cluster.DRANet, Pool: node, Node: node, Name: port, RDMA: true,
				Attribute: map[string]string{"dra.net/ifName": port, "dra.net/rdma": "true"},
			})
		}
	}
	requests := []cluster.ClaimRequest{request, {Name: "rail-1", Class: "dranet", Selectors: []string{
		`device.attributes["dra.net"].ifName == "eth2"`,
	}}}
	own := cluster.ResourceClaim{Namespace: "train", Name: "h-kim-0-rails-x", Pod: "h-kim-0", Requests: requests}
	s.ResourceClaims = slices.Concat(held, []cluster.ResourceClaim{own})
	return s
}

func holder(pod, node, port string) cluster.ResourceClaim {
	return cluster.ResourceClaim{
		Namespace: "other", Name: pod + "-c", Pod: pod, Allocated: true,
		Devices: []cluster.ClaimedDevice{{Request: "r", Driver: cluster.DRANet, Pool: node, Name: port}},
	}
}

// TestExplainClaims: doctor says which request of a claim cannot be met, and why.
func TestExplainClaims(t *testing.T) {
	with := func(class, selector string) cluster.ClaimRequest {
		return cluster.ClaimRequest{Name: "rail-0", Class: class, Selectors: []string{selector}}
	}
	const name = `device.attributes["dra.net"].ifName == `
	for title, test := range map[string]struct {
		s      cluster.State
		status check.Status
		says   []string
	}{
		"a port that no node has": {
			claimState(with("dranet", name+`"eth9"`)), check.Fail,
			[]string{"no device meets request rail-0 of h-kim-0", `ifName == "eth9"`, "they have eth1, eth2"},
		},
		"the wrong attribute for RDMA": {
			claimState(with("dranet", `device.attributes["dra.net"].rdmaCapable`)), check.Fail,
			[]string{"none of 4 devices has device.attributes[\"dra.net\"].rdmaCapable"},
		},
		"a class that does not exist": {
			claimState(with("nics", "true")), check.Fail,
			[]string{"device class nics, which does not exist", "railhead setup namespace train"},
		},
		"all devices are held": {
			claimState(with("dranet", name+`"eth1"`), holder("x", "a", "eth1"), holder("y", "b", "eth1")), check.Warn,
			[]string{"request rail-0 of h-kim-0 waits", "claimed by other/x, other/y"},
		},
		"no node has both": {
			claimState(with("dranet", name+`"eth1"`), holder("x", "a", "eth1"), holder("y", "b", "eth2")), check.Warn,
			[]string{"no node has all devices", "nothing free for rail-0", "nothing free for rail-1"},
		},
		"a selector that is not understood": {
			claimState(with("dranet", `device.attributes["dra.net"].mtu > 1500`)), check.Fail,
			[]string{"cannot be allocated: 0/2 nodes"},
		},
		"claims that were not read": {cluster.State{}, check.Fail, []string{"cannot be allocated: 0/2 nodes"}},
	} {
		t.Run(title, func(t *testing.T) {
			o, ok := Explain(pending(nil), event("FailedScheduling", "0/2 nodes are available: 2 cannot allocate all claims."), test.s)
			text := o.Summary + "\n" + strings.Join(o.Fix.Commands, "\n")
			for _, e := range o.Evidence {
				text += "\n" + e.String()
			}
			if !ok || o.Check != ResourceClaim || o.Status != test.status {
				t.Errorf("%v: %s %s", ok, o.Status, o.Check)
			}
			for _, says := range test.says {
				if !strings.Contains(text, says) {
					t.Errorf("does not say %q:\n%s", says, text)
				}
			}
		})
	}
}
