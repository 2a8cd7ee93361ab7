package cluster

import "testing"

func TestMatching(t *testing.T) {
	s := State{Read: ClaimKinds(), DRADevices: claimNode("a"), DeviceClasses: []DeviceClass{
		{Name: "dranet", Selectors: []string{"device.driver == 'dra.net'"}},
		{Name: "fpga", Selectors: []string{"device.driver == 'fpga.example.com'"}},
	}}
	const of = `device.attributes["dra.net"].`
	for name, test := range map[string]struct {
		class, selector string
		devices         int
		unmet           string
		known           bool
	}{
		"all":                 {"dranet", "", 7, "", true}, // without the one with a taint
		"what deploy writes":  {"dranet", Rail{Attribute: "dra.net/ifName", Network: "eth2"}.Selector(), 1, "", true},
		"a virtual function":  {"dranet", Rail{Attribute: dranetAddress, Network: "0000:3a"}.Selector(), 2, "", true},
		"an attribute":        {"dranet", "has(" + of + "sriovVfs)", 1, "", true},
		"true":                {"dranet", of + "isSriovVf", 2, "", true},
		"no such name":        {"dranet", of + `ifName == "eth77"`, 0, of + `ifName == "eth77"`, true},
		"not understood":      {"dranet", of + `mtu > 1500`, 7, "", false},
		"another driver":      {"fpga", "", 0, "", false},
		"an alternative":      {"dranet", of + `ifName == "eth2" || true`, 7, "", false},
		"a negation":          {"dranet", "!" + of + "isSriovVf", 7, "", false},
		"unmet, and unknown":  {"dranet", of + `mtu > 1500 && ` + of + "nothing", 0, of + "nothing", false},
		"a class without any": {"none", "", 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := s.Matching(ClaimRequest{Class: test.class, Selectors: []string{test.selector}})
			if len(m.Devices) != test.devices || m.Unmet != test.unmet || m.Known != test.known {
				t.Errorf("%d devices, unmet %q, known %t; want %d, %q, %t",
					len(m.Devices), m.Unmet, m.Known, test.devices, test.unmet, test.known)
			}
			if m.NoClass != (test.class == "none") {
				t.Errorf("no class: %t", m.NoClass)
			}
		})
	}
	t.Run("claims were not read", func(t *testing.T) {
		s.Read = []Kind{DRADevices, DeviceClasses}
		selector := of + `ifName == "eth77"`
		if m := s.Matching(ClaimRequest{Class: "dranet", Selectors: []string{selector}}); m.Known || m.Unmet != "" {
			t.Errorf("a device whose interface may be in a pod is excluded: %+v", m)
		}
	})
}
