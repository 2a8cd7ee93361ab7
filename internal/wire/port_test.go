package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// TestInterfaceMTU: a RoCE device has the MTU of its interface, also of one in the network namespace of a pod. What is
// not known is no guess.
func TestInterfaceMTU(t *testing.T) {
	const (
		ethernet = "its port is not Ethernet, which alone shows its MTU"
		nowhere  = "its interface is in no network namespace that was read"
		refused  = "network namespace of process 73: permission denied"
	)
	links := []host.Link{
		{Name: "eno5np0", MTU: host.Know(9000)}, {Name: "eno5np0_0", MTU: host.Know(1500)}, {Name: "net1", MTU: host.Know(9000)},
	}
	for name, c := range map[string]struct {
		layer     string
		netdevs   []string
		parent    string
		elsewhere host.Fact[int]
		want      Port
	}{
		"of this network namespace":            {layer: host.Ethernet, netdevs: []string{"eno5np0"}, want: Port{MTU: 4096}},
		"with those of virtual functions":      {layer: host.Ethernet, netdevs: []string{"eno5np0_0", "eno5np0"}, want: Port{MTU: 4096}},
		"of Soft-RoCE":                         {layer: host.Ethernet, parent: "eno5np0_0", want: Port{MTU: 1024}},
		"of a pod":                             {layer: host.Ethernet, elsewhere: host.Know(1500), want: Port{MTU: 1024}},
		"of a pod, with a name that is here":   {layer: host.Ethernet, parent: "net1", elsewhere: host.Know(1500), want: Port{MTU: 1024}},
		"of a pod whose namespace was refused": {layer: host.Ethernet, elsewhere: host.Unread[int](refused), want: Port{Why: refused}},
		"of a pod that was not read":           {layer: host.Ethernet, want: Port{Why: nowhere}},
		"of Soft-RoCE in another namespace":    {layer: host.Ethernet, parent: "net7", want: Port{Why: nowhere}},
		"InfiniBand":                           {layer: host.InfiniBand, netdevs: []string{"eno5np0"}, want: Port{Why: ethernet}},
		"a port whose link layer was not read": {netdevs: []string{"eno5np0"}, want: Port{Why: ethernet}},
		"too small for a packet of RoCE":       {layer: host.Ethernet, elsewhere: host.Know(300)},
		"here, and refused elsewhere":          {layer: host.Ethernet, netdevs: []string{"eno5np0"}, elsewhere: host.Unread[int](refused), want: Port{MTU: 4096}},
	} {
		t.Run(name, func(t *testing.T) {
			device := host.Device{Name: "mlx5_0", Netdevs: c.netdevs, Ports: []host.Port{{Number: 1}}}
			if c.layer != "" {
				device.Ports[0].LinkLayer = host.Know(c.layer)
			}
			if c.parent != "" {
				device.Parent = host.Know(c.parent)
			}
			s := host.Snapshot{Devices: []host.Device{device}, Links: links, Wire: host.Know(host.Wire{
				Devices: []host.WireDevice{{Name: "mlx5_0", Ports: []host.WirePort{{Number: 1, InterfaceMTU: c.elsewhere}}}},
			})}
			if diff := cmp.Diff(c.want, portsOf(s)["mlx5_0"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBytesOnNode: the probe of a node knows the bytes of a pod as the pod itself does, or says why it does not.
func TestBytesOnNode(t *testing.T) {
	const refused = "network namespace of process 71: permission denied"
	for name, c := range map[string]struct {
		mtu    host.Fact[int]
		rate   float64
		noRate string
	}{
		"read":    {mtu: host.Know(1500), rate: 1000 * 1024},
		"refused": {mtu: host.Unread[int](refused), noRate: refused},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{5, 1005}, pid: 71}, queuePair{number: 18, remote: 43, pid: 72})
			m.After.Pods = map[int]string{71: "uid-a", 72: "uid-b"}
			m.After.Devices[0].Ports[0].InterfaceMTU = c.mtu
			pod := check.PodRef("train", "h-kim-0")
			members := OnNode(check.Named(check.Node, "gpu-01"), host.Snapshot{
				Devices: []host.Device{{Name: "mlx5_0", Ports: []host.Port{{Number: 1, LinkLayer: host.Know(host.Ethernet)}}}},
				Wire:    host.Know(m.After),
				Earlier: &host.Snapshot{Wire: host.Know(m.Before)},
			}, map[string]check.Ref{"uid-a": pod, "uid-b": check.PodRef("train", "h-kim-1")})
			if len(members) != 3 || members[1].Ref != pod || len(members[1].Usages) != 1 {
				t.Fatalf("%+v", members)
			}
			u := members[1].Usages[0]
			if u.Sent.Packets != 1000 || u.Sent.Rate != c.rate || u.NoRate != c.noRate {
				t.Errorf("%+v", u)
			}
			if still := members[2].Usages[0]; still.NoRate != "" {
				t.Errorf("nothing moved: %+v", still)
			}
		})
	}
}

// TestRepeatedOnNode: the bytes of a pod on a node stay known when one of its connections repeats its packets.
func TestRepeatedOnNode(t *testing.T) {
	m := machine(
		queuePair{number: 17, remote: 42, sent: [2]uint32{5, 1005}, pid: 71},
		queuePair{number: 42, remote: 17, expected: [2]uint32{5, 5}, pid: 72},
		queuePair{number: 18, remote: 43, sent: [2]uint32{5, 1005}, pid: 71},
		queuePair{number: 43, remote: 18, expected: [2]uint32{5, 1005}, pid: 72},
	)
	m.After.Pods = map[int]string{71: "uid-a", 72: "uid-b"}
	m.After.Devices[0].Ports[0].InterfaceMTU = host.Know(1500)
	ports := []host.Port{{Number: 1, LinkLayer: host.Know(host.Ethernet), Rate: host.Know(host.Rate{Gbps: 25})}}
	members := OnNode(check.NodeRef("gpu-01"), host.Snapshot{
		Devices: []host.Device{{Name: "mlx5_0", Ports: ports}},
		Wire:    host.Know(m.After),
		Earlier: &host.Snapshot{Wire: host.Know(m.Before)},
	}, map[string]check.Ref{"uid-a": check.PodRef("train", "h-kim-0"), "uid-b": check.PodRef("train", "h-kim-1")})
	want := Amount{Packets: 1000, Rate: 1000 * 1024}
	if got := Together(members, false).Members[1].Usages[0].Sent; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
