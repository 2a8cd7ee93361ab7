package bench

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench/perftest"
)

// Perftest is the output of a program of linux-rdma/perftest. It is read from the text, because --out_json is not valid
// JSON: unquoted words, trailing commas (perftest 4.5).
type Perftest struct {
	bandwidth   []perftest.Row
	latency     []latencyRow
	interrupted bool     // by the other end, while the two exchanged their parameters
	Errors      []string // printed to stdout or stderr
}

type latencyRow struct {
	iterations float64
	micros     float64 // typical, or the average of a test with a duration (-D)
}

// Errors of runs without a measurement.
var (
	// ErrNothingMoved is a result of 0: with -D perftest exits with 0 on a dead path, after 0 iterations.
	ErrNothingMoved = errors.New("it ended without moving any data")
	// ErrNoTable is the error of a run that was killed or did not start.
	ErrNoTable = errors.New("it printed no result")
	// ErrInterrupted is the error of a run whose other end left before either knew the parameters of the other.
	ErrInterrupted = errors.New("the other end left while the two exchanged their parameters")
)

// Best returns the highest average of all message sizes.
func (p Perftest) Best() (Gbps, error) {
	best := 0.0
	for _, r := range p.bandwidth {
		if r.Iterations > 0 {
			best = max(best, r.Average)
		}
	}
	if best > 0 {
		return Gbps(best), nil
	}
	return 0, p.nothing(len(p.bandwidth))
}

// Smallest returns the latency of the smallest message, in microseconds one way.
func (p Perftest) Smallest() (float64, error) {
	for _, r := range p.latency {
		if r.iterations > 0 && r.micros > 0 {
			return r.micros, nil
		}
	}
	return 0, p.nothing(len(p.latency))
}

// nothing returns why there is no measurement, with the errors that perftest printed.
func (p Perftest) nothing(rows int) error {
	const most = 4 // the cause is first
	err := ErrNothingMoved
	switch {
	case rows == 0 && len(p.Errors) == 0 && p.interrupted:
		return ErrInterrupted
	case rows == 0:
		err = ErrNoTable
	}
	if n := len(p.Errors); n > 0 {
		return fmt.Errorf("%w: %s", err, strings.Join(p.Errors[:min(n, most)], "; "))
	}
	return err
}

var (
	// exchange matches the errors of an end that the other left (src/perftest_communication.c, ethernet_read_keys,
	// ethernet_write_keys and their callers).
	exchange = regexp.MustCompile(`Couldn't read remote address|Couldn't send local address|` +
		`Unable to (?:read|write) to socket|[Ff]ailed to exchange data`)
	failure = regexp.MustCompile(`(?i)couldn't|can't|failed|failure|unable to|not found|is down|problem in|` +
		`did not get message|incompatib|no ib devices|with error|error=|syndrom|unsupported|not supported|invalid|` +
		`not compiled`)
	// harmless matches lines of good runs that look like errors.
	harmless = regexp.MustCompile(`(?i)^PCIe relax order|CPU frequency|^WARNING|` +
		`doesn't supports CUDA tests with inline|^Listing all`)
)

// ParsePerftest reads the output of a run: stdout, stderr, or both.
func ParsePerftest(text string) Perftest {
	const mostErrors = 20 // the first ones matter
	var p Perftest
	var bandwidth perftest.Table
	var latency latencyTable
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#bytes") {
			bandwidth, latency = perftest.TableOf(line), latencyTableOf(line)
			continue
		}
		if r, ok := bandwidth.Row(line); ok {
			p.bandwidth = append(p.bandwidth, r)
			continue
		}
		if r, ok := latency.row(line); ok {
			p.latency = append(p.latency, r)
			continue
		}
		switch {
		case exchange.MatchString(line):
			p.interrupted = true
		case !failure.MatchString(line), harmless.MatchString(line), slices.Contains(p.Errors, line):
		case len(p.Errors) < mostErrors:
			p.Errors = append(p.Errors, line)
		}
	}
	return p
}

// latencyTable is the form of the rows of a latency test. The zero value has no rows.
//
//	#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% ... 99.9% ...
//	#bytes #iterations t_avg[usec] tps average
//
// Source: linux-rdma/perftest src/perftest_parameters.h, RESULT_FMT_LAT*.
type latencyTable struct {
	columns int // after #bytes and #iterations
	micros  int // the column to read
}

func latencyTableOf(header string) latencyTable {
	switch {
	case strings.Contains(header, "t_typical[usec]"):
		return latencyTable{columns: 7, micros: 2}
	case strings.Contains(header, "t_avg[usec]"):
		return latencyTable{columns: 2}
	}
	return latencyTable{}
}

// touching finds the numbers in a row. Columns have two decimals and touch if they are wide: "2465.901216.65" is
// 2465.90 and 1216.65.
var touching = regexp.MustCompile(`\d{1,15}\.\d\d`)

func (t latencyTable) row(line string) (latencyRow, bool) {
	words := strings.Fields(line)
	if t.columns == 0 || len(words) < 3 {
		return latencyRow{}, false
	}
	_, sized := number(words[0])
	iterations, counted := number(words[1])
	times := words[2:]
	if len(times) < t.columns {
		times = touching.FindAllString(strings.Join(times, " "), -1)
	}
	if !sized || !counted || len(times) < t.columns {
		return latencyRow{}, false
	}
	micros, timed := number(times[t.micros])
	return latencyRow{iterations, micros}, timed
}
