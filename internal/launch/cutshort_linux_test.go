package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/wire"
)

// cutShort are the pods of a trial, in which commands with a text are cut short some times.
func (tr *trial) cutShort(script string, times int64) *launchtest.CutShort {
	p := &launchtest.CutShort{Pods: tr.local, Script: script}
	p.Left.Store(times)
	return p
}

// TestRunsCutShort: an answer without its end is asked for again once, and does not mean that nothing runs.
func TestRunsCutShort(t *testing.T) {
	t.Parallel()
	tr := detached(t, 1, `while [ ! -e end ]; do sleep 0.02; done`)
	for times, asked := range map[int64]int64{0: 1, 1: 2, 2: 2} {
		p := tr.cutShort(`cat "${f%.pid}.run"`, times)
		runs, err := Runs(t.Context(), p, tr.targets())
		if p.Asked.Load() != asked || (times == 2) != errors.Is(err, kube.ErrCutShort) {
			t.Errorf("cut %d times: asked %d times: %v", times, p.Asked.Load(), err)
		}
		if times == 2 {
			launchtest.Has(t, err.Error(), "rank 0 (pod h-kim-0): the output was cut short, also when asked again")
		} else if len(runs) != 1 || !runs[0].Running || runs[0].ID != tr.ID {
			t.Errorf("cut %d times: %+v", times, runs)
		}
	}
	if err := os.WriteFile(filepath.Join(tr.local.Pods["h-kim-0"].Dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tr.attached(t, tr.local, everything).show(t)
}

// TestPrepareCutShort: preparing changes the pod, so it is not repeated, and the command is not started.
func TestPrepareCutShort(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, "echo started")
	p := tr.cutShort("NCCL_DEBUG_FILE-", 1)
	tr.pods = p
	_, err := tr.Run(tr.ctx)
	if !errors.Is(err, kube.ErrCutShort) || p.Asked.Load() != 1 || tr.out.String() != "" {
		t.Errorf("asked %d times: %v, stdout %q", p.Asked.Load(), err, tr.out.String())
	}
	if left := tr.local.Left(); len(left) > 0 {
		t.Errorf("left in the pods: %v", left)
	}
}

// TestReadPodsCutShort: the queue pairs of a pod are read again once.
func TestReadPodsCutShort(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, "")
	dir := tr.local.Pods["h-kim-0"].Dir
	launchtest.WriteJSON(t, filepath.Join(dir, "snapshot.json"), moving(17, 42, 4242, 9000))
	launchtest.Executable(t, filepath.Join(dir, "railhead-pod"), "#!/bin/sh\ncat \"${0%/*}/snapshot.json\"\n")
	for times, asked := range map[int64]int64{0: 1, 1: 2, 2: 2} {
		p := tr.cutShort("snapshot --watch", times)
		tr.pods = p
		members, _ := tr.readPods(tr.ctx)
		if p.Asked.Load() != asked || strings.Contains(members[0].Why, "cut short") != (times == 2) ||
			members[0].Proof != wire.NotProved {
			t.Errorf("cut %d times: asked %d times: %+v", times, p.Asked.Load(), members[0].Motion)
		}
	}
}

// TestDetachedCutShort: a view goes on where its output was cut short, but not for ever.
func TestDetachedCutShort(t *testing.T) {
	t.Parallel()
	tr := detached(t, 1, `for i in 1 2 3 4; do echo "step $i"; done; exit 3`)
	view := tr.attached(t, tr.cutShort("follow", 1), everything)
	if code := view.show(t); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if got := view.out.String(); got != "[0] step 1\n[0] step 2\n[0] step 3\n[0] step 4\n" {
		t.Errorf("stdout %q", got)
	}
	launchtest.Has(t, view.err.String(), "the connection broke: the output was cut short; connecting again")

	empty := detached(t, 1, "exit 0")
	p := empty.cutShort("follow", 1<<20)
	view = empty.attached(t, p, everything)
	if code := view.show(t); code != exit.Fault || p.Asked.Load() < 2 {
		t.Errorf("exit code %d after %d connections", code, p.Asked.Load())
	}
	launchtest.Has(t, view.err.String(), "its output cannot be read: the output was cut short, also when asked again")
}
