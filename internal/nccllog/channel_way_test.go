package nccllog

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWayOf(t *testing.T) {
	ib, ofi := []byte("IB"), []byte("AWS Libfabric")
	for text, want := range map[string]way{
		"[send] via NET/IB/5/GDRDMA/Shared":         {network: ib, device: 5, sends: true, direct: true},
		" 8[0] [receive] via NET/IB/12":             {network: ib, device: 12},
		"[send] via NET/IB/0(3)/GDRDMA(PCI)/Shared": {network: ib, sends: true, direct: true},
		"[receive] via NET/AWS Libfabric/0/GDRDMA":  {network: ofi, direct: true},
		"[send] via NET/IB":                         {sends: true},
		"[send] via NET/I\tB/0":                     {sends: true},
		"via NET/IB/0":                              {}, // neither end
		"via P2P/CUMEM/read":                        {},
		"via P2P/MNNVL":                             {fabric: true},
		"via SHM/direct/direct":                     {},
		"via direct shared memory":                  {},
		"[send] via COLLNET/SHARP/0":                {sends: true},
		"[send] ":                                   {sends: true},
		"":                                          {},
	} {
		want.text = []byte(text)
		if diff := cmp.Diff(want, wayOf([]byte(text)), cmp.AllowUnexported(way{})); diff != "" {
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

// channelLog returns the lines that several processes log about their channels in turn.
func channelLog() string {
	var b strings.Builder
	for i := range 40 {
		rank := i / 3 % 16
		head := fmt.Sprintf("gpu-%d:%d:%d [%d] NCCL INFO ", rank/8, 100+rank, 200+rank, rank%8)
		for _, way := range []string{"[send] via NET/IB/%d/GDRDMA/Shared", "[receive] via NET/IB/%d(3)/GDRDMA",
			"via P2P/CUMEM/read", "via SHM"} {
			if strings.Contains(way, "%d") {
				way = fmt.Sprintf(way, i%8)
			}
			fmt.Fprintf(&b, "%sChannel %02d/0 : %d[%d] -> %d[%d] %s\n", head, i%16, rank, rank%8, rank+8, rank%8, way)
		}
	}
	return b.String()
}

// TestSearchKnowsChannels asserts that the search finds the ways of channels, except the last one of a block.
func TestSearchKnowsChannels(t *testing.T) {
	text := channelLog()
	b := block{data: []byte(text), end: len(text), ways: &ways{}}
	b.search(anchors())
	known := 0
	for _, s := range b.spans {
		if line := b.data[s.from:s.to]; s.way != nil {
			known++
			if !bytes.HasSuffix(line, s.way.text) || !bytes.HasPrefix(line[s.text:], []byte("Channel ")) {
				t.Errorf("%q: way %q from %d on", line, s.way.text, s.text)
			}
		}
	}
	// "via SHM" is too short to be known
	if lines := strings.Count(text, "\n"); len(b.spans) != lines || known < lines-lines/4-2 {
		t.Errorf("%d lines, %d of them known, want %d and nearly three in four", len(b.spans), known, lines)
	}
}

// FuzzTake asserts that the parser reads the same facts whether the search knows channels or not.
func FuzzTake(f *testing.F) {
	short := channelLog()[:8<<10] // long ones leave no time to vary them
	f.Add(short)
	f.Add(strings.Replace(short, " -> ", " -> gpu-0:1:2 [0] NCCL INFO Channel 0 : 1[1] -> ", 50))
	f.Add(strings.ReplaceAll(short, "NCCL INFO Channel", `NCCL INFO x\na:1:2 [0] NCCL INFO Channel`))
	f.Add(strings.ReplaceAll(short, "gpu-0:100:200 [0] NCCL INFO", `x\na:1:2 [0] NCCL INFO`))
	f.Add(strings.ReplaceAll(short, "Channel 03",
		"x.cc:1 NCCL WARN Call to ibv_modify_qp failed,\ngpu-0:1:2 [0] NCCL INFO Channel 03"))
	f.Fuzz(func(t *testing.T, log string) {
		var want, got Parser
		reading, _ := each(strings.NewReader(log), func(n int, line []byte) { want.Line(Place{"job.log", n}, line) })
		want.End(Place{"job.log", reading.Lines}, reading.Tail)
		if _, err := got.Read("job.log", strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Log(), got.Log()); diff != "" {
			t.Errorf("(-line by line +as read):\n%s", diff)
		}
	})
}
