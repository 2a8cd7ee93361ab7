package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/saved"
	"github.com/railhead/railhead/internal/serve"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/workload"
)

// TestWireSave: Ctrl-C ends a saved series with the exit code of its last reading, and an error does not end it.
func TestWireSave(t *testing.T) {
	moving := wire.Job{Proof: wire.RDMA, Members: []wire.Member{{
		Ref:    check.PodRef("train", "h-kim-0"),
		Motion: wire.Motion{Proof: wire.RDMA, Rails: []string{"mlx5_6"}},
	}}}
	idle := moving
	idle.Proof = wire.NoTraffic
	down := errors.New("the API server does not answer")
	type result struct {
		job wire.Job
		err error
	}
	good, bad, gone := result{moving, nil}, result{idle, down}, result{idle, collect.ErrNoJob}
	for name, c := range map[string]struct {
		results []result // then Ctrl-C
		alone   bool     // without --watch
		unsaved bool     // without --save
		code    exit.Code
		page    string
		says    string
	}{
		"until Ctrl-C": {[]result{good, good}, false, false, 0, "in 2 of 2 readings", "2 readings in 0s: RDMA in 2"},
		"idle at the end": {
			[]result{good, {idle, nil}}, false, false, exit.Fault, "in 1 of 2 readings", "railhead report",
		},
		"not saved":                        {[]result{{idle, nil}, good}, false, true, 0, "", "2 readings in 0s: RDMA in 1, no traffic in 1"},
		"a pause of the server, not saved": {[]result{good, bad, good}, false, true, 0, "", "RDMA in 2, unknown in 1"},
		"the job is deleted, not saved":    {[]result{good, gone}, false, true, 1, "", "1 reading in 0s: RDMA in 1"},
		"Ctrl-C at once, not saved":        {nil, false, true, exit.Interrupted, "", ""},
		"a pause of the server":            {[]result{good, bad, bad, good}, false, false, 0, "in 2 of 4 readings", "trying again"},
		"the job is deleted":               {[]result{good, gone}, false, false, 1, "in 1 of 1 reading", "1 reading in"},
		"once":                             {[]result{good}, true, false, 0, "in 1 of 1 reading", "1 reading in"},
		"Ctrl-C at once":                   {nil, false, false, exit.Interrupted, "", ""},
		"nothing was read":                 {[]result{bad}, false, false, 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var said bytes.Buffer
				file := filepath.Join(t.TempDir(), "wire.json")
				save := file
				if c.unsaved {
					save = ""
				}
				r := wireReader{
					wireFlags: wireFlags{format: "text", save: save, watch: !c.alone},
					Options: collect.Options{
						Subject: workload.Subject{Job: "h-kim"}, Every: time.Millisecond, Live: &report.Live{W: &said},
					},
					Streams: Streams{Out: &said, Err: &said},
					read: func(context.Context, collect.Options) (wire.Job, error) {
						if len(c.results) == 0 {
							stop()
							return wire.Job{}, ctx.Err()
						}
						next := c.results[0]
						c.results = c.results[1:]
						return next.job, next.err
					},
				}
				err := r.run(ctx)
				if err != nil && interrupted(ctx, err) != (c.code == exit.Interrupted) {
					t.Errorf("interrupted: %v, %v", ctx.Err(), err)
				}
				var coded exit.Error
				code := exit.Code(0)
				switch {
				case errors.As(err, &coded):
					code = coded.Code
				case errors.Is(err, context.Canceled):
					code = exit.Interrupted
				case err != nil:
					code = 1
				}
				text := said.String()
				if code != c.code || !strings.Contains(text, c.says) || strings.Count(text, "trying") > 1 {
					t.Errorf("exit code %d (%v), said:\n%s", code, err, said.String())
				}
				if c.unsaved {
					if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
					return
				}
				page, err := (&serve.Files{Names: []string{file}}).Page(t.Context())
				if c.page == "" {
					if !errors.Is(err, saved.ErrEmpty) {
						t.Error(err)
					}
					return
				}
				if err != nil || page.Title != "Job h-kim in namespace train" ||
					!strings.Contains(page.Verdict.Text, c.page) {
					t.Errorf("%v, %s: %+v", err, page.Title, page.Verdict)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", info, err)
				}
			})
		})
	}
}
