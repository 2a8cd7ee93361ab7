package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/rail"
)

// TestExpectedNumbers: the table of docs/bench.md has the numbers that the code computes.
func TestExpectedNumbers(t *testing.T) {
	page, err := os.ReadFile("../../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []struct {
		rails int
		rate  Gbps
		slot  Slot
		name  string // of the slot
	}{
		{1, 100, Slot{GTs: 8, Lanes: 16}, "Gen3 x16"},
		{4, 200, Slot{GTs: 16, Lanes: 16}, "Gen4 x16"},
		{4, 400, Slot{GTs: 32, Lanes: 16}, "Gen5 x16"},
		{8, 400, Slot{GTs: 32, Lanes: 16}, "Gen5 x16"},
	} {
		ceiling := func(layer Layer, mtu int) Ceiling {
			c, err := Path{machine.rate, layer, mtu, machine.slot}.Ceiling()
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		roce := ceiling(RoCEv2, 4096)
		all := make([]Ceiling, machine.rails)
		for i := range all {
			all[i] = roce
		}
		ring, err := RingCeiling([][]Ceiling{all, all})
		if err != nil {
			t.Fatal(err)
		}
		pcie, _ := machine.slot.Payload()
		row := fmt.Sprintf("| %d x %dG | %s: %.0f | %.1f | %.1f | %.1f | %.0f | %.1f GB/s = %.1f GiB/s | %.1f GB/s |", machine.rails, int(machine.rate), machine.name,
			float64(pcie), float64(roce.Rate), float64(ceiling(RoCEv2, rail.RDMAMTU(1500)).Rate), float64(ceiling(InfiniBand, 4096).Rate),
			float64(roce.Rate)*float64(machine.rails), float64(ring), float64(ring.GiBps()), 0.9*float64(ring))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/bench.md has no row\n%s", row)
		}
	}
}
