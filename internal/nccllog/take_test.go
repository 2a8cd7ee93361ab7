package nccllog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

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

// FuzzTake asserts that the parser reads the same facts whether it gets a log in blocks, in which channels are known,
// or line by line.
func FuzzTake(f *testing.F) {
	short := channelLog()[:8<<10] // long ones leave no time to vary them
	f.Add(short)
	f.Add(strings.ReplaceAll(short, "via SHM", "via P2P/CUMEM/read")) // several channels with one way in a row
	f.Add(strings.Replace(short, " -> ", " -> gpu-0:1:2 [0] NCCL INFO Channel 0 : 1[1] -> ", 50))
	f.Add(strings.ReplaceAll(short, "NCCL INFO Channel", `NCCL INFO x\na:1:2 [0] NCCL INFO Channel`))
	f.Add(strings.ReplaceAll(short, "gpu-0:100:200 [0] NCCL INFO", `x\na:1:2 [0] NCCL INFO`))
	f.Add(strings.ReplaceAll(short, "Channel 03",
		"x.cc:1 NCCL WARN Call to ibv_modify_qp failed,\ngpu-0:1:2 [0] NCCL INFO Channel 03"))
	f.Fuzz(func(t *testing.T, log string) {
		if strings.Trim(log, asciiText) != "" || strings.Contains(log, " std") { // decoded: the files of runtimes
			return
		}
		var want, got Parser
		var stream scan.Stream
		for line := range strings.Lines(log) {
			if b, ok := Next(&stream, []byte(strings.TrimSuffix(line, "\n"))); ok {
				want.Take("job.log", b)
			}
		}
		want.End(event.Place{File: "job.log", Line: stream.Lines()}, stream.Tail())
		if _, err := got.Read("job.log", strings.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Log(), got.Log()); diff != "" {
			t.Errorf("(-line by line +as read):\n%s", diff)
		}
	})
}

const asciiText = "\n !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~\\"
