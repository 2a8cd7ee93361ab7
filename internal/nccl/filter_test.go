package nccl

import (
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// TestLists compares lists with the answers of NCCL's own code: parseStringList and matchIfList of 2.28.9 and 2.30.7 as
// ncclIbInit calls them, and those of 2.28.9 with the bound of interfaces. 2.18.6 gives the same as 2.28.9.
func TestLists(t *testing.T) {
	compare(t, "testdata/list.tsv", func(list string) []func(device string, port int) bool {
		return []func(string, int) bool{
			hcaFilter(list, []version{{2, 28, 9}}).selects, hcaFilter(list, []version{{2, 30, 7}}).selects,
			interfaceFilter(list).selects,
		}
	})
}

// TestNVSHMEMLists compares lists with the answers of NVSHMEM 3.4.5's own nvshmemt_parse_hca_list.
func TestNVSHMEMLists(t *testing.T) {
	compare(t, "testdata/nvshmem.tsv", func(list string) []func(device string, port int) bool {
		l := nvshmemDevices(list)
		return []func(string, int) bool{
			func(device string, number int) bool { return l.selects(port{device, number}) },
		}
	})
}

// compare reads lists and the answers to them: 1 for each port that is selected. The first row names the ports.
func compare(t *testing.T, name string, selections func(list string) []func(device string, port int) bool) {
	t.Helper()
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	header, lines, _ := strings.Cut(string(file), "\n")
	_, ports, _ := strings.Cut(header, ": ")
	for line := range strings.Lines(lines) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, selects := range selections(row[0]) {
			var got strings.Builder
			for p := range strings.FieldsSeq(ports) {
				device, port, _ := strings.Cut(p, ":")
				got.WriteByte("01"[asInt(selects(device, host.Atoi(port)))])
			}
			if got.String() != row[1+i] {
				t.Errorf("%q, answer %d: %s, want %s", row[0], i, got.String(), row[1+i])
			}
		}
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestInterfaces compares the interfaces that a setting selects, and their order, with the answers of
// ncclFindInterfaces of NCCL 2.28.9 for these interfaces, of which eth1 is down.
func TestInterfaces(t *testing.T) {
	var s host.Snapshot
	for _, l := range []struct{ name, addresses string }{
		{"lo", "127.0.0.1 ::1"}, {"eth0", "10.0.0.1 10.0.0.2 fd00::1"}, {"eth1", ""}, {"ib0", "10.0.2.1 fe80::2"},
		{"docker0", "172.17.0.1"}, {"v6only", "fd00::9"}, {"net1", "fe80::1"},
	} {
		prefixes := []netip.Prefix{}
		for a := range strings.FieldsSeq(l.addresses) {
			prefixes = append(prefixes, netip.PrefixFrom(netip.MustParseAddr(a), 24))
		}
		s.Links = append(s.Links, host.Link{Name: l.name, Addresses: host.Know(prefixes)})
	}
	file, err := os.ReadFile("testdata/interfaces.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		got := interfaceFilter(row[0]).selected(&s, row[1])
		want := strings.Fields(row[2])
		if row[1] == "AF_INET6" { // the answers list IPv6 addresses in another order
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q of %q: %v, NCCL takes %v", row[0], row[1], got, want)
		}
	}
}

// With a family that the interface for bootstrap does not have, NCCL stops.
func TestFamily(t *testing.T) {
	s, _ := pod(t, "pod-roce-4vf")
	for i := range s.Links {
		s.Links[i].Addresses = host.Know([]netip.Prefix{netip.MustParsePrefix("10.0.0.7/24")})
	}
	for family, want := range map[string]int{"AF_INET6": 1, "AF_INET": 0, "inet6": 0} {
		s.Env = maps.Clone(s.Env)
		s.Env[socketFamily] = family
		_, findings := Compute(rail.Resolve(s, rail.Pod).Rails, s, Policy{Mode: RDMA})
		other := func(f check.Finding) bool { return f.Subject != check.EnvRef(socketFamily) }
		found := slices.DeleteFunc(findings, other)
		if len(found) != want || want > 0 && found[0].Status != check.Fail {
			t.Errorf("%s: %v", family, found)
		}
	}
}
