package rail

import "testing"

func TestRDMAMTU(t *testing.T) {
	for netdev, want := range map[int]int{
		1500: 1024, 9000: 4096, 4200: 4096, 4191: 2048, 2200: 2048, 1280: 1024, 300: 0, 352: 256,
	} {
		if got := RDMAMTU(netdev); got != want {
			t.Errorf("MTU %d: %d, want %d", netdev, got, want)
		}
	}
}
