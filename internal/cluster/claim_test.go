package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// claimNode has two rails of dranet as physical functions, and two virtual functions of a third card.
func claimNode(node string) []DRADevice {
	of := func(name string, attributes map[string]string) DRADevice {
		return DRADevice{Driver: DRANet, Pool: node, Node: node, Name: name, RDMA: true, Attribute: attributes}
	}
	return []DRADevice{
		of("eth10", map[string]string{"dra.net/ifName": "eth10"}),
		of("eth2", map[string]string{"dra.net/ifName": "eth2"}),
		of("ib-only", map[string]string{"dra.net/rdmaDevice": "mlx5_9"}),
		of("pf", map[string]string{"dra.net/ifName": "eth3", "dra.net/sriovVfs": "2"}),
		of("vf0", map[string]string{
			"dra.net/ifName": "eth3v0", "dra.net/isSriovVf": "true", "dra.net/pciAddress": "0000:3a:00.2",
		}),
		of("vf1", map[string]string{
			"dra.net/ifName": "eth3v1", "dra.net/isSriovVf": "true", "dra.net/pciAddress": "0000:3a:00.3",
		}),
		{Driver: DRANet, Node: node, Name: "eth0", Attribute: map[string]string{"dra.net/ifName": "eth0"}},
		{Driver: DRANet, Node: node, Name: "bad", RDMA: true, Taint: "broken", Attribute: map[string]string{"dra.net/ifName": "eth8"}},
		{Driver: DRASriov, Node: node, Name: "v", RDMA: true, Attribute: map[string]string{DRASriov + "/PFName": "eth4"}},
	}
}

func TestClaimRails(t *testing.T) {
	s := State{DRADevices: append(claimNode("a"), claimNode("b")...)}
	got := map[string]int64{}
	var names, selectors []string
	for _, r := range s.ClaimRails() {
		names = append(names, r.Driver+" "+r.Network)
		selectors = append(selectors, r.Selector())
		got[r.Network] = r.PerNode["a"]
	}
	want := []string{"dra.net 0000:3a", "dra.net eth2", "dra.net eth10", "dra.net mlx5_9", DRASriov + " eth4"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("rails (-want +got):\n%s", diff)
	}
	counts := map[string]int64{"0000:3a": 2, "eth2": 1, "eth10": 1, "mlx5_9": 1, "eth4": 1}
	if diff := cmp.Diff(counts, got); diff != "" {
		t.Errorf("devices of node a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`has(device.attributes["dra.net"].pciAddress) && device.attributes["dra.net"].pciAddress.startsWith("0000:3a:")`,
		`has(device.attributes["dra.net"].ifName) && device.attributes["dra.net"].ifName == "eth2"`,
	}, selectors[:2]); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	if got := s.RailOfDevice(ClaimedDevice{Request: "rail-0", Driver: DRANet, Pool: "b", Name: "vf1"}); got != "0000:3a" {
		t.Errorf("vf1 is of rail %q", got)
	}
}

func TestWithoutClaimed(t *testing.T) {
	s := State{
		DRADevices:     claimNode("a"),
		ResourceClaims: []ResourceClaim{{Devices: []ClaimedDevice{{Request: "rail-0", Driver: DRANet, Pool: "a", Name: "vf0"}}}},
	}
	for _, r := range s.WithoutClaimed().ClaimRails() {
		if want := int64(1); r.PerNode["a"] != want {
			t.Errorf("%s: %d devices are free, want %d", r.Network, r.PerNode["a"], want)
		}
	}
	if len(s.DRADevices) != len(claimNode("a")) {
		t.Error("the State itself changed")
	}
}

// TestRestoreHeld: while pods hold their devices, dranet publishes them without their interfaces.
func TestRestoreHeld(t *testing.T) {
	free := State{DRADevices: claimNode("a")}
	want := free.ClaimRails()
	for name, exclusive := range map[string]bool{"shared RDMA devices": false, "exclusive RDMA devices": true} {
		t.Run(name, func(t *testing.T) {
			s := State{DRADevices: claimNode("a")}
			for i, d := range s.DRADevices {
				attribute, rail := railOf(d)
				if rail == "" || d.Driver != DRANet {
					continue
				}
				held := ClaimedDevice{Request: "rail", Driver: d.Driver, Pool: d.Pool, Name: d.Name}
				selector := Rail{Driver: d.Driver, Network: rail, Attribute: attribute}.Selector()
				claim := ResourceClaim{
					Requests: []ClaimRequest{{Name: "rail", Selectors: []string{selector}}},
					Devices:  []ClaimedDevice{held},
				}
				attributes := map[string]string{dranetRDMA: "mlx5_0", dranetAddress: d.Attribute[dranetAddress]}
				if d.Name == "ib-only" {
					attributes = d.Attribute
				}
				if exclusive {
					delete(attributes, dranetRDMA)
					s.DRADevices[i].RDMA = false
					claim.Conditions = []DeviceCondition{{
						Driver: d.Driver, Device: d.Name,
						Type: "RDMALinkReady", Status: "True", Reason: "RDMALinkReady",
					}}
				}
				s.DRADevices[i].Attribute = attributes
				s.ResourceClaims = append(s.ResourceClaims, claim)
			}
			s.RestoreHeld()
			if diff := cmp.Diff(want, s.ClaimRails()); diff != "" {
				t.Errorf("rails (-free +held):\n%s", diff)
			}
		})
	}
	t.Run("a scan while the interface moves to the pod", func(t *testing.T) {
		s := State{DRADevices: claimNode("a")}
		var claim ResourceClaim
		for i, d := range s.DRADevices {
			attribute, rail := railOf(d)
			if rail == "" || d.Driver != DRANet {
				continue
			}
			s.DRADevices[i].RDMA = false
			d.Attribute["dra.net/rdma"] = "false"
			selector := Rail{Driver: d.Driver, Network: rail, Attribute: attribute}.Selector()
			claim.Requests = append(claim.Requests, ClaimRequest{
				Name: d.Name, Selectors: []string{`device.attributes["dra.net"].rdma && ` + selector},
			})
			held := ClaimedDevice{Request: d.Name, Driver: d.Driver, Pool: d.Pool, Name: d.Name}
			claim.Devices = append(claim.Devices, held)
		}
		s.ResourceClaims = []ResourceClaim{claim}
		s.RestoreHeld()
		if diff := cmp.Diff(want, s.ClaimRails()); diff != "" {
			t.Errorf("rails (-free +held):\n%s", diff)
		}
	})
	t.Run("a selector that names no rail", func(t *testing.T) {
		s := State{
			DRADevices: []DRADevice{{
				Driver: DRANet, Pool: "a", Node: "a", Name: "eth2", RDMA: true,
				Attribute: map[string]string{dranetRDMA: "mlx5_0"},
			}},
			ResourceClaims: []ResourceClaim{{
				Requests: []ClaimRequest{{Name: "any", Selectors: []string{`device.attributes["dra.net"].rdma`}}},
				Devices:  []ClaimedDevice{{Request: "any", Driver: DRANet, Pool: "a", Name: "eth2"}},
			}},
		}
		s.RestoreHeld()
		if rails := s.ClaimRails(); len(rails) > 0 {
			t.Errorf("a rail whose name nothing tells: %v", rails)
		}
		if offers := s.DRAOffers(); len(offers) != 1 {
			t.Errorf("offers %v", offers)
		}
	})
}

func TestGPUsByRoot(t *testing.T) {
	at := func(root string) map[string]string {
		return map[string]string{PCIeRoot: root, "dra.net/ifName": "eth2"}
	}
	s := State{DRADevices: []DRADevice{
		{Driver: DRAGPU, Node: "a", GPU: true, Attribute: at("pci0000:1a")},
		{Driver: DRAGPU, Node: "a", GPU: true, Attribute: at("pci0000:1a")},
		{Driver: DRAGPU, Node: "a", GPU: true, Taint: "xid", Attribute: at("pci0000:1a")},
		{Driver: DRAGPU, Node: "b", GPU: true, Attribute: at("pci0000:1a")},
		{Driver: DRANet, Node: "a", RDMA: true, Attribute: at("pci0000:2b")},
	}}
	if diff := cmp.Diff(map[string]int{"pci0000:1a": 2}, s.GPUsByRoot("a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pci0000:2b"}, s.RootsOf(s.ClaimRails()[0], "a")); diff != "" {
		t.Error(diff)
	}
}

func TestClassOf(t *testing.T) {
	for name, test := range map[string]struct {
		classes []DeviceClass
		want    string
	}{
		"the plain one of two": {
			[]DeviceClass{
				{Name: "rdma", Selectors: []string{`device.driver == "dra.net"`, `device.attributes["dra.net"].rdma == true`}},
				{Name: "dranet", Selectors: []string{`device.driver == 'dra.net'`}},
			},
			"dranet",
		},
		"with the condition that its devices have RDMA": {
			[]DeviceClass{{Name: "mrdma", Selectors: []string{
				"device.driver == \"dra.net\" && has(device.attributes['dra.net'].rdma)\n  && device.attributes['dra.net'].rdma == true",
			}}},
			"mrdma",
		},
		"some of its devices": {
			[]DeviceClass{{Name: "cloud", Selectors: []string{
				`device.driver == "dra.net"`, `has(device.attributes["dra.net"].cloudNetwork)`,
			}}},
			"",
		},
		"an alternative": {
			[]DeviceClass{{Name: "any", Selectors: []string{`device.driver == "dra.net" || device.driver == "x"`}}}, "",
		},
		"another driver": {[]DeviceClass{{Name: "gpu", Selectors: []string{`device.driver == "gpu.nvidia.com"`}}}, ""},
		"every device":   {[]DeviceClass{{Name: "all"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := State{DeviceClasses: test.classes}.ClassOf(DRANet)
			if got != test.want || found != (test.want != "") {
				t.Errorf("ClassOf = %q, %t; want %q", got, found, test.want)
			}
		})
	}
}
