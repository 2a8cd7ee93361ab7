package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

// TestBenchUsage: a wrong command line is refused before anything is read.
func TestBenchUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing to measure": {nil, "name a job, or nodes"},
		"a job and nodes": {
			[]string{"h-kim", "--nodes", "a,b", "--image", "x"},
			"name a job or --nodes, not both",
		},
		"nodes without an image": {[]string{"--nodes", "a,b"}, "--nodes creates pods and needs --image"},
		"a quick ladder":         {[]string{"h-kim", "--quick"}, "--quick needs --matrix"},
		"leaves of a ladder":     {[]string{"h-kim", "--leaf-label", "rack"}, "--leaf-label needs --matrix"},
		"two measures":           {[]string{"h-kim", "--matrix", "--allreduce"}, "--allreduce and --matrix cannot be used together"},
		"two gates": {
			[]string{"h-kim", "--min-gbps", "300", "--min-efficiency", "0.8"},
			"--min-efficiency and --min-gbps cannot be used together",
		},
		"a pair of one":   {[]string{"h-kim", "--pair", "1,1"}, "--pair needs two different ranks"},
		"a pair of three": {[]string{"h-kim", "--pair", "1,2,3"}, "--pair needs two different ranks"},
		"a gate above the ceiling": {
			[]string{"h-kim", "--min-efficiency", "90"},
			"--min-efficiency must be between 0 and 1",
		},
		"too short": {[]string{"h-kim", "--duration", "100ms"}, "--duration must be at least 1s"},
		"a folder that is not": {
			[]string{"h-kim", "--save", "/nonexistent/x.json"},
			"--save: open /nonexistent/x.json",
		},
		"diff of one": {
			[]string{"diff", "x.json"},
			"NEW.json is missing: railhead bench diff OLD.json NEW.json",
		},
	} {
		got := run(append([]string{"bench"}, c.args...)...)
		if got.code != int(exit.Usage) || !strings.Contains(got.err, c.says) || got.out != "" {
			t.Errorf("%s: exit code %d: %s%s", name, got.code, got.out, got.err)
		}
	}
	help := run("bench", "--help")
	for _, words := range []string{
		"--allreduce", "--matrix", "--quick", "--compare", "--min-efficiency", "Exit status: 0",
		"railhead bench diff monday.json today.json",
	} {
		if !strings.Contains(help.out, words) || help.code != 0 {
			t.Errorf("no %q in the help", words)
		}
	}
}

// resultFile writes a result of one number, several times measured.
func resultFile(t *testing.T, name, kernel string, values ...float64) string {
	t.Helper()
	r := bench.Result{
		SchemaVersion: bench.ResultVersion,
		Pods:          []bench.Pod{{Name: "h-kim-0", Node: "gpu-1"}},
		Machines:      []host.Snapshot{{Kernel: host.Know(kernel)}},
		Series: []bench.Series{{
			Name:   "gpu-1 > gpu-2: RDMA write, host memory, rail eno5np0, Gb/s",
			Values: values,
		}},
	}
	path := filepath.Join(t.TempDir(), name)
	if err := saveJSON(path, r); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBenchDiff(t *testing.T) {
	old := resultFile(t, "monday.json", "6.12.1", 390, 391, 392)
	for name, c := range map[string]struct {
		now  string
		code int
		says []string
	}{
		"slower": {resultFile(t, "b.json", "6.12.9", 350, 351, 352), 1, []string{
			"rail eno5np0, Gb/s   391   351   -10.2 %   2.0 %   slower",
			"Changed on gpu-1: kernel was 6.12.1, is now 6.12.9",
			"1 number: 1 slower, 0 faster, 0 the same within the noise",
		}},
		"the same": {
			resultFile(t, "b.json", "6.12.1", 389, 391, 390),
			0,
			[]string{"1 number: 0 slower, 0 faster, 1 the same within the noise"},
		},
		"nothing came through": {
			resultFile(t, "b.json", "6.12.1", 0, 0, 0),
			1,
			[]string{"391   0     -100.0 %   2.0 %   slower"},
		},
		"one run, and noise": {resultFile(t, "b.json", "6.12.1", 360), 0, []string{"1 the same within the noise"}},
	} {
		got := run("bench", "diff", old, c.now)
		if got.code != c.code || got.err != "" {
			t.Errorf("%s: exit code %d: %s", name, got.code, got.err)
		}
		launchtest.Has(t, got.out, c.says...)
	}
	var d benchDiff
	err := json.Unmarshal([]byte(run("bench", "diff", "-o", "json", old, old).out), &d)
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Verdict != bench.Same {
		t.Errorf("%v, %+v", err, d)
	}
	launchtest.Has(t, run("bench", "diff", "-o", "wide", old, old).out, "+0.0 %   2.0 %   same")
	other := filepath.Join(t.TempDir(), "other.json")
	err = saveJSON(other, bench.Result{
		SchemaVersion: bench.ResultVersion,
		Series:        []bench.Series{{Name: "of other nodes", Values: []float64{1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := run("bench", "diff", old, other)
	launchtest.Has(t, got.out, "2 numbers: 0 slower, 0 faster, 0 the same within the noise, 1 gone, 1 new")
	if got.code != int(exit.Unknown) || !strings.Contains(got.err, "no number above 0 is in both results") {
		t.Errorf("nothing in common: exit code %d: %s", got.code, got.err)
	}
	launchtest.Has(t, run("bench", "diff", "-o", "wide", old, other).out, "of other nodes")
}

func TestBenchDiffOfNoResult(t *testing.T) {
	for text, says := range map[string]string{
		"":                     "not a result of 'railhead bench'",
		"{}":                   "unknown schema version 0",
		`{"schemaVersion": 3}`: "schema version 3: this railhead reads versions up to 2",
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run("bench", "diff", path, path); got.code != int(exit.Unknown) || !strings.Contains(got.err, says) {
			t.Errorf("%q: exit code %d: %s", text, got.code, got.err)
		}
	}
}

// A warning beside something unknown does not end with 0.
func TestBenchExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		findings []check.Finding
		want     exit.Code
	}{
		"nothing":                {nil, 0},
		"a warning":              {[]check.Finding{{Status: check.Warn}}, 0},
		"unknown":                {[]check.Finding{{Status: check.Unknown}}, exit.Unknown},
		"unknown, and a warning": {[]check.Finding{{Status: check.Warn}, {Status: check.Unknown}}, exit.Unknown},
		"unknown, and a fault":   {[]check.Finding{{Status: check.Unknown}, {Status: check.Fail}}, exit.Fault},
	} {
		var coded exit.Error
		s := Streams{Out: io.Discard, Err: io.Discard}
		if errors.As(s.showBench(bench.Result{Findings: c.findings}, "text"), &coded); coded.Code != c.want {
			t.Errorf("%s: exit code %d, want %d", name, coded.Code, c.want)
		}
	}
}
