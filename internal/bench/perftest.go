package bench

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// Perftest is the output of a program of linux-rdma/perftest (ib_write_bw, ib_read_bw, ib_send_bw and their _lat
// sisters), of one run or of a client and its server in one file. It is read from the text, because --out_json is not
// valid JSON: unquoted words, trailing commas (perftest 4.5).
type Perftest struct {
	Test      string         `json:"test,omitempty"`      // RDMA_Write BW Test
	Device    string         `json:"device,omitempty"`    // mlx5_0
	LinkType  string         `json:"linkType,omitempty"`  // IB, Ethernet
	QPs       host.Fact[int] `json:"qps,omitzero"`        //
	MTU       host.Fact[int] `json:"mtu,omitzero"`        // of RDMA, bytes
	GIDIndex  host.Fact[int] `json:"gidIndex,omitzero"`   // Ethernet only
	GPU       string         `json:"gpu,omitempty"`       // model, if the buffers are in GPU memory (--use_cuda)
	Bandwidth []PerftestBW   `json:"bandwidth,omitempty"` // by size
	Latency   []PerftestLat  `json:"latency,omitempty"`   // by size
	GPUMemory bool           `json:"gpuMemory"`           // the buffers were in GPU memory
	Errors    []string       `json:"errors,omitempty"`    // printed to stdout or stderr
}

// PerftestBW is one row of a bandwidth test. Peak is 0 if it was not measured (-D).
type PerftestBW struct {
	Bytes      int64   `json:"bytes"`
	Iterations int64   `json:"iterations"`
	Peak       Gbps    `json:"peakGbps"`
	Average    Gbps    `json:"averageGbps"`
	MsgRate    float64 `json:"mpps"` // million messages a second
}

// PerftestLat is one row of a latency test, in microseconds one way. A test with a duration (-D) has only the Average.
type PerftestLat struct {
	Bytes      int64              `json:"bytes"`
	Iterations int64              `json:"iterations"`
	Min        host.Fact[float64] `json:"minUs,omitzero"`
	Max        host.Fact[float64] `json:"maxUs,omitzero"`
	Typical    host.Fact[float64] `json:"typicalUs,omitzero"`
	Average    float64            `json:"averageUs"`
	P99        host.Fact[float64] `json:"p99Us,omitzero"`
	P999       host.Fact[float64] `json:"p999Us,omitzero"`
}

// Errors of runs without a measurement.
var (
	// ErrNothingMoved is a result of 0: with -D perftest exits with 0 on a dead path, after 0 iterations.
	ErrNothingMoved = errors.New("it ended without moving any data")
	// ErrNoTable is the error of a run that was killed or did not start.
	ErrNoTable = errors.New("it printed no result")
)

// Best returns the row with the highest average.
func (p Perftest) Best() (PerftestBW, error) {
	var best PerftestBW
	for _, r := range p.Bandwidth {
		if r.Iterations > 0 && r.Average > best.Average {
			best = r
		}
	}
	if best.Average > 0 {
		return best, nil
	}
	return best, p.nothing(len(p.Bandwidth))
}

// Smallest returns the latency of the smallest message.
func (p Perftest) Smallest() (PerftestLat, error) {
	for _, r := range p.Latency {
		if r.Iterations > 0 && r.Average > 0 {
			return r, nil
		}
	}
	return PerftestLat{}, p.nothing(len(p.Latency))
}

// nothing returns why there is no measurement, with the errors that perftest printed.
func (p Perftest) nothing(rows int) error {
	err := ErrNothingMoved
	if rows == 0 {
		err = ErrNoTable
	}
	if n := len(p.Errors); n > 0 {
		const most = 4 // the cause is first
		return fmt.Errorf("%w: %s", err, strings.Join(p.Errors[:min(n, most)], "; "))
	}
	return err
}

var (
	pair    = regexp.MustCompile(`(Dual-port|Device|Number of qps|Mtu|Link type|GID index|Connection type)\s*:\s*(\S+)`)
	gpuName = regexp.MustCompile(`device name = \[([^\]]+)\]`)
	banner  = regexp.MustCompile(`^(?:RDMA_(?:Write|Read)|Send|Atomic|Raw Ethernet)\b.*\bTest\b.*$`)
	failure = regexp.MustCompile(`(?i)couldn't|can't|failed|failure|unable to|not found|is down|problem in|did not get message|` +
		`incompatib|no ib devices|with error|error=|syndrom|unsupported|not supported|invalid|not compiled`)
	// harmless matches lines of good runs that look like errors.
	harmless = regexp.MustCompile(`(?i)^PCIe relax order|CPU frequency|^WARNING|doesn't supports CUDA tests with inline|^Listing all`)
)

// mostErrors bounds the errors that are kept. The first ones matter.
const mostErrors = 20

// ParsePerftest reads the output of a run: stdout, stderr, or both.
func ParsePerftest(text string) Perftest {
	var p Perftest
	var t perftestTable
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.Trim(line, "-*") == "":
		case strings.HasPrefix(line, "#bytes"):
			t = tableOf(line)
		case t.row(line, &p):
		default:
			p.fact(line)
		}
	}
	return p
}

func (p *Perftest) fact(line string) {
	if banner.MatchString(line) {
		p.Test = line
		return
	}
	if m := gpuName.FindStringSubmatch(line); m != nil {
		p.GPU = m[1]
		return
	}
	if strings.Contains(line, "allocated GPU buffer") {
		p.GPUMemory = true
		return
	}
	if failure.MatchString(line) && !harmless.MatchString(line) {
		if len(p.Errors) < mostErrors && !slices.Contains(p.Errors, line) {
			p.Errors = append(p.Errors, line)
		}
		return
	}
	for _, m := range pair.FindAllStringSubmatch(line, -1) {
		p.setting(m[1], m[2])
	}
}

func (p *Perftest) setting(key, value string) {
	switch key {
	case "Device":
		p.Device = value
	case "Link type":
		p.LinkType = value
	case "Number of qps":
		p.QPs = integer(value)
	case "Mtu":
		p.MTU = integer(strings.TrimSuffix(value, "[B]"))
	case "GID index":
		p.GIDIndex = integer(value)
	}
}

func integer(s string) host.Fact[int] {
	n, err := strconv.Atoi(s)
	if err != nil {
		return host.Unread[int](err.Error())
	}
	return host.Know(n)
}
