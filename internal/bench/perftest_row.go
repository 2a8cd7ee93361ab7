package bench

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/bench/perftest"
	"github.com/railhead/railhead/internal/host"
)

// perftestTable is the form of the rows below a line of column names. The zero value has no rows.
//
//	#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec] 99.9% percentile[usec]
//	#bytes #iterations t_avg[usec] tps average
//
// Source: linux-rdma/perftest src/perftest_parameters.h, RESULT_FMT*; of a bandwidth test see perftest.Table.
type perftestTable struct {
	bandwidth perftest.Table
	latencies int // columns after #bytes and #iterations
}

func tableOf(header string) perftestTable {
	switch {
	case strings.Contains(header, "t_min[usec]"):
		const min, max, typical, avg, stdev, p99, p999 = 1, 1, 1, 1, 1, 1, 1
		return perftestTable{latencies: min + max + typical + avg + stdev + p99 + p999}
	case strings.Contains(header, "t_avg[usec]"):
		return perftestTable{latencies: 2}
	}
	return perftestTable{bandwidth: perftest.TableOf(header)}
}

// row adds a row of the table to p. It is false if the line is none.
func (t perftestTable) row(line string, p *Perftest) bool {
	if r, ok := t.bandwidth.Row(line); ok {
		addOnce(&p.Bandwidth, PerftestBW{int64(r.Bytes), int64(r.Iterations), Gbps(r.Peak), Gbps(r.Average), r.Messages})
		return true
	}
	words := strings.Fields(line)
	if t.latencies == 0 || len(words) < 3 || !digits(words[0]) || !digits(words[1]) {
		return false
	}
	bytes, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return false
	}
	iterations, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return false
	}
	numbers, ok := t.numbers(words[2:])
	if ok {
		addOnce(&p.Latency, latencyRow(bytes, iterations, numbers))
	}
	return ok
}

// addOnce adds a row once: a client and its server that share a file both print it.
func addOnce[T comparable](rows *[]T, row T) {
	if !slices.Contains((*rows)[max(0, len(*rows)-2):], row) {
		*rows = append(*rows, row)
	}
}

// glued finds the numbers in a row of latencies. Columns have two decimals and touch if they are wide:
// "2465.901216.65" is 2465.90 and 1216.65.
var glued = regexp.MustCompile(`\d{1,15}\.\d\d`)

// numbers reads the first columns of a row of latencies.
func (t perftestTable) numbers(words []string) ([]float64, bool) {
	if len(words) < t.latencies {
		words = glued.FindAllString(strings.Join(words, " "), -1)
	}
	if len(words) < t.latencies {
		return nil, false
	}
	numbers := make([]float64, t.latencies)
	for i := range numbers {
		var ok bool
		if numbers[i], ok = number(words[i]); !ok {
			return nil, false
		}
	}
	return numbers, true
}

func latencyRow(bytes, iterations int64, n []float64) PerftestLat {
	r := PerftestLat{Bytes: bytes, Iterations: iterations}
	if len(n) < 7 {
		r.Average = n[0]
		return r
	}
	r.Min, r.Max, r.Typical, r.Average = host.Know(n[0]), host.Know(n[1]), host.Know(n[2]), n[3]
	r.P99, r.P999 = host.Know(n[5]), host.Know(n[6]) // n[4] is the standard deviation
	return r
}
