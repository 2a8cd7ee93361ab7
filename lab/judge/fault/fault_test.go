package fault

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/guest"
)

func TestCatalogue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range All() {
		if names[f.Name] || f.Title == "" || f.make == nil || f.heal == nil || f.Doctor.View == "" || f.Doctor.Check == "" {
			t.Errorf("%+v", f)
		}
		names[f.Name] = true
		if !strings.Contains(string(text), "| "+f.Name+" | "+f.Title+" |") {
			t.Errorf("docs/lab.md does not have %s: %s", f.Name, f.Title)
		}
		if got, err := Find(f.Name); err != nil || got.Title != f.Title {
			t.Errorf("found %+v, %v", got, err)
		}
	}
}

// addresses is the output of `ip -j addr` in each network namespace.
var addresses = map[string]string{
	"": `[{"ifname":"eno5np0","address":"52:54:00:a0:00:01"},
		{"ifname":"eno5np0v1","address":"52:54:00:51:00:01","addr_info":[{"family":"inet6","local":"fe80::1","prefixlen":64},{"family":"inet","local":"192.168.5.101","prefixlen":24}]}]`,
	"cni-1": `[{"ifname":"net1","address":"52:54:00:50:00:01"}]`,
}

// TestFunctions: a virtual function is found where it is now, in the machine or in a pod.
func TestFunctions(t *testing.T) {
	var asked [][]string
	m := &Machine{Run: func(_ context.Context, argv ...string) (perf.Result, error) {
		asked = append(asked, argv)
		switch strings.Join(argv, " ") {
		case "ip netns list":
			return perf.Result{Stdout: "cni-1 (id: 0)\n"}, nil
		case "ip -j addr":
			return perf.Result{Stdout: addresses[""]}, nil
		case "nsenter --net=/run/netns/cni-1 -- ip -j addr":
			return perf.Result{Stdout: addresses["cni-1"]}, nil
		}
		return perf.Result{Code: 127, Stderr: "not found"}, nil
	}}
	card := guest.Card{VFs: []guest.VF{{MAC: "52:54:00:50:00:01", HCA: "mlx5_0"}, {MAC: "52:54:00:51:00:01", HCA: "mlx5_1"}}}
	got, err := m.Functions(t.Context(), card)
	want := []Function{
		{MAC: "52:54:00:51:00:01", HCA: "mlx5_1", Netdev: "eno5np0v1", Address: netip.MustParsePrefix("192.168.5.101/24")},
		{MAC: "52:54:00:50:00:01", HCA: "mlx5_0", Netns: "cni-1", Netdev: "net1"},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v, asked %q (-want +got):\n%s", err, asked, diff)
	}
	card.VFs = append(card.VFs, guest.VF{MAC: "52:54:00:52:00:01"})
	if _, err := m.Functions(t.Context(), card); err == nil {
		t.Error("a function that is nowhere is found")
	}
}

func TestOtherNetwork(t *testing.T) {
	for own, want := range map[string]string{"192.168.5.101/24": "192.168.6.0/24", "192.168.6.2/24": "192.168.5.0/24"} {
		if got := otherNetwork(netip.MustParsePrefix(own)); got != want {
			t.Errorf("next to %s: %s", own, got)
		}
	}
}

func TestWithoutIOMMU(t *testing.T) {
	got := withoutIOMMU([]string{"intel_iommu=on", "quiet", "iommu=pt", "amd_iommu=off"})
	if diff := cmp.Diff([]string{"quiet"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesOnly(t *testing.T) {
	f, err := Find("memlock")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Make(t.Context(), &Machine{}); err == nil || !strings.Contains(err.Error(), "no node of a cluster") {
		t.Errorf("made on a machine that is no node: %v", err)
	}
}
