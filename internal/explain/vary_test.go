package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// variations returns the changes that launchers, terminals and people make to a log without changing its meaning.
func variations() map[string]func([]string) []string {
	each := func(f func(int, string) string) func([]string) []string {
		return func(lines []string) []string {
			out := make([]string, len(lines))
			for i, l := range lines {
				out[i] = f(i, l)
			}
			return out
		}
	}
	training := strings.Split(strings.Repeat("step 7 | loss 0.31 | error_rate 0.003 | timeout=1800\n", 150), "\n")
	return map[string]func([]string) []string{
		"mpirun":       each(func(_ int, l string) string { return "[1,3]<stdout>:" + l }),
		"kubectl":      each(func(_ int, l string) string { return "[pod/train-0/main] " + l }),
		"stern":        each(func(_ int, l string) string { return "h-kim-worker-0 pytorch " + l }),
		"stern, name":  each(func(_ int, l string) string { return "h-kim-7x2kp pytorch " + l }),
		"k9s":          each(func(_ int, l string) string { return "│ " + l + strings.Repeat(" ", 40) + "│" }),
		"kubectl time": each(func(_ int, l string) string { return "2026-03-02T10:00:00.123456789Z " + l }),
		"Ray":          each(func(_ int, l string) string { return "(RayTrainWorker pid=4242, ip=10.20.0.3) " + l }),
		"srun":         each(func(_ int, l string) string { return " 3: " + l }),
		"torchrun":     each(func(_ int, l string) string { return "[default0]:" + l }),
		"torch rank":   each(func(_ int, l string) string { return "[rank0]: " + l }),
		"docker":       each(func(_ int, l string) string { return "worker-3  | " + l }),
		"python":       each(func(_ int, l string) string { return "2026-03-02 10:00:00,123 INFO worker: " + l }),
		"escaped ends": func(lines []string) []string {
			return []string{strings.ReplaceAll(fmt.Sprintf("%q", strings.Join(lines, "\n")), `\x1b`, `\u001b`)}
		},
		"carriage":        each(func(_ int, l string) string { return l + "\r" }),
		"behind training": func(lines []string) []string { return append(append([]string{}, training...), lines...) },
		"blank lines": func(lines []string) []string {
			return strings.Split(strings.Join(lines, "\n\n"), "\n")
		},
		"among training": func(lines []string) []string {
			var out []string
			for i, l := range lines {
				out = append(out, l)
				// a warning that was wrapped stays together
				if next := strings.Join(lines[min(i+1, len(lines)-1):min(i+2, len(lines))],
					""); strings.Contains(next, "NCCL INFO") {
					out = append(out, "step 9 | loss 0.2 | tokens 4096 | timeout=1800")
				}
			}
			return out
		},
	}
}

func verdict(s story.Story) string {
	var all []string
	for _, r := range s.Runs {
		cause := "-"
		if len(r.Causes) > 0 {
			cause = string(r.Causes[0].ID)
		}
		used := "null"
		if r.Network.Used != nil {
			used = fmt.Sprint(*r.Network.Used)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %s", r.Network.Kind, used, r.GPUDirect, r.Outcome, cause))
	}
	return strings.Join(all, "; ")
}

func ofLines(name string, lines []string) story.Story {
	var p nccllog.Parser
	for i, l := range lines {
		p.Line(event.Place{File: name, Line: i + 1}, []byte(l))
	}
	p.End(event.Place{File: name, Line: len(lines)}, []byte(strings.Join(lines, "\n")))
	return Log(p.Log())
}

// TestVariations asserts that a story does not depend on what stands in front of the lines or between them.
func TestVariations(t *testing.T) {
	logs := map[string][]string{}
	for name, f := range fixtures(t) {
		if len(f.names) == 1 {
			logs[name] = strings.Split(f.files[f.names[0]], "\n")
		}
	}
	for _, file := range corpustest.Files(t, "nccl") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		logs[filepath.Base(file)] = strings.Split(string(data), "\n")
	}
	delete(logs, "time-limit")             // with times, the last step tells more
	delete(logs, "007-hang-timelimit.log") // the same
	delete(logs, "unknown-nothing")        // with training output it is a training
	delete(logs, "healthy-scary-words")    // in one line all words are near the end
	for name, lines := range logs {
		want := verdict(ofLines(name, lines))
		for how, vary := range variations() {
			if got := verdict(ofLines(name, vary(lines))); got != want {
				t.Errorf("%s, %s: want %s, got %s", name, how, want, got)
			}
		}
	}
}

// TestLostLineEnds: a log pasted into one line has the verdict of its lines, unless the lines of other programs decide;
// then a failure is at least unknown.
func TestLostLineEnds(t *testing.T) {
	equal := 0
	for name, f := range fixtures(t) {
		if len(f.names) > 1 {
			continue
		}
		lines := strings.Split(f.files[f.names[0]], "\n")
		want, got := verdict(ofLines(name, lines)), verdict(ofLines(name, []string{strings.Join(lines, " ")}))
		if want == got {
			equal++
		} else if strings.Contains(want, "fail") && !strings.Contains(got, "fail") &&
			!strings.Contains(got, "unknown unknown") {
			t.Errorf("%s: want %s, got %s", name, want, got)
		}
	}
	if equal < 90 {
		t.Errorf("%d of the logs have the same verdict", equal)
	}
}
