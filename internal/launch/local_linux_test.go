package launch

import (
	"context"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

// targetsOf returns the ranks of local pods.
func targetsOf(pods []cluster.Pod) []Target {
	var all []Target
	for i, p := range pods {
		all = append(all, Target{Rank: i, Pod: p, Container: "train"})
	}
	return all
}

// hang is a limit that only a command reaches that hangs.
const hang = 5 * time.Minute

// trial is a launch into local pods, which stops the others soon after a rank has failed.
type trial struct {
	*Session
	local    *launchtest.Pods
	out, err *launchtest.Text
	ctx      context.Context
	stop     context.CancelFunc
}

func newTrial(t *testing.T, n int, script string) *trial {
	t.Helper()
	local, pods := launchtest.New(t, n)
	all := targetsOf(pods)
	ctx, stop := context.WithCancel(t.Context())
	tr := &trial{local: local, out: &launchtest.Text{}, err: &launchtest.Text{}, ctx: ctx, stop: stop}
	tr.Session = New(local, Streams{Out: tr.out, Err: tr.err}, all, []string{"sh", "-c", script})
	tr.Patience = patience{
		grace:     hang,
		peer:      200 * time.Millisecond,
		kill:      hang,
		lossDelay: 200 * time.Millisecond,
		status:    500 * time.Millisecond,
		retry:     100 * time.Millisecond,
	}
	tr.FirstReading = 0
	t.Cleanup(stop)
	return tr
}

// run carries the launch out and returns its exit code.
func (tr *trial) run(t *testing.T) exit.Code {
	t.Helper()
	o, err := tr.Run(tr.ctx)
	if err == nil {
		tr.Report(o)
	}
	t.Logf("stdout:\n%s\nstderr:\n%s\nerror: %v", tr.out.String(), tr.err.String(), err)
	if err != nil && tr.ctx.Err() != nil {
		return exit.Interrupted
	}
	if err != nil {
		t.Fatalf("not started: %v", err)
	}
	return o.Code()
}
