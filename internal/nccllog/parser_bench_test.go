package nccllog

import (
	"fmt"
	"testing"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// BenchmarkParser reads what nearly all lines of a large job's log are: channels, other lines of level INFO, training
// output.
func BenchmarkParser(b *testing.B) {
	var lines [][]byte
	for rank := range 256 {
		head := fmt.Sprintf("[1,%d]<stdout>:worker-%d:%d:%d [%d] NCCL INFO ", rank, rank/8, 100+rank, 200+rank, rank%8)
		for channel := range 8 {
			lines = append(lines, fmt.Appendf(nil,
				"%sChannel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA/Shared", head, channel, rank, rank%8,
				rank+8, rank%8, channel))
			lines = append(lines, fmt.Appendf(nil, "%sChannel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM/read", head,
				channel, rank, rank%8, rank+1, rank%8))
			lines = append(lines, fmt.Appendf(nil, "%sConnected to proxy localRank %d -> connection 0x7f%d", head,
				rank%8, rank))
		}
	}
	size := 0
	for _, l := range lines {
		size += len(l) + 1
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var p Parser
	for n := 0; b.Loop(); n++ {
		for i, l := range lines {
			p.Line(event.Place{File: "job.log", Line: n*len(lines) + i + 1}, l)
		}
	}
}
