package benchrun

import (
	"errors"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

// TestReadingCutShort: what a pod tells about itself is asked for again once. Half of it does not mean that a tool is
// missing or that no launch runs.
func TestReadingCutShort(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 1)
	stop := b.launched(t)
	defer stop()
	for name, test := range map[string]struct {
		script string // a part of it
		read   func() error
	}{
		"snapshot": {" snapshot", func() error {
			s, err := b.snapshot(t.Context(), 0)
			if err == nil && s.SchemaVersion != host.SchemaVersion {
				t.Errorf("schema version %d", s.SchemaVersion)
			}
			return err
		}},
		"tools": {"command -v", func() error {
			tools, err := b.session.tools(t.Context(), 0)
			if err == nil && !tools.Has(bench.IBWriteBW) {
				t.Errorf("tools %v", tools)
			}
			return err
		}},
		"running launches": {`marked "${id%.pid}."`, func() error {
			err := b.free(t.Context(), 0)
			if errors.Is(err, errLaunchRuns) {
				return nil
			}
			if err == nil {
				t.Error("the launch was not seen")
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for times, asked := range map[int64]int64{0: 1, 1: 2, 2: 2} {
				p := &launchtest.CutShort{Pods: b.local, Script: test.script}
				p.Left.Store(times)
				b.pods = p
				err := test.read()
				if p.Asked.Load() != asked || (times == 2) != errors.Is(err, kube.ErrCutShort) {
					t.Errorf("cut %d times: asked %d times: %v", times, p.Asked.Load(), err)
				}
				if times == 2 && !strings.HasSuffix(err.Error(), "the output was cut short, also when asked again") {
					t.Error(err)
				}
			}
		})
	}
}
