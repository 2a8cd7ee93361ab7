package scan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWayOf(t *testing.T) {
	ib, ofi := []byte("IB"), []byte("AWS Libfabric")
	for text, want := range map[string]Way{
		"[send] via NET/IB/5/GDRDMA/Shared":         {Network: ib, Device: 5, Sends: true, Direct: true},
		" 8[0] [receive] via NET/IB/12":             {Network: ib, Device: 12},
		"[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared": {Network: ib, Sends: true, Direct: true},
		"[receive] via NET/AWS Libfabric/0/GDRDMA":  {Network: ofi, Direct: true},
		"[send] via NET/IB":                         {Sends: true},
		"[send] via NET/I\tB/0":                     {Sends: true},
		"via NET/IB/0":                              {}, // neither end
		"via P2P/CUMEM/read":                        {},
		"via P2P/MNNVL":                             {Fabric: true},
		"via SHM/direct/direct":                     {},
		"via direct shared memory":                  {},
		"[send] via COLLNET/SHARP/0":                {Sends: true},
		"[send] ":                                   {Sends: true},
		"":                                          {},
	} {
		want.Text = []byte(text)
		if diff := cmp.Diff(want, WayOf([]byte(text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestBeforeWay(t *testing.T) {
	for text, want := range map[string]int{
		"08/1 : 3069[5] -> 3101[5] [send] via NET/IB/5":   26,
		"08/1 : 3069[5] -> 3101[5] via P2P/CUMEM":         26,
		"00 : 0[1b000] -> 1[4d000] via P2P/IPC":           26,
		"00 : 0[1B000] -> 1[4d000] via P2P/IPC":           -1, // no number of NCCL's
		"00/08 :    0   1   2   3":                        -1, // a ring
		"08/1 : 3069[5] -- 3101[5] via P2P/CUMEM":         -1,
		"08/1 : 3069[5] -> 3101[send] via NET/IB/5":       -1,
		"08/1 : 3069[5] -> 3101[5]via P2P/CUMEM":          -1,
		"08/1 : 3069[5]\r-> 3101[5] via P2P/CUMEM":        -1,
		"08/1 : 3069[5] gpu-0:1:2 [0] -> 1[1] via P2P":    -1,
		"[send] via NET/IB/5>":                            -1,
		"\x00/1 : 3069[5] -> 3101[5] via P2P/CUMEM":       -1,
		"08/1 : 3069[5] -> 3101[\xb5] via P2P/CUMEM":      -1,
		strings.Repeat("0", 30) + "[5] -> " + "3101[5] v": 45,
		strings.Repeat("0", 41) + "[5] -> " + "3101[5] v": -1, // too far
	} {
		var field [farthestWay]byte
		copy(field[:], text+strings.Repeat("~", farthestWay))
		if got := beforeWay(&field); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestLinesKnowsChannels asserts that Lines finds the ways of channels, except the last one of a block.
func TestLinesKnowsChannels(t *testing.T) {
	ways := []string{"[send] via NET/IB/5/GDRDMA/Shared", "[receive] via NET/IB/12(3)/GDRDMA",
		"via P2P/CUMEM/read", "via SHM"}
	var log strings.Builder
	for i := range 40 * len(ways) {
		fmt.Fprintf(&log, "gpu-%d:%d:20 [0] NCCL INFO Channel %02d/0 : %d[0] -> 8[0] %s\n", i/16, i/8, i%8, i/8,
			ways[i%len(ways)])
	}
	lines, known := 0, 0
	_, err := Lines(strings.NewReader(log.String()), words, func(b Batch) {
		for l := range b.All() {
			if lines++; l.Way == nil {
				continue
			}
			known++
			if !bytes.HasSuffix(l.Text, l.Way.Text) || !bytes.HasPrefix(l.Text[l.Said:], []byte("Channel ")) {
				t.Errorf("%q: way %q from %d on", l.Text, l.Way.Text, l.Said)
			}
		}
	})
	// "via SHM" is too short to be known
	if all := 40 * len(ways); err != nil || lines != all || known < all-all/4-2 {
		t.Errorf("%d lines, %d of them known, want %d and nearly three in four; error %v", lines, known, all, err)
	}
}
