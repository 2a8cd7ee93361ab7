package bench

import (
	"fmt"
	"math"
	"regexp"
	"slices"
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
// Versions before 2.12 have no root, and no redop for operations that do not reduce. A half may be missing, or N/A for
// operations that cannot run in place. Four more columns follow each half with -I. Launchers print a prefix.
var (
	ncclRow  = regexp.MustCompile(`(\d{1,18})\s+\d+\s+[a-z]\w*\s+(?:[a-z]+\s+)?((?:N/A|[-\d]).*)`)
	ncclRank = regexp.MustCompile(`#\s+Rank\s+(\d+)\s`)
)

// ncclTests reads the rows of all_reduce_perf, the faster half of each, and counts the ranks that it lists.
func ncclTests(log string) (ranks int, sizes []SizedRate) {
	seen := map[string]bool{}
	for line := range strings.Lines(log) {
		if m := ncclRank.FindStringSubmatch(line); m != nil {
			seen[m[1]] = true
		}
		if m := ncclRow.FindStringSubmatch(line); m != nil {
			if bytes, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				sizes = append(sizes, fasterHalf(bytes, numbers(m[2]))...)
			}
		}
	}
	return len(seen), sizes
}

// numbers returns the columns up to the first one that is neither a number nor N/A, which is NaN.
func numbers(text string) []float64 {
	var all []float64
	for field := range strings.FieldsSeq(text) {
		f, err := strconv.ParseFloat(strings.Replace(field, "N/A", "NaN", 1), 64)
		if err != nil {
			break
		}
		all = append(all, f)
	}
	return all
}

// fasterHalf returns the result of a row by its columns after redop: none if the row is incomplete.
func fasterHalf(bytes int64, columns []float64) []SizedRate {
	const half, withIterations = 4, 8 // time, algbw, busbw, #wrong
	if len(columns)%half == 1 {
		columns = columns[1:] // the root
	}
	step := half
	if len(columns) == 2*withIterations {
		step = withIterations
	} else if len(columns) != half && len(columns) != 2*half {
		return nil
	}
	var found []SizedRate
	for columns := range slices.Chunk(columns, step) {
		r := SizedRate{Bytes: bytes, Algbw: GBps(columns[1]), Busbw: GBps(columns[2])}
		switch {
		case !isRate(columns[1]) || !isRate(columns[2]):
		case len(found) == 0:
			found = append(found, r)
		case r.Busbw > found[0].Busbw:
			found[0] = r
		}
	}
	return found
}

// number reads a finite number that is not negative.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && isRate(f)
}

func isRate(f float64) bool { return f >= 0 && !math.IsInf(f, 0) }
