package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// shapes are the files in which a program's lines reach a reader.
func shapes() map[string]func(lines []string) string {
	before := func(prefix string) func([]string) string {
		return func(lines []string) string { return prefix + strings.Join(lines, "\n"+prefix) + "\n" }
	}
	each := func(f func(line string) string) func([]string) string {
		return func(lines []string) string {
			text := ""
			for _, l := range lines {
				text += f(l)
			}
			return text
		}
	}
	const time = "2026-03-02T10:00:00.123456789Z "
	return map[string]func([]string) string{
		"mpirun":             before("[1,3]<stdout>:"),
		"kubectl --prefix":   before("[pod/train-0/main] "),
		"kubectl timestamps": before(time),
		"both of kubectl":    before("[pod/train-0/main] " + time),
		"time, then mpirun":  before(time + "[1,3]<stderr>: "),
		"Ray":                before("(RayTrainWorker pid=4242, ip=10.20.0.3) "),
		"srun":               before(" 3: "),
		"torchrun":           before("[default0]:"),
		"torchx":             before("i.pretrain/0 [default3]:"),
		"Determined":         before("[" + time + "] fa88a9df [rank=3] || "),
		"milabench":          before("dinov2-nodes.cn-d004 [stderr] "),
		"arrows":             before("2026-03-02 10:00:00.216313 worker-9 >> "),
		"swarm":              before("train_worker.1.k3j4abc@node1    | "),
		"journald, ISO":      before("2026-03-02T10:00:00+0000 node-1 podman[4242]: "),
		"time of day":        before("10:00:00.680 "),
		"torch":              before("[rank3]: "),
		"a pod's name":       before("worker-0: "),
		"compose":            before("worker-3  | "),
		"journald":           before("Mar 02 10:00:00 node-1 podman[4242]: "),
		"colours":            each(func(l string) string { return "\x1b[36mw-3  |\x1b[0m \x1b[1m" + l + "\x1b[0m\n" }),
		"carriage returns":   each(func(l string) string { return l + "\r\n" }),
		"CRI":                each(func(l string) string { return time + "stdout F " + l + "\n" }),
		"CRI, split": each(func(l string) string {
			half := len(l) / 2
			return time + "stdout P " + l[:half] + "\n" + time + "stderr P step\n" + time + "stdout F " +
				l[half:] + "\n" + time + "stderr F  7\n"
		}),
		"Docker": each(func(l string) string {
			text, _ := json.Marshal(l + "\n")
			return fmt.Sprintf("{\"log\":%s,\"stream\":\"stdout\",\"time\":\"2026-03-02T10:00:00.5Z\"}\n", text)
		}),
		"JSON of a logger": each(func(l string) string {
			text, _ := json.Marshal(l)
			return fmt.Sprintf("{\"level\":\"info\",\"message\":%s}\n", text)
		}),
		"Google Cloud": each(func(l string) string {
			text, _ := json.Marshal(l)
			return fmt.Sprintf("{\"severity\":\"INFO\",\"textPayload\":%s}\n", text)
		}),
		"a representation": func(lines []string) string { return fmt.Sprintf("%q\n", strings.Join(lines, "\n")) },
	}
}

// TestShapes: each signature is read as the same row, with the same outcome and cause, in every shape of a log.
func TestShapes(t *testing.T) {
	training := strings.Split(strings.Repeat("step 7 | loss 0.31 | lr 3e-4\n", 5)+
		"gpu-1:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>", "\n")
	for s := range event.Signatures() {
		lines := append(slices.Clone(training), s.Example)
		want := readShape(t, strings.Join(lines, "\n")+"\n")
		for name, shape := range shapes() {
			if s.ID == "time-limit" { // with times, the last step tells more
				continue
			}
			if diff := cmp.Diff(want, readShape(t, shape(lines))); diff != "" {
				t.Errorf("%s, %s: %s", name, s.ID, diff)
			}
		}
	}
}

// readShape returns the rows of a log, and its verdict.
func readShape(t *testing.T, text string) string {
	t.Helper()
	var p nccllog.Parser
	if _, err := p.Read("train.log", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, run := range p.Log().Runs {
		for _, e := range run.Events {
			rows = append(rows, event.SignatureOf(e).ID)
		}
	}
	return fmt.Sprint(rows, verdict(Log(p.Log())))
}

// TestUnknownPrefix: behind a prefix that is not known the last words of a program are not read as what they are, but
// never counted as nothing.
func TestUnknownPrefix(t *testing.T) {
	for _, prefix := range []string{"gpu-a.cluster.local: ", "RANK=3 ", "0|train    | ", "<14>1 node-1 train 42 - - ",
		"INFO 10.123Z [task: workerpool0-0] "} {
		for _, ending := range []string{"ValueError: batch size must be positive", "Killed", "KeyboardInterrupt",
			"torch.distributed.DistStoreError: no key", "AssertionError"} {
			lines := append(slices.Repeat([]string{prefix + "step 7 | loss 0.31 | lr 3e-4"}, 5), prefix+ending)
			if run := ofLines("train.log",
				lines).Last(); run.Outcome != story.OutcomeUnknown && run.Outcome != story.OutcomeFail {
				t.Errorf("%s%s: %s: %s", prefix, ending, run.Outcome, run.Summary)
			}
			lines = append(lines, slices.Repeat(lines[:1], 3)...)
			if run := ofLines("train.log", lines).Last(); run.Outcome == story.OutcomeUnknown {
				t.Errorf("%s%s, then steps: %s: %s", prefix, ending, run.Outcome, run.Summary)
			}
		}
	}
}
