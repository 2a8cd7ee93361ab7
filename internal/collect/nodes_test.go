package collect

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/workload"
)

// probeID is the part of a probe pod's name that is random.
var probeID = regexp.MustCompile(`(railhead-probe-\S+)-\w+`)

// examineNodes examines nodes of a stand-in and returns the error of each.
func examineNodes(
	ctx context.Context,
	t *testing.T,
	s *standIn,
	talk io.Writer,
	names ...string,
) (map[string]string, error) {
	t.Helper()
	b, _, err := Run(ctx, s, Options{
		Subject: workload.Subject{Nodes: names},
		Timeout: time.Minute,
		Probe:   Probe{Namespace: "default", Programs: []delivery.Program{delivery.Packed("amd64", []byte("binary"))}},
		Live:    &report.Live{W: talk},
	})
	unreached := map[string]string{}
	for _, m := range b.Machines {
		unreached[m.Ref.String()] = probeID.ReplaceAllString(m.Unreached, "$1-ID")
	}
	return unreached, err
}

func TestNodes(t *testing.T) {
	privileged := func(c plan.Change) bool {
		spec, _ := c.Object.Object["spec"].(map[string]any)
		return spec["hostPID"] == true
	}
	for name, c := range map[string]struct {
		s    *standIn
		want map[string]string
		says string
	}{
		"all are examined": {
			&standIn{phase: "Succeeded", log: `{"schemaVersion":1}`},
			map[string]string{"node/gpu-0": "", "node/gpu-1": ""}, "Examining 2 nodes",
		},
		"privileged pods are refused": {
			&standIn{phase: "Succeeded", log: `{"schemaVersion":1}`, refuse: func(c plan.Change) error {
				if privileged(c) {
					return errors.New("forbidden")
				}
				return nil
			}},
			map[string]string{"node/gpu-0": "", "node/gpu-1": ""}, "No privileged pod on node gpu-0: forbidden",
		},
		"all pods are refused": {
			&standIn{refuse: func(plan.Change) error { return errors.New("forbidden") }},
			map[string]string{"node/gpu-0": "forbidden", "node/gpu-1": "forbidden"}, "",
		},
		"pods do not end": {
			&standIn{phase: "Running"},
			map[string]string{
				"node/gpu-0": "its probe pod did not finish within 5m0s: pod railhead-probe-gpu-0-ID is Running",
				"node/gpu-1": "its probe pod did not finish within 5m0s: pod railhead-probe-gpu-1-ID is Running",
			},
			"",
		},
		"logs are cut short once": {
			&standIn{phase: "Succeeded", log: `{"schemaVersion":1}`, cut: 1},
			map[string]string{"node/gpu-0": "", "node/gpu-1": ""}, "",
		},
		"logs are cut short": {
			&standIn{phase: "Succeeded", log: `{"schemaVersion":1}`, cut: 4},
			map[string]string{
				"node/gpu-0": "read the snapshot of pod default/railhead-probe-gpu-0-ID: the output was cut short, also when asked again",
				"node/gpu-1": "read the snapshot of pod default/railhead-probe-gpu-1-ID: the output was cut short, also when asked again",
			},
			"",
		},
		"kubelets hang": {
			&standIn{phase: "Succeeded", hangs: true},
			map[string]string{
				"node/gpu-0": "its log did not arrive within 1m0s",
				"node/gpu-1": "its log did not arrive within 1m0s",
			},
			"",
		},
		"pods cannot be read": {
			&standIn{phase: "Succeeded", unread: true},
			map[string]string{
				"node/gpu-0": "its probe pod could not be watched for 5m0s",
				"node/gpu-1": "its probe pod could not be watched for 5m0s",
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var talk strings.Builder
				got, err := examineNodes(t.Context(), t, c.s, &talk, "gpu-0", "gpu-1")
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("%v, %s", err, diff)
				}
				if left := c.s.left(); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
				if !strings.Contains(talk.String(), c.says) {
					t.Errorf("no %q in %s", c.says, talk.String())
				}
			})
		})
	}
	t.Run("no such node", func(t *testing.T) {
		got, err := examineNodes(t.Context(), t, &standIn{}, io.Discard, "gpu-9")
		if diff := cmp.Diff(map[string]string{"node/gpu-9": "there is no such node"}, got); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	})
}

// An interrupt leaves no pod behind, even while a pod is created. The pod of an earlier command is neither used nor
// removed.
func TestNodesInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		earlier := creation("Pod", "railhead-probe-gpu-0-01234567")
		s := &standIn{
			objects: map[string]plan.Change{nameOf(earlier): earlier},
			phase:   "Succeeded",
			log:     `{"schemaVersion":1}`,
		}
		s.answer = func(c plan.Change) error {
			if c.Object.GetKind() == "Pod" {
				interrupt()
			}
			return nil
		}
		if _, err := examineNodes(ctx, t, s, io.Discard, "gpu-0"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"Pod/railhead-probe-gpu-0-01234567"}, s.left()); diff != "" {
			t.Error(diff)
		}
	})
}
