package bench

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// NCCLTest is one table of nccl-tests (all_reduce_perf and its sisters; rccl-tests print the same), of any version:
//
//	# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809     from 2.17.5 on
//	# Collective test starting: all_reduce_perf                           from 2.16.8 on
//	#  Rank  0 Group  0 Pid   9688 on demo-pod-1 device  0 [0000:18:00] NVIDIA H200
//	#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//	     1048576        262144     float     sum      -1    72.95   14.37   12.58      0    73.07   14.35   12.56      0
//	# Out of bounds values : 0 OK
//	# Avg bus bandwidth    : 48.1234
//
// What a cut log does not say is absent, not zero. Source: nccl-tests v2.19.6 src/util.cu, src/common.cu.
type NCCLTest struct {
	Version     string              `json:"version,omitempty"` // of nccl-tests
	Op          Op                  `json:"op,omitempty"`      // unknown in logs before 2.16.8
	Ranks       int                 `json:"ranks,omitempty"`   // 0: the log does not list them
	Hosts       []string            `json:"hosts,omitempty"`   // each once, in the order of their ranks
	GPUs        []string            `json:"gpus,omitempty"`    // models, each once
	Rows        []NCCLRow           `json:"rows"`
	OutOfBounds host.Fact[int]      `json:"outOfBounds,omitzero"` // wrong values over all sizes
	Average     host.Fact[GBps]     `json:"average,omitzero"`     // busbw over all sizes: of a sweep from 8 B it says little
	Errors      []string            `json:"errors,omitempty"`     // lines in which a test says that it failed
	Torn        int                 `json:"torn,omitempty"`       // rows that another line was printed into: they are lost
	columns     columns             // of the header, while parsing
	ranks       map[string]struct{} // seen, while parsing
	closed      bool                // the footer was seen, while parsing
}

var (
	rankLine = regexp.MustCompile(`^#\s+Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)$`)
	// prefixes are what launchers and log readers put before a line: [1,0]<stdout>: of mpirun, [default0]: of torchrun,
	// 0: of srun -l, the time of kubectl logs --timestamps, [pod/x/y] of kubectl logs --prefix.
	prefixes = regexp.MustCompile(`^(?:\s*(?:\[[^\]]*\](?:<std(?:out|err)>)?:?|\d+:|\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:?\d\d))(?:\s+|$|(?:#))?)+`)
)

// ParseNCCLTests reads every table in a log, in order. Lines that belong to none are passed over.
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

// unprefixed is a line without what launchers put before it.
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

// opens reports whether a line can only stand at the head of a table.
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
	key, value, _ := strings.Cut(text, ":")
	words := strings.Fields(value)
	switch key = strings.TrimSpace(key); {
	case strings.HasPrefix(text, "nccl-tests version "):
		t.Version = strings.Fields(text + " -")[2]
	case key == "Collective test starting" && len(words) > 0:
		t.Op = opOfProgram(words[0])
	case key == "Collective test concluded" && len(words) > 0:
		t.Op = opOfProgram(words[0])
		t.closed = true
	case key == "Out of bounds values" && len(words) > 0:
		if n, err := strconv.Atoi(words[0]); err == nil {
			t.OutOfBounds = host.Know(n)
		}
		t.closed = true
	case key == "Avg bus bandwidth" && len(words) > 0:
		if f, ok := number(words[0]); ok {
			t.Average = host.Know(GBps(f))
		}
		t.closed = true
	case key == "error" && value != "":
		t.fail(strings.TrimSpace(value))
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
