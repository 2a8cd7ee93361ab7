package standin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/controlplane/sriov"
)

func TestCNIConfig(t *testing.T) {
	for name, test := range map[string]struct {
		spec map[string]any
		want string
	}{
		"bare": {
			map[string]any{"resourceName": "rail"},
			`{"cniVersion":"1.0.0","name":"n","type":"sriov","vlan":0,"vlanQoS":0,"ipam":{}}`,
		},
		"everything": {
			map[string]any{
				"vlan": int64(100), "vlanQoS": int64(3), "vlanProto": "802.1q", "spoofChk": "off",
				"trust": "on", "linkState": "enable",
				"minTxRate": int64(0), "maxTxRate": int64(1000), "capabilities": `{"mac": true}`,
				"ipam": `{"type": "static"}`, "logLevel": "info",
			},
			`{"cniVersion":"1.0.0","name":"n","type":"sriov","vlan":100,"spoofchk":"off","trust":"on","vlanQoS":3,` +
				`"vlanProto":"802.1q",` +
				`"min_tx_rate":0,"max_tx_rate":1000,"capabilities":{"mac":true},"link_state":"enable",` +
				`"logLevel":"info","ipam":{"type":"static"}}`,
		},
		"chained": {
			map[string]any{"metaPlugins": `{"type": "rdma"}, {"type": "tuning"}`},
			`{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"sriov","vlan":0,"vlanQoS":0,"ipam":{}},` +
				`{"type":"rdma"},{"type":"tuning"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cniConfig("n", test.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.Join(strings.Fields(got), "")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := cniConfig("n", map[string]any{"ipam": "{"}); err == nil {
		t.Error("an IPAM that is no JSON is no error")
	}
}

func TestPolicySelects(t *testing.T) {
	pf := sriov.PF{Name: "eno5np0", PciAddress: "0000:1a:00.0", Vendor: "15b3", DeviceID: "1021", TotalVfs: 16}
	of := func(change func(*policy)) policy {
		var p policy
		p.Spec.NumVfs = 8
		change(&p)
		return p
	}
	for name, test := range map[string]struct {
		policy      policy
		first, last int
		ok          bool
	}{
		"everything":   {of(func(*policy) {}), 0, 7, true},
		"vendor":       {of(func(p *policy) { p.Spec.NicSelector.Vendor = "15b3" }), 0, 7, true},
		"other vendor": {of(func(p *policy) { p.Spec.NicSelector.Vendor = "8086" }), 0, 0, false},
		"other device": {of(func(p *policy) { p.Spec.NicSelector.DeviceID = "101d" }), 0, 0, false},
		"name": {
			of(func(p *policy) { p.Spec.NicSelector.PfNames = []string{"eno6np0", "eno5np0"} }),
			0,
			7,
			true,
		},
		"other name":   {of(func(p *policy) { p.Spec.NicSelector.PfNames = []string{"eno5"} }), 0, 0, false},
		"range of VFs": {of(func(p *policy) { p.Spec.NicSelector.PfNames = []string{"eno5np0#2-5"} }), 2, 5, true},
		"no range":     {of(func(p *policy) { p.Spec.NicSelector.PfNames = []string{"eno5np0#all"} }), 0, 0, false},
		"address": {
			of(func(p *policy) { p.Spec.NicSelector.RootDevices = []string{"0000:1a:00.0"} }),
			0,
			7,
			true,
		},
		"other address": {
			of(func(p *policy) { p.Spec.NicSelector.RootDevices = []string{"0000:1b:00.0"} }),
			0,
			0,
			false,
		},
		"more than fits": {of(func(p *policy) { p.Spec.NumVfs = 17 }), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			first, last, ok := test.policy.selects(pf)
			if ok != test.ok || ok && (first != test.first || last != test.last) {
				t.Errorf("got %d-%d, %v", first, last, ok)
			}
		})
	}
}
