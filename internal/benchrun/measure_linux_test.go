package benchrun

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/report/html"
)

func TestBenchLadder(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	r, text, code := b.carry(t)
	if code != 0 || len(r.Ladders) != 4 {
		t.Errorf("exit code %d, %d ladders", code, len(r.Ladders))
	}
	for _, l := range r.Ladders {
		for _, s := range l.Steps {
			if s.Name == bench.WriteHost && s.Measured.Value != 391.11 {
				t.Errorf("rail %d: %+v", l.From.Rail, s)
			}
		}
	}
	launchtest.Has(t, text, "Ladder: h-kim-0 on gpu-1 > h-kim-1 on gpu-2, rail ", "99.7 %", "Result: on target.")
	if len(r.Series) != 9 || len(r.Machines) != 2 { // each of four rails, all at once, and the four latencies
		t.Errorf("%d series, %d machines", len(r.Series), len(r.Machines))
	}
}

// A link that is slow, dead, or comes to nothing is a finding with its reason, and the exit code is 1.
func TestBenchFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		device, rate string // of the second rail of the client, or of the server
		says         string
	}{
		"a slow NIC":              {"mlx5_7", "196.00", "RDMA write, host memory: 196.0 Gb/s, 50 % of the 392.1 Gb/s that the link allows"},
		"0 iterations and exit 0": {"mlx5_7", "nothing", "RDMA write, host memory: it ended without moving any data"},
		"it hangs":                {"mlx5_7", "limit", "RDMA write, host memory: it hangs: no data within 5m1s"},
		"the server refuses":      {"mlx5_8", "dead", "RDMA write, host memory: the server failed: Port number 1 state is Down; Couldn't set the link layer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchTrial(t, 2)
			b.options.Plan = Compare // the ladder without what is not needed here
			b.rate(t, c.device, c.rate)
			if c.rate == "dead" {
				b.grace = time.Second // the client of a server that has ended tries again and again
			}
			r, text, code := b.carry(t)
			if code != 1 || len(r.Findings) == 0 || r.Findings[0].Check != "bench-link" {
				t.Errorf("exit code %d, findings %v", code, r.Findings)
			}
			launchtest.Has(t, text, c.says)
		})
	}
}

// A NIC that is slow one way only is named, and nothing else.
func TestBenchMatrix(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 4)
	b.options.Plan = Matrix
	b.rateOf(t, 2, "mlx5_11", "200.00") // the last rail of the third pod, when it sends
	var kept []bench.Result
	b.Keep = func(r bench.Result) { kept = append(kept, r) }
	b.keepPause = func(time.Duration) time.Duration { return 0 }
	r, text, code := b.carry(t)
	if n := len(kept); n < 2 || !kept[0].Unfinished || len(kept[0].Pods) != 4 || kept[0].Matrix != nil || !kept[n-1].Unfinished || kept[n-1].Matrix == nil || r.Unfinished {
		t.Errorf("it cannot be followed: %d results", n)
	}
	if code != 1 || r.Matrix == nil || r.Attribution.Links != 6*4 {
		t.Errorf("exit code %d, attribution %+v", code, r.Attribution)
	}
	var fabric []string
	for _, f := range r.Findings {
		if f.Check == "bench-fabric" {
			fabric = append(fabric, f.Subject.String()+": "+f.Summary)
		}
	}
	want := []string{"NIC mlx5_11 of node gpu-3 (pod h-kim-2) rail rail-4: 200.0 Gb/s where 391.1 Gb/s is healthy, on 3 links"}
	if d := cmp.Diff(want, fabric); d != "" {
		t.Error(d)
	}
	launchtest.Has(t, text, "Matrix: 24 links between 4 pods",
		"Cross-rail: 24 of 24 paths between different rails carry data", "[bench-fabric]")
	var page bytes.Buffer
	if err := html.Write(&page, html.FromBench(r, "")); err != nil {
		t.Fatal(err)
	}
	launchtest.Has(t, string(page.Bytes()[:min(page.Len(), 1<<20)]), "bench-fabric")
}

// A leaf switch is named by the label of its nodes, where those are known; else it shows as its NICs.
func TestBenchLeaf(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 4)
	b.options.Plan = Matrix
	b.Leaves.Of = map[string]string{"gpu-1": "s1", "gpu-2": "s1", "gpu-3": "s2", "gpu-4": "s2"}
	for from, device := range []string{"mlx5_11", "mlx5_9"} {
		for to := 2; to < 4; to++ {
			b.rate(t, device+"."+b.targets[from].Pod.IP+"."+b.targets[to].Pod.IP, "200.00")
		}
	}
	r, text, code := b.carry(t)
	want := []bench.Culprit{{Kind: bench.LeafFault, Rail: 3, Leaves: []string{"s1", "s2"}, Links: 4}}
	if d := cmp.Diff(want, r.Attribution.Culprits, cmpopts.IgnoreFields(bench.Culprit{}, "Measured", "Expected")); d != "" || code != 1 {
		t.Errorf("exit code %d: %s", code, d)
	}
	launchtest.Has(t, text, "leaf s1 or s2 rail rail-4: 200.0 Gb/s where 391.1 Gb/s is healthy, on 4 links")
}

func TestBenchQuick(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad   bool
		code  int
		links int
		says  string
	}{
		"all are well": {false, 0, 3 * 4 * 4, "Result: on target."}, // three rounds of four pairs
		"one is bad":   {true, 1, 4 * 4 * 4, "NIC mlx5_11 of node gpu-3 (pod h-kim-2) rail rail-4: 200.0 Gb/s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchTrial(t, 8)
			b.options.Plan = Quick
			if c.bad {
				b.rateOf(t, 2, "mlx5_11", "200.00")
			}
			r, text, code := b.carry(t)
			if code != c.code || r.CrossRails != nil || r.Loopbacks != nil {
				t.Errorf("exit code %d, %+v", code, r.Attribution)
			}
			if links := len(slices.Collect(r.Matrix.Links())); links > c.links {
				t.Errorf("%d links", links)
			}
			launchtest.Has(t, text, c.says)
		})
	}
}

// What is not in the image is skipped, with the word; nothing that could be judged is not known to be healthy.
func TestBenchWithoutTools(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	b.lacks(t, "ib_write_bw")
	r, text, code := b.carry(t)
	if code != 3 || check.Worst(r.Findings) != check.Unknown {
		t.Errorf("exit code %d, findings %v", code, r.Findings)
	}
	launchtest.Has(t, text, "skipped", "the image of h-kim-0 has no ib_write_bw (perftest)", "[bench-measured]",
		"build/bench")
}

func TestBenchGbps(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	b.options.Gate.Gbps = 350
	if _, text, code := b.carry(t); code != 0 {
		t.Errorf("391 Gb/s: exit code %d", code)
	} else {
		launchtest.Has(t, text, "reaches 350.0 Gb/s per rail")
	}
	b = newBenchTrial(t, 2)
	b.options.Gate.Gbps = 395
	if _, text, code := b.carry(t); code != 1 {
		t.Errorf("391 Gb/s: exit code %d\n%s", code, text)
	}
}

// Ctrl-C leaves nothing behind.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	b.rate(t, "mlx5_6", "hang")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := &launchtest.Text{When: map[string]func(){"RDMA write, host memory": stop}}
	b.live.W = said
	_, err := b.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	launchtest.WaitGone(t, b.id)
}

// A bench does not begin during a launch.
func TestBenchBesideLaunch(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	stop := b.launched(t)
	_, err := b.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a launch is running there (processes ") || !strings.Contains(err.Error(), "--force") {
		t.Error(err)
	}
	stop()
}

// launched runs a launch in the pods until it is stopped.
func (b *benchTrial) launched(t *testing.T) (stop func()) {
	t.Helper()
	l := launch.New(b.local, launch.Streams{Out: io.Discard, Err: io.Discard}, b.targets, []string{"sleep", "600"})
	l.Patience = launch.NewPatience(0)
	if err := l.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan launch.Outcome, 1)
	go func() { ended <- l.Execute(ctx) }()
	launchtest.Eventually(t, "the launch to run", func() bool { return len(launchtest.Marked(l.ID)) > 0 })
	return func() {
		cancel()
		<-ended
		launchtest.WaitGone(t, l.ID)
	}
}

// TestBatch holds words and output of several processes to what they were.
func TestBatch(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 1)
	argv := []string{"sh", "-c", `printf '<%s>\n' "$@"; exit 3`, "it's", "a  b", "$HOME", "*", `"\`}
	got := b.batch(t.Context(), &side{mark: b.id + ".1.", limit: patience, processes: []bench.Process{
		{Argv: argv}, {Argv: []string{"no-such-program"}}, {Argv: []string{"sh", "-c", "echo 0=7; echo 1 x; echo y >&2"}},
	}})
	want := []bench.Output{{Text: "<a  b>\n<$HOME>\n<*>\n<\"\\>\n", Code: 3}, {Text: got[1].Text, Code: 127}, {Text: "0=7\n1 x\ny\n"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !strings.Contains(got[1].Text, "no-such-program") {
		t.Errorf("%q", got[1].Text)
	}
}

// TCP is really measured, by the script that Python runs where there is no iperf3.
func TestBenchTCP(t *testing.T) {
	t.Parallel()
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Skip(err)
	}
	b := newBenchTrial(t, 2)
	b.tool(t, "python3", "#!/bin/sh\nexec "+strings.TrimSpace(string(python))+` "$@"`+"\n")
	for i := range b.targets {
		b.targets[i].Pod.IP = "127.0.0.1"
	}
	if _, _, err := b.meetAll(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b.fleet.Duration, b.fleet.Size, b.fleet.QPs = 1e9, 65536, 4
	readings, err := b.run(t.Context(), bench.Stage{Measure: bench.TCPOfPod, Links: []bench.Link{{To: bench.End{Pod: 1}}}})
	if err != nil || len(readings) != 1 || readings[0].Failed != "" || !(readings[0].Rate > 0) {
		t.Fatalf("%+v, %v", readings, err)
	}
	t.Logf("TCP over the loopback: %s", readings[0].Rate)
	launchtest.WaitGone(t, b.id)
}

// brokenPods are local pods to which the first streams of servers break.
type brokenPods struct {
	*launchtest.Pods
	left atomic.Int64
}

func (b *brokenPods) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	if strings.Contains(strings.Join(o.Command, " "), ".s. ") && b.left.Add(-1) >= 0 {
		return 0, errors.New("connection reset by peer")
	}
	return b.Pods.Exec(ctx, pod, o)
}

// A stream that breaks once is no dead link; one that always does is lost, and not called slow.
func TestBenchBrokenStreams(t *testing.T) {
	t.Parallel()
	for broken, want := range map[int64]bench.Reading{
		1: {Rate: 391.11},
		9: {Failed: "the server was lost: connection reset by peer"},
	} {
		b := newBenchTrial(t, 2)
		if _, _, err := b.meetAll(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		p := &brokenPods{Pods: b.local}
		p.left.Store(broken)
		b.pods = p
		b.fleet.Duration = 1e9
		got, err := b.run(t.Context(), bench.Stage{Measure: bench.Write, Links: []bench.Link{{To: bench.End{Pod: 1}}}})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]bench.Reading{want}, got); d != "" {
			t.Errorf("%d broken: %s", broken, d)
		}
		launchtest.WaitGone(t, b.id)
	}
}

// The scripts run in the shells and with the programs that images have.
func TestBenchShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "dash", "busybox"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			b := newBenchTrial(t, 2)
			programs := []string{"sh"}
			if b.local.Shell = []string{path}; shell == "busybox" {
				b.local.Shell = []string{path, "sh"}
				programs = append(programs, "timeout", "sleep", "cat", "rm", "grep", "head", "cksum", "mkdir", "rmdir")
			}
			for _, name := range programs {
				b.lacks(t, name)
				if err := os.Symlink(path, filepath.Join(b.tools, name)); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := b.meetAll(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			b.fleet.Duration = time.Second
			stage := bench.Stage{Measure: bench.Write, Links: []bench.Link{{To: bench.End{Pod: 1}}}}
			well, err := b.run(t.Context(), stage)
			if err != nil {
				t.Fatal(err)
			}
			b.rate(t, "mlx5_6", "hang")
			b.limitsClients(t)
			hung, err := b.run(t.Context(), stage)
			if err != nil {
				t.Fatal(err)
			}
			want := []bench.Reading{{Rate: 391.11}, {Failed: "it hangs: no data within 5m1s"}}
			if d := cmp.Diff(want, append(well, hung...)); d != "" {
				t.Error(d)
			}
			launchtest.WaitGone(t, b.id)
		})
	}
}

// limitsClients gives every client one second instead of its limit.
func (b *benchTrial) limitsClients(t *testing.T) {
	t.Helper()
	b.grace = time.Second // the server waits for ever
	timeout, dir := filepath.Join(b.tools, "timeout"), filepath.Join(b.tools, "limit")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Rename(timeout, filepath.Join(dir, "timeout"))); err != nil {
		t.Fatal(err)
	}
	b.tool(t, "timeout", `#!/bin/sh
limit=$3
shift 3
for last; do :; done
case $last in 10.128.*) limit=1 ;; esac
exec `+dir+`/timeout -s KILL "$limit" "$@"
`)
}
