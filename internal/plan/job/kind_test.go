package job

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// TestKind: a command runs once, waiting pods are kept, and a job that exists never gets a second workload.
func TestKind(t *testing.T) {
	of := func(kind string, command ...string) Options {
		o := jobOptions()
		o.Kind, o.Command = kind, command
		return o
	}
	existing := func(o Options) cluster.State {
		p, _ := Deploy(plantest.Training(), o)
		return plantest.With(plantest.Training(), plantest.Live(p))
	}
	script := of("")
	script.Script = &Script{Name: "train.py"}
	for name, c := range map[string]struct {
		s    cluster.State
		o    Options
		want string // the kind that is written, or why nothing is
	}{
		"a command":                   {plantest.Training(), of("", "torchrun"), "Job"},
		"a script":                    {plantest.Training(), script, "Job"},
		"no command":                  {plantest.Training(), of(""), "StatefulSet"},
		"a command in a named kind":   {plantest.Training(), of(StatefulSet, "torchrun"), "StatefulSet"},
		"a command for a StatefulSet": {existing(of("")), of("", "torchrun"), "StatefulSet"},
		"a command for a JobSet":      {existing(of(JobSet, "torchrun")), of("", "torchrun"), ""},
		"no command for a Job":        {existing(of("", "torchrun")), of(""), "a Job cannot be changed"},
		"another kind than the StatefulSet": {
			existing(of("")), of(IndexedJob, "torchrun"), "already exists as a StatefulSet, so it cannot be deployed as a Job",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := Deploy(c.s, c.o)
			if check.Worst(findings) == check.Fail {
				if text := plantest.Wording(findings); c.want == "" || !strings.Contains(text, c.want) {
					t.Fatalf("want %q:\n%s", c.want, text)
				}
				return
			}
			got := ""
			if changes := p.Changes(); len(changes) > 0 {
				got = changes[len(changes)-1].Object.GetKind()
			}
			if got != c.want {
				t.Errorf("writes %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnreadKind(t *testing.T) {
	s := plantest.Unread(plantest.Training(), cluster.JobObjects)
	if _, findings := Deploy(s, jobOptions()); len(findings) != 1 || findings[0].Status != check.Unknown {
		t.Errorf("findings:\n%s", plantest.Wording(findings))
	}
}

// TestRefOfKind: a finding about an object whose kind is that of another group names the group, too.
func TestRefOfKind(t *testing.T) {
	for apiVersion, want := range map[string]string{
		"batch/v1": "job/vj", "batch.volcano.sh/v1alpha1": "job.batch.volcano.sh/vj",
	} {
		got := objectRef(manifest(t, "apiVersion: "+apiVersion+"\nkind: Job\nmetadata: {name: vj}\n")).String()
		if got != want {
			t.Errorf("%s: %s, want %s", apiVersion, got, want)
		}
	}
}
