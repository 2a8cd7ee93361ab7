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

// Perftest is what a program of linux-rdma/perftest printed (ib_write_bw, ib_read_bw, ib_send_bw and their _lat sisters),
// of one run, or of a client and its server written into one file. Its --out_json is not valid JSON: unquoted words,
// trailing commas (perftest 4.5), so that its text is read.
type Perftest struct {
	Test      string         `json:"test,omitempty"`      // RDMA_Write BW Test
	Device    string         `json:"device,omitempty"`    // mlx5_0
	LinkType  string         `json:"linkType,omitempty"`  // IB, Ethernet
	QPs       host.Fact[int] `json:"qps,omitzero"`        //
	MTU       host.Fact[int] `json:"mtu,omitzero"`        // of RDMA, bytes
	GIDIndex  host.Fact[int] `json:"gidIndex,omitzero"`   // Ethernet only
	GPU       string         `json:"gpu,omitempty"`       // model, where the memory is a GPU's (--use_cuda)
	Bandwidth []PerftestBW   `json:"bandwidth,omitempty"` // by size
	Latency   []PerftestLat  `json:"latency,omitempty"`   // by size
	GPUMemory bool           `json:"gpuMemory"`           // the buffers were a GPU's
	Errors    []string       `json:"errors,omitempty"`    // its complaints, which it prints to stdout and stderr alike
}

// PerftestBW is one row of a bandwidth test. Peak is 0 where it was not measured (-D).
type PerftestBW struct {
	Bytes      int64   `json:"bytes"`
	Iterations int64   `json:"iterations"`
	Peak       Gbps    `json:"peakGbps"`
	Average    Gbps    `json:"averageGbps"`
	MsgRate    float64 `json:"mpps"` // million messages a second
}

// PerftestLat is one row of a latency test, microseconds one way. In a test of a duration (-D) only Average is known.
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

// What a run that measured nothing is.
var (
	// ErrNothingMoved is a normal result of nothing: with 0 iterations perftest's -D ends well on a dead path.
	ErrNothingMoved = errors.New("it ended, but nothing came through")
	// ErrNoTable is a run that printed no result: it was ended, or refused to begin.
	ErrNoTable = errors.New("it printed no result")
)

// Best is the row of the largest average.
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

// Smallest is the latency of the smallest message.
func (p Perftest) Smallest() (PerftestLat, error) {
	for _, r := range p.Latency {
		if r.Iterations > 0 && r.Average > 0 {
			return r, nil
		}
	}
	return PerftestLat{}, p.nothing(len(p.Latency))
}

// nothing says why there is no measurement, in perftest's own words where it has some.
func (p Perftest) nothing(rows int) error {
	err := ErrNothingMoved
	if rows == 0 {
		err = ErrNoTable
	}
	if n := len(p.Errors); n > 0 {
		const most = 4 // the cause comes first, what follows from it last
		return fmt.Errorf("%w: %s", err, strings.Join(p.Errors[:min(n, most)], "; "))
	}
	return err
}

var (
	pair     = regexp.MustCompile(`(Dual-port|Device|Number of qps|Mtu|Link type|GID index|Connection type)\s*:\s*(\S+)`)
	gpuName  = regexp.MustCompile(`device name = \[([^\]]+)\]`)
	banner   = regexp.MustCompile(`^(?:RDMA_(?:Write|Read)|Send|Atomic|Raw Ethernet)\b.*\bTest\b.*$`)
	complain = regexp.MustCompile(`(?i)couldn't|can't|failed|failure|unable to|not found|is down|problem in|did not get message|` +
		`incompatib|no ib devices|with error|error=|syndrom|unsupported|not supported|invalid|not compiled`)
	// talk is what looks like a complaint and is none: it stands in good runs.
	talk = regexp.MustCompile(`(?i)^PCIe relax order|CPU frequency|^WARNING|doesn't supports CUDA tests with inline|^Listing all`)
)

// mostErrors bounds the complaints that are kept: the first say what went wrong.
const mostErrors = 20

// ParsePerftest reads what a run printed, stdout and stderr together or apart.
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
	if complain.MatchString(line) && !talk.MatchString(line) {
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
