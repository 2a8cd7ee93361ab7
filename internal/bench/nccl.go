package bench

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// busbw converts the algorithm bandwidth of an all-reduce over n ranks to bus bandwidth, which is comparable with the
// rate of a link for any n (nccl-tests doc/PERFORMANCE.md, "Bus Bandwidth").
func busbw(n int, algbw GBps) GBps { return algbw * GBps(2*float64(n-1)/float64(n)) }

// torchLines reads the lines that allreduce.py prints, one for each size. AlgBW is bytes/avg_sec/2^30. It ignores lines
// whose rate does not match their bytes and seconds, which are rounded.
//
//	[bench] op=all_reduce world=8 bytes=268435456 iters=50 avg_sec=0.006025 approx_alg_BW=41.49 GiB/s
func torchLines(log string) (ranks int, sizes []SizedRate) {
	const format = "op=all_reduce world=%d bytes=%d iters=%d avg_sec=%f approx_alg_BW=%f GiB/s"
	for line := range strings.Lines(log) {
		_, rest, _ := strings.Cut(line, "[bench] ")
		var world, iterations int
		var bytes int64
		var seconds, gibps float64
		_, err := fmt.Sscanf(rest, format, &world, &bytes, &iterations, &seconds, &gibps)
		if err != nil || world < 2 || bytes <= 0 || !(seconds > 0) || !(gibps > 0) {
			continue
		}
		const halfMicro, tolerance = 0.5e-6, 0.05
		want := float64(bytes) / seconds / gibi
		if math.Abs(gibps-want) > want*(tolerance+halfMicro/seconds)+0.01 {
			continue
		}
		algbw := GiBps(gibps).GBps()
		ranks, sizes = world, append(sizes, SizedRate{Bytes: bytes, Algbw: algbw, Busbw: busbw(world, algbw)})
	}
	return ranks, sizes
}

// A row of nccl-tests (src/util.cu, src/common.cu of v2.19.6), out of place and in place:
//
//	#  Rank  0 Group  0 Pid   9688 on demo-pod-1 device  0 [0000:18:00] NVIDIA H200
//	#     size    count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
//	   1048576   262144  float    sum    -1  72.95  14.37  12.58      0  73.07  14.35  12.56      0
//
// Versions before 2.12 have no root. Four more columns follow each half with -I. Launchers print a prefix.
var (
	ncclRow = regexp.MustCompile(`(\d{1,18})\s+\d+\s+[a-z]\w*\s+[a-z]+(?:\s+-?\d+)?` +
		ncclHalf + `(?:(?:\s+[\d.]+){4})?` + ncclHalf + `(?:\s|$)`)
	ncclRank = regexp.MustCompile(`#\s+Rank\s+(\d+)\s`)
)

const ncclHalf = `\s+(?:[\d.]+|N/A)\s+([\d.]+|N/A)\s+([\d.]+|N/A)\s+(?:[\d.e+]+|N/A)`

// ncclTests reads the rows of all_reduce_perf, the faster half of each, and counts the ranks that it lists.
func ncclTests(log string) (ranks int, sizes []SizedRate) {
	seen := map[string]bool{}
	for line := range strings.Lines(log) {
		if m := ncclRank.FindStringSubmatch(line); m != nil {
			seen[m[1]] = true
		}
		m := ncclRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		bytes, err := strconv.ParseInt(m[1], 10, 64)
		algbw, hasAlgbw := number(m[2])
		busbw, hasBusbw := number(m[3])
		if err != nil || !hasAlgbw || !hasBusbw {
			continue
		}
		faster := SizedRate{Bytes: bytes, Algbw: GBps(algbw), Busbw: GBps(busbw)}
		algbw, hasAlgbw = number(m[4]) // N/A: the operation is never in place
		if inPlace, ok := number(m[5]); ok && hasAlgbw && inPlace > busbw {
			faster.Algbw, faster.Busbw = GBps(algbw), GBps(inPlace)
		}
		sizes = append(sizes, faster)
	}
	return len(seen), sizes
}

// number reads a finite number that is not negative.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}
