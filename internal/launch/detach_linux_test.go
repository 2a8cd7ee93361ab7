package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/podcli"
)

// TestMain lets the test binary be railhead-pod in local pods.
func TestMain(m *testing.M) {
	if os.Getenv(launchtest.AsPod) != "" {
		os.Exit(podcli.Main(os.Args[1:], "", podcli.Streams{Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// detached is a trial whose command was started and left.
func detached(t *testing.T, n int, script string) *trial {
	t.Helper()
	tr := newTrial(t, n, script)
	tr.Job = "h-kim -n train"
	t.Cleanup(func() {
		for _, pid := range launchtest.Marked(tr.ID) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
			}
		}
	})
	if err := tr.Detach(tr.ctx); err != nil {
		t.Fatal(err)
	}
	launchtest.Has(t, tr.err.String(), ", detached: sh -c ")
	return tr
}

// attached is a view of the run of a trial.
func (tr *trial) attached(t *testing.T, p Pods, how Attached) *trial {
	t.Helper()
	targets := tr.targets()
	runs, err := Runs(t.Context(), tr.local, targets)
	if err != nil {
		t.Fatal(err)
	}
	view := &trial{local: tr.local, out: &launchtest.Text{}, err: &launchtest.Text{}}
	view.ctx, view.stop = context.WithCancel(t.Context())
	t.Cleanup(view.stop)
	view.Session, err = Attach(p, Streams{Out: view.out, Err: view.err}, targets, runs, how)
	if err != nil {
		t.Fatal(err)
	}
	view.Patience, view.Job = tr.Patience, tr.Job
	return view
}

func (tr *trial) show(t *testing.T) exit.Code {
	t.Helper()
	o := tr.Show(tr.ctx)
	tr.Report(o)
	t.Logf("stdout:\n%s\nstderr:\n%s", tr.out.String(), tr.err.String())
	return o.Code()
}

var everything = Attached{Tail: -1}

func TestDetachedRun(t *testing.T) {
	t.Parallel()
	tr := detached(t, 2, `echo "rank $NODE_RANK"; echo "aside" >&2; mkfifo go; read -r _ < go
printf "a\rb"; echo "$NODE_RANK ends" >&2
echo "gpu-0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA" > "$NCCL_DEBUG_FILE"; exit 3`)
	view := tr.attached(t, tr.local, everything)
	view.out.When = map[string]func(){"[1] rank 1": func() {
		for _, pod := range tr.local.Pods {
			if err := os.WriteFile(filepath.Join(pod.Dir, "go"), nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	}}
	if code := view.show(t); code != 3 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, view.out.String(), "[0] rank 0\n", "[1] rank 1\n", "[0] a\n", "[0] b\n")
	launchtest.Has(t, view.err.String(), "Started in 2 pods at ", "[0] aside\n", "[1] 1 ends\n",
		"ended with exit code 3, the first of 2 ranks that failed", "Network: RDMA")

	again := tr.attached(t, tr.local, Attached{Tail: 1})
	if code := again.show(t); code != 3 {
		t.Errorf("exit code %d of the second view", code)
	}
	if strings.Contains(again.out.String(), "rank 0") || strings.Contains(again.err.String(), "[0] aside") {
		t.Error("the second view shows more than the last line")
	}
	launchtest.Has(t, again.err.String(), "[0] 0 ends\n")

	next := New(tr.local, Streams{Out: again.out, Err: again.err}, tr.targets(), []string{"true"})
	if o, err := next.Run(t.Context()); err != nil || o.Code() != 0 {
		t.Errorf("the next launch: %v, %v", o, err)
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("the next launch left %v", left)
	}
}

// TestDetachedReconnects cuts the connection after every piece of output: each line is shown once.
func TestDetachedReconnects(t *testing.T) {
	t.Parallel()
	tr := detached(t, 1, `for i in 1 2 3 4; do echo "step $i"; sleep 0.1; done`)
	view := tr.attached(t, &cutting{Pods: tr.local}, everything)
	if code := view.show(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if diff := cmp.Diff("[0] step 1\n[0] step 2\n[0] step 3\n[0] step 4\n", view.out.String()); diff != "" {
		t.Error(diff)
	}
	launchtest.Has(t, view.err.String(), "rank 0 (pod h-kim-0): the connection broke: it was cut; connecting again")
}

// cutting breaks the first connections of follow after the first output.
type cutting struct {
	Pods
	cuts int
}

func (c *cutting) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	if c.cuts > 1 || !strings.Contains(strings.Join(o.Command, " "), "follow") {
		return c.Pods.Exec(ctx, pod, o)
	}
	c.cuts++
	ctx, cancel := context.WithCancel(ctx)
	out := o.Stdout
	o.Stdout = writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "step") {
			defer cancel()
			p = p[:len(p)-3] // the rest is lost
		}
		return out.Write(p)
	})
	_, _ = c.Pods.Exec(ctx, pod, o)
	return 0, errors.New("it was cut")
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestDetachedGoesOn(t *testing.T) {
	t.Parallel()
	tr := detached(t, 2, `trap "echo saved; exit 0" INT; echo started; while :; do sleep 0.05; done`)
	second := New(tr.local, Streams{Out: tr.out, Err: tr.err}, tr.targets(), []string{"true"})
	second.Job = tr.Job
	if _, err := second.Run(t.Context()); err == nil {
		t.Error("a second launch was started")
	} else {
		launchtest.Has(t, err.Error(), "a detached run is still running here",
			"'railhead launch h-kim -n train --attach'")
	}
	view := tr.attached(t, tr.local, everything)
	started := 0
	stopAfterBoth := func() {
		if started++; started == 2 {
			view.stop()
		}
	}
	view.out.When = map[string]func(){"[0] started": stopAfterBoth, "[1] started": stopAfterBoth}
	if code := view.show(t); code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, view.err.String(),
		"Detached: the command goes on. See it with 'railhead launch h-kim -n train --attach'")
	if strings.Contains(view.err.String(), "SIGINT") {
		t.Error("the view sent a signal")
	}
	end := tr.attached(t, tr.local, Attached{Stop: true})
	if code := end.show(t); code != 0 {
		t.Errorf("exit code %d of the stop", code)
	}
	launchtest.Has(t, end.out.String(), "[0] saved\n", "[1] saved\n")
	launchtest.Has(t, end.err.String(),
		"Stopping: sending SIGINT to the command in 2 pods", "Stopped: the command has ended")
	launchtest.WaitGone(t, tr.ID)
}

// TestDetachedLost holds a view to an end if the process that records the command was killed, as with its container.
func TestDetachedLost(t *testing.T) {
	t.Parallel()
	tr := detached(t, 1, `kill -KILL $PPID; sleep 0.1`)
	view := tr.attached(t, tr.local, everything)
	if code := view.show(t); code != exit.Fault {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, view.err.String(), "rank 0 (pod h-kim-0) was lost: it ended without an exit code")
}

func TestDetachedNotStarted(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `sleep 600`)
	shm := filepath.Join(tr.local.Pods["h-kim-1"].Dir, "shm", "railhead-"+tr.ID+".run")
	if err := os.WriteFile(shm, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := tr.Detach(tr.ctx)
	if err == nil {
		t.Fatal("started")
	}
	launchtest.Has(t, err.Error(), "rank 1 (pod h-kim-1): ", "file exists")
	launchtest.WaitGone(t, tr.ID)
}

func TestNoRun(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, "")
	runs, err := Runs(t.Context(), tr.local, tr.targets())
	if err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
	if _, err := Attach(tr.local, Streams{}, tr.targets(), runs, everything); !errors.Is(err, ErrNoRun) {
		t.Errorf("%v", err)
	}
}

func (tr *trial) targets() []Target {
	var all []Target
	for _, r := range tr.ranks {
		all = append(all, r.Target)
	}
	return all
}

func TestParseRuns(t *testing.T) {
	t.Parallel()
	got := parseRuns(Target{}, "id=a\nrunning= 7 8\nid=b\nstarted=2026-03-02T10:00:00.000000000Z\n"+
		"note={\"Command\":[\"sleep\",\"a=b\"]}\nexit=7 2026-03-02T11:00:00Z\n")
	code := 7
	want := []Run{
		{ID: "a", Running: true},
		{ID: "b", Detached: true, Started: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), Code: &code},
	}
	want[1].Command = []string{"sleep", "a=b"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Run{})); diff != "" {
		t.Error(diff)
	}
}
