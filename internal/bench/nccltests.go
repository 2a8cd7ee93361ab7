package bench

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// NCCLTest is one table of nccl-tests (all_reduce_perf and its sisters) or rccl-tests, of any version:
//
//	# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809     from 2.17.5 on
//	# Collective test starting: all_reduce_perf                           from 2.16.8 on
//	#  Rank  0 Group  0 Pid   9688 on demo-pod-1 device  0 [0000:18:00] NVIDIA H200
//	#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//	     1048576        262144     float     sum      -1    72.95   14.37   12.58      0    73.07   14.35   12.56      0
//	# Out of bounds values : 0 OK
//	# Avg bus bandwidth    : 48.1234
//
// Values that a truncated log does not have are absent, not zero. Source: nccl-tests v2.19.6 src/util.cu,
// src/common.cu.
type NCCLTest struct {
	Version     string              `json:"version,omitempty"` // of nccl-tests
	Op          Op                  `json:"op,omitempty"`      // unknown in logs before 2.16.8
	Ranks       int                 `json:"ranks,omitempty"`   // 0: the log does not list them
	Hosts       []string            `json:"hosts,omitempty"`   // each once, in the order of their ranks
	GPUs        []string            `json:"gpus,omitempty"`    // models, each once
	Rows        []NCCLRow           `json:"rows"`
	OutOfBounds host.Fact[int]      `json:"outOfBounds,omitzero"` // wrong values over all sizes
	Average     host.Fact[GBps]     `json:"average,omitzero"`     // busbw over all sizes: of little use in a sweep from 8 B
	Errors      []string            `json:"errors,omitempty"`     // lines of failed tests
	Torn        int                 `json:"torn,omitempty"`       // unreadable rows, with another line printed into them
	columns     columns             // while parsing: of the header
	ranks       map[string]struct{} // while parsing: seen
	closed      bool                // while parsing: the footer was seen
}

var (
	rankLine = regexp.MustCompile(`^#\s+Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)$`)
	// prefixes match the text that launchers and log readers put before a line: [1,0]<stdout>: of mpirun, [default0]:
	// of torchrun, 0: of srun -l, the time of kubectl logs --timestamps, [pod/x/y] of kubectl logs --prefix.
	prefixes = regexp.MustCompile(`^(?:\s*(?:\[[^\]]*\](?:<std(?:out|err)>)?:?|\d+:|` +
		`\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:?\d\d))(?:\s+|$|(?:#))?)+`)
)

// ParseNCCLTests reads every table in a log, in order, and ignores other lines.
func ParseNCCLTests(log string) []NCCLTest {
	var all []NCCLTest
	var t *NCCLTest
	for line := range strings.Lines(log) {
		line = unprefixed(line)
		if t == nil || t.closed && opens(line) || len(t.Rows) > 0 && opens(line) {
			all = append(all, NCCLTest{})
			t = &all[len(all)-1]
		}
		t.line(line)
	}
	all = slices.DeleteFunc(all, func(t NCCLTest) bool {
		return len(t.Rows) == 0 && len(t.Errors) == 0 && !t.Average.IsKnown()
	})
	for i := range all {
		all[i].columns, all[i].ranks, all[i].closed = nil, nil, false
	}
	return all
}

// unprefixed removes prefixes from a line.
func unprefixed(line string) string {
	line = strings.TrimSpace(line)
	if at := prefixes.FindStringIndex(line); at != nil {
		rest := line[at[1]:]
		if at[1] > 0 && line[at[1]-1] == '#' {
			rest = line[at[1]-1:]
		}
		return strings.TrimSpace(rest)
	}
	return line
}

// opens reports whether a line starts a table.
func opens(line string) bool {
	return strings.HasPrefix(line, "# nccl-tests version") || strings.HasPrefix(line, "# Collective test starting") ||
		strings.HasPrefix(line, "# nThread")
}

func (t *NCCLTest) line(line string) {
	switch {
	case line == "":
	case line[0] == '#':
		t.comment(line)
	case strings.Contains(line, "Test NCCL failure"), strings.Contains(line, "Test CUDA failure"),
		strings.Contains(line, "Test failure"):
		t.fail(line)
	default:
		t.row(line)
	}
}

func (t *NCCLTest) comment(line string) {
	if m := rankLine.FindStringSubmatch(line); m != nil {
		t.rank(m[1], m[2], strings.TrimSpace(m[3]))
		return
	}
	if c := headerColumns(line); c != nil {
		t.columns = c
		return
	}
	text := strings.TrimSpace(strings.TrimLeft(line, "#"))
	if version, found := strings.CutPrefix(text, "nccl-tests version "); found {
		t.Version, _, _ = strings.Cut(strings.TrimSpace(version), " ")
		return
	}
	key, value, _ := strings.Cut(text, ":")
	if value = strings.TrimSpace(value); value != "" {
		t.setting(strings.TrimSpace(key), value)
	}
}

func (t *NCCLTest) setting(key, value string) {
	first := strings.Fields(value)[0]
	switch key {
	case "Collective test starting":
		t.Op = opOfProgram(first)
	case "Collective test concluded":
		t.Op = opOfProgram(first)
		t.closed = true
	case "Out of bounds values":
		if n, err := strconv.Atoi(first); err == nil {
			t.OutOfBounds = host.Know(n)
		}
		t.closed = true
	case "Avg bus bandwidth":
		if f, ok := number(first); ok {
			t.Average = host.Know(GBps(f))
		}
		t.closed = true
	case "error":
		t.fail(value)
	}
}

func (t *NCCLTest) fail(line string) {
	if len(t.Errors) < mostErrors {
		t.Errors = append(t.Errors, line)
	}
}

func (t *NCCLTest) rank(number, name, gpu string) {
	if t.ranks == nil {
		t.ranks = map[string]struct{}{}
	}
	t.ranks[number] = struct{}{}
	t.Ranks = len(t.ranks)
	if !slices.Contains(t.Hosts, name) {
		t.Hosts = append(t.Hosts, name)
	}
	if gpu != "" && !slices.Contains(t.GPUs, gpu) {
		t.GPUs = append(t.GPUs, gpu)
	}
}
