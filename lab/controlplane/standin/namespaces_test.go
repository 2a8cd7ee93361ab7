package standin

import "testing"

func TestMCS(t *testing.T) {
	// Namespaces of real clusters: block 65 has the range 1000650000/10000.
	for block, want := range map[int]string{0: "s0:c1,c0", 65: "s0:c26,c0", 66: "s0:c26,c5", 67: "s0:c26,c10"} {
		if got := mcs(block * labelsPerNode); got != want {
			t.Errorf("block %d: got %s, want %s", block, got, want)
		}
	}
}

func TestBlockOf(t *testing.T) {
	for ids, want := range map[string]int{"1000000000/10000": 0, "1000650000/10000": 65} {
		if got, ok := blockOf(ids); !ok || got != want {
			t.Errorf("%s: got %d, %v", ids, got, ok)
		}
	}
	for _, ids := range []string{"", "x/10000", "1000650000", "5/10000"} {
		if got, ok := blockOf(ids); ok {
			t.Errorf("%q: got %d", ids, got)
		}
	}
}
