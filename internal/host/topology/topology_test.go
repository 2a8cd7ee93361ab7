package topology

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

const topology = `<!-- <pci busid="0009:00:00.0"/> -->
<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64">
    <pci busid="ffffff:ff:01.0" class="0x060400" link_speed="16 GT/s">
      <pci busid="0001:00:00.0" class="0x030200"><gpu dev="0"/></pci>
      <pci busid="0101:00:00.0" class="0x020700"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000">
    <pci busid="nothing of PCI" class="0x060400">
      <pci busid='0002:00:00.0' class="0x030200" />
      <pci busid="00000000:0A:00.0" class="0x030200"/>
    </pci>
    <bridge><pci busid="0003:00:00.0"/></bridge>
    <pci busid="0102:00:00.0" class="0x020700"/>
  </cpu>
</system>`

func TestParse(t *testing.T) {
	at := func(domain uint32) host.PCIAddress { return host.PCIAddress{Domain: domain} }
	bridge, unnamed := host.PCIAddress{Domain: 0xffffff, Bus: 0xff, Slot: 1}, at(1<<32-1)
	placed := func(numa int, hops ...host.PCIAddress) host.PlacedFunction {
		return host.PlacedFunction{
			Address: hops[len(hops)-1], NUMA: numa, Path: host.PCIPath{HostBridge: fmt.Sprint("cpu", numa), Hops: hops},
		}
	}
	want := []host.PlacedFunction{
		placed(0, bridge), placed(0, bridge, at(1)), placed(0, bridge, at(0x101)),
		placed(1, unnamed, at(2)), placed(1, at(0x102)),
	}
	got, err := Parse(topology)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"empty": "", "no function": `<system version="1"><cpu numaid="0"/></system>`,
		"functions by other names": `<system version="1"><cpu numaid="0"><pci busid="0000:3B:00.0"/></cpu></system>`,
	} {
		if _, err := Parse(text); err == nil || errors.As(err, new(*RefusedError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(`<system version="1"><cpu/></system>`); !errors.As(err, new(*RefusedError)) {
		t.Errorf("no numaid: %v", err)
	}
}

// TestTopologies compares files with the answers of NCCL's own code: xmlLoadSub of 2.28.9, without a device. Each line
// has the addresses that the file places, or what NCCL says as it refuses it, and the file with \x0a, \x09 and \x0d.
func TestTopologies(t *testing.T) {
	answers, err := os.ReadFile("testdata/topology.tsv")
	if err != nil {
		t.Fatal(err)
	}
	unescaped := strings.NewReplacer(`\x0a`, "\n", `\x09`, "\t", `\x0d`, "\r")
	for line := range strings.Lines(string(answers)) {
		want, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		functions, err := Parse(unescaped.Replace(file))
		var got []string
		for _, f := range functions {
			got = append(got, f.Path.HostBridge+":"+f.Address.String())
		}
		answer := strings.Join(got, " ")
		if refused := new(RefusedError); errors.As(err, &refused) {
			answer = strings.TrimSpace(refused.Text)
		}
		if answer != strings.ReplaceAll(want, `\x09`, `\t`) {
			t.Errorf("%s\n%s\nNCCL: %s", file, answer, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(topology)
	f.Add(`<system><pci busid="0001:00:00.0"/></pci></pci><pci></system`)
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := Parse(text)
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
