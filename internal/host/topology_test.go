package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const topology = `<?xml version="1.0"?>
<!-- <pci busid="0009:00:00.0"/> -->
<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64">
    <pci busid="ffffff:ff:01.0" class="0x060400" link_speed="16 GT/s">
      <pci busid="0001:00:00.0" class="0x030200"><gpu dev="0"/></pci>
      <pci busid="0101:00:00.0" class="0x020700"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000">
    <pci busid="nothing of PCI" class="0x060400">
      <pci busid="0002:00:00.0"
           class="0x030200" />
    </pci>
    <pci busid="0102:00:00.0" class="0x020700"/>
  </cpu>
</system>`

func TestParseTopology(t *testing.T) {
	at := func(domain uint32) PCIAddress { return PCIAddress{Domain: domain} }
	bridge, unnamed := PCIAddress{0xffffff, 0xff, 1, 0}, PCIAddress{Domain: 1<<32 - 1}
	want := []PlacedFunction{
		{bridge, 0, PCIPath{"cpu0", []PCIAddress{bridge}}},
		{at(1), 0, PCIPath{"cpu0", []PCIAddress{bridge, at(1)}}},
		{at(0x101), 0, PCIPath{"cpu0", []PCIAddress{bridge, at(0x101)}}},
		{at(2), 1, PCIPath{"cpu1", []PCIAddress{unnamed, at(2)}}},
		{at(0x102), 1, PCIPath{"cpu1", []PCIAddress{at(0x102)}}},
	}
	got, err := ParseTopology(topology)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"empty": "", "no system": `<pci busid="0001:00:00.0"/>`, "no function": `<system version="1"><cpu numaid="0"/></system>`,
		"cut off": `<system version="1"`,
	} {
		if _, err := ParseTopology(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseTopology(f *testing.F) {
	f.Add(topology)
	f.Add(`<system><pci busid="0001:00:00.0"/></pci></pci><pci></system`)
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := ParseTopology(text)
		if err == nil && len(functions) == 0 {
			t.Error("neither functions nor an error")
		}
		for _, p := range functions {
			if n := len(p.Path.Hops); n == 0 || p.Path.Hops[n-1] != p.Address {
				t.Errorf("%v ends at another function", p)
			}
		}
	})
}
