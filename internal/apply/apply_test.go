package apply

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// standIn is an API server with a kubelet.
type standIn struct {
	state   cluster.State // without pods
	objects map[string]plan.Change
	writes  []string
	watched []kube.Want

	denied []plan.Right
	review error // of rights
	user   string
	// answer is called before a change is made.
	answer func(plan.Change, kube.DryRun) error
	image  error
	phase  string // of pods
	log    string // of pods
}

func nameOf(c plan.Change) string { return c.Object.GetKind() + "/" + c.Object.GetName() }

func (s *standIn) May(context.Context, []plan.Right) ([]plan.Right, error) { return s.denied, s.review }

func (s *standIn) User() string { return s.user }

func (s *standIn) Carry(ctx context.Context, change plan.Change, dry kube.DryRun) (kube.Outcome, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	note := ""
	if dry {
		note = " dry"
	}
	s.writes = append(s.writes, string(change.Verb)+" "+nameOf(change)+note)
	if s.answer != nil {
		if err := s.answer(change, dry); err != nil {
			return "", err
		}
	}
	switch {
	case change.Verb == plan.Delete:
		delete(s.objects, nameOf(change))
		return kube.Deleted, nil
	case !bool(dry) && s.objects == nil:
		s.objects = map[string]plan.Change{}
		fallthrough
	case !bool(dry):
		s.objects[nameOf(change)] = change
	}
	return kube.Created, nil
}

func (s *standIn) Read(ctx context.Context, _ kube.Want) (cluster.State, error) {
	state := s.state
	for _, c := range s.objects {
		if c.Object.GetKind() == "Pod" {
			pod := cluster.Pod{Namespace: c.Object.GetNamespace(), Name: c.Object.GetName(), Phase: s.phase}
			state.Pods = append(state.Pods, pod)
		}
	}
	return state, ctx.Err()
}

func (s *standIn) Watch(ctx context.Context, want kube.Want) iter.Seq2[cluster.State, error] {
	s.watched = append(s.watched, want)
	return func(yield func(cluster.State, error) bool) {
		for state, err := s.Read(ctx, want); err == nil && yield(state, nil); state, err = s.Read(ctx, want) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (s *standIn) ShellImage(context.Context, string) (string, error) { return "shell", s.image }

func (s *standIn) Logs(context.Context, kube.PodRef, kube.LogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.log)), nil
}

func creation(kind, namespace, name string) plan.Change {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return plan.Change{Verb: plan.Apply, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": metadata,
	}}}
}

// progress returns a condition that always has this progress.
func progress(p plan.Progress) plan.Condition { return func(cluster.State) plan.Progress { return p } }

// twoSteps is a plan whose steps are done at once.
func twoSteps() plan.Plan {
	ready := progress(plan.Progress{Done: true, Text: "ready"})
	return plan.Plan{
		Steps: []plan.Step{
			{
				ID: "first", Title: "Create the account", Changes: []plan.Change{creation("ServiceAccount", "train", "sa")},
				Done: ready, Watch: []cluster.Kind{cluster.ServiceAccounts},
			},
			{
				ID: "second", Title: "Create the pods", Changes: []plan.Change{creation("Job", "train", "j")},
				Done: ready, Watch: []cluster.Kind{cluster.Pods},
			},
		},
		Closing: "That is all.",
	}
}

// TestPlan: what is written and said when a plan is carried out.
func TestPlan(t *testing.T) {
	refuse := func(name string) func(plan.Change, kube.DryRun) error {
		return func(c plan.Change, _ kube.DryRun) error {
			if nameOf(c) == name {
				return errors.New("forbidden")
			}
			return nil
		}
	}
	const both = "apply ServiceAccount/sa, apply Job/j"
	for name, test := range map[string]struct {
		plan    func(*plan.Plan)
		options Options
		answer  func(plan.Change, kube.DryRun) error
		writes  string
		watched int
		err     string
		said    string
	}{
		"done": {
			writes:  both,
			watched: 2,
			said: "Create the account\n  created ServiceAccount sa\nready\n" +
				"Create the pods\n  created Job j\nready\nThat is all.\n",
		},
		"without a wait for the last change": {
			options: Options{NoWait: true},
			writes:  both,
			watched: 1,
			said: "Create the account\n  created ServiceAccount sa\nready\n" +
				"Create the pods\n  created Job j\nThat is all.\n",
		},
		"without a wait, and the first step is not done in time": {
			plan:    func(p *plan.Plan) { p.Steps[0].Done = progress(plan.Progress{Text: "no node"}) },
			options: Options{NoWait: true},
			writes:  "apply ServiceAccount/sa",
			watched: 1,
			err: "not done after 1m0s: no node; it continues in the cluster, follow it with: the same command again, " +
				"which continues with: Create the pods",
			said: "Create the account\n  created ServiceAccount sa\nno node\n",
		},
		"steps without a condition": {
			plan:   func(p *plan.Plan) { p.Steps[0].Done, p.Steps[1].Done, p.Closing = nil, nil, "" },
			writes: both,
			said:   "Create the account\n  created ServiceAccount sa\nCreate the pods\n  created Job j\n",
		},
		"dry run": {
			options: Options{DryRun: true},
			writes:  "apply ServiceAccount/sa dry, apply Job/j dry",
			said: "Create the account\n  created ServiceAccount sa (dry run)\n" +
				"Create the pods\n  created Job j (dry run)\n",
		},
		"dry run in a namespace that does not exist yet": {
			plan: func(p *plan.Plan) {
				p.Steps[0].Changes = append([]plan.Change{creation("Namespace", "", "train")}, p.Steps[0].Changes...)
			},
			options: Options{DryRun: true},
			writes:  "apply Namespace/train dry",
			said: "Create the account\n  created Namespace train (dry run)\n" +
				"  Skipped, because its namespace does not exist yet: ServiceAccount sa\n" +
				"Create the pods\n  Skipped, because its namespace does not exist yet: Job j\n",
		},
		"dry run in a namespace that is changed": {
			plan: func(p *plan.Plan) {
				label := creation("Namespace", "", "train")
				label.Verb = plan.Merge
				p.Steps = []plan.Step{{Title: "Label", Changes: []plan.Change{label, creation("Job", "train", "j")}}}
			},
			options: Options{DryRun: true},
			writes:  "merge Namespace/train dry, apply Job/j dry",
			said:    "Label\n  created Namespace train (dry run)\n  created Job j (dry run)\n",
		},
		"a write is refused": {
			answer:  refuse("Job/j"),
			writes:  both,
			watched: 1,
			err:     "forbidden\nObjects written so far stay; the same command again completes the plan",
			said:    "Create the account\n  created ServiceAccount sa\nready\nCreate the pods\n",
		},
		"a dry run is refused": {
			options: Options{DryRun: true},
			answer:  refuse("ServiceAccount/sa"),
			writes:  "apply ServiceAccount/sa dry",
			err:     "forbidden",
			said:    "Create the account\n",
		},
		"the first step is stuck": {
			plan: func(p *plan.Plan) {
				p.Steps[0].Done = progress(plan.Progress{Text: "no node", Stuck: obstacle("free-nodes", "a", 0)})
			},
			writes:  "apply ServiceAccount/sa",
			watched: 1,
			err:     "it will not succeed without a fix",
			said: "Create the account\n  created ServiceAccount sa\nno node\nfail: pod/a: free-nodes of a [free-nodes]\n" +
				"    fix (): Look at it.\n        kubectl describe pod a\n",
		},
		"the first step is not done in time": {
			plan:    func(p *plan.Plan) { p.Steps[0].Done = progress(plan.Progress{Text: "no node"}) },
			writes:  "apply ServiceAccount/sa",
			watched: 1,
			err: "not done after 1m0s: no node; it continues in the cluster, follow it with: the same command again, " +
				"which continues with: Create the pods",
			said: "Create the account\n  created ServiceAccount sa\nno node\n",
		},
		"the last step is not done in time": {
			plan:    func(p *plan.Plan) { p.Steps[1].Done = progress(plan.Progress{Text: "no node"}) },
			writes:  both,
			watched: 2,
			err:     "not done after 1m0s: no node; it continues in the cluster, follow it with: railhead status j",
			said: "Create the account\n  created ServiceAccount sa\nready\n" +
				"Create the pods\n  created Job j\nno node\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p, o := &standIn{answer: test.answer}, twoSteps(), test.options
				if test.plan != nil {
					test.plan(&p)
				}
				var out bytes.Buffer
				o.Want, o.Limit, o.Resume = kube.Want{Namespace: "train"}, time.Minute, "railhead status j"
				o.Live = &report.Live{W: &out}
				if got := textOf(Plan(t.Context(), s, p, o)); got != test.err {
					t.Errorf("error %q, want %q", got, test.err)
				}
				if got := strings.Join(s.writes, ", "); got != test.writes {
					t.Errorf("wrote %s, want %s", got, test.writes)
				}
				if diff := cmp.Diff(test.said, out.String()); diff != "" {
					t.Errorf("said (-want +got):\n%s", diff)
				}
				var watched []kube.Want
				for _, step := range p.Steps[:test.watched] {
					watched = append(watched, kube.Want{Namespace: "train", Kinds: step.Watch})
				}
				if diff := cmp.Diff(watched, s.watched); diff != "" {
					t.Errorf("watched (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestInterrupted: an interrupted plan says what it leaves, once.
func TestInterrupted(t *testing.T) {
	const left = "Interrupted: objects written so far stay; the same command again completes the plan\n"
	for name, test := range map[string]struct {
		at     string // the change that meets the interrupt; "": a wait
		dry    bool
		silent bool // the caller says that nothing was written
		said   string
	}{
		"at the first write": {
			at:   "ServiceAccount/sa",
			said: "Create the account\n" + left,
		},
		"at the second write": {
			at:   "Job/j",
			said: "Create the account\n  created ServiceAccount sa\nready\nCreate the pods\n" + left,
		},
		"in a dry run": {at: "ServiceAccount/sa", dry: true, silent: true, said: "Create the account\n"},
		"in a wait": {
			said: "Create the account\n  created ServiceAccount sa\nready\n" +
				"Create the pods\n  created Job j\n0 of 2 pods ready\n" +
				"Stopped watching; the change continues in the cluster. Follow it with: railhead status j\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				s := &standIn{answer: func(c plan.Change, _ kube.DryRun) error {
					if nameOf(c) == test.at {
						interrupt()
					}
					return nil
				}}
				p := twoSteps()
				if test.at == "" {
					time.AfterFunc(time.Minute, interrupt)
					p.Steps[1].Done = progress(plan.Progress{Text: "0 of 2 pods ready"})
				}
				var out bytes.Buffer
				wait := Wait{Resume: "railhead status j", Live: &report.Live{W: &out}}
				err := Plan(ctx, s, p, Options{Wait: wait, DryRun: test.dry})
				if err == nil || errors.Is(err, ErrInterrupted) == test.silent {
					t.Errorf("error: %v", err)
				}
				if diff := cmp.Diff(test.said, out.String()); diff != "" {
					t.Errorf("said (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestInterruptedBeforeWriting: a plan that was interrupted before its first change wrote nothing, and does not say
// otherwise.
func TestInterruptedBeforeWriting(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out bytes.Buffer
	s := &standIn{}
	p := plan.Plan{Steps: []plan.Step{{Title: "Wait", Done: progress(plan.Progress{})}}}
	err := Plan(ctx, s, p, Options{Wait: Wait{Live: &report.Live{W: &out}}})
	if !errors.Is(err, ErrInterrupted) || out.String() != "Wait\n" || len(s.writes) > 0 {
		t.Errorf("error %v, wrote %q, said %q", err, s.writes, out.String())
	}
}

// TestCheckRights: a plan that is forbidden in part is refused before anything is written.
func TestCheckRights(t *testing.T) {
	rights := []plan.Right{
		{Verb: "create", Resource: "serviceaccounts", Namespace: "train"},
		{Verb: "patch", Resource: "nodes", Name: "gpu-0"},
	}
	binding := []plan.Change{creation("ServiceAccount", "train", "sa"), creation("RoleBinding", "train", "users")}
	escalation := errors.New("user is attempting to grant RBAC permissions not currently held")
	for name, test := range map[string]struct {
		s       standIn
		setup   bool
		changes []plan.Change
		writes  []string
		err     string
		said    string
	}{
		"allowed": {changes: binding, writes: []string{"apply RoleBinding/users dry"}},
		"rights are not known": {
			s:       standIn{review: kube.ErrUnreachable},
			changes: binding,
			err:     kube.ErrUnreachable.Error(),
		},
		"rights are missing": {
			s:       standIn{denied: rights, user: "ada"},
			changes: binding,
			err: "nothing was written: ada lacks the rights for 2 parts of this plan; " +
				"a cluster administrator can apply it, or grant them",
			said: "forbidden: create serviceaccounts in namespace train\nforbidden: patch nodes \"gpu-0\"\n",
		},
		"rights of administrators are missing": {
			s:       standIn{denied: rights[1:]},
			setup:   true,
			changes: binding,
			err: "nothing was written: this user lacks the rights for 1 part of this plan; " +
				"a cluster administrator can apply it, or grant them with " + plan.AdministratorRoles,
			said: "forbidden: patch nodes \"gpu-0\"\n",
		},
		"grants are refused": {
			s:       standIn{answer: func(plan.Change, kube.DryRun) error { return escalation }},
			changes: binding,
			writes:  []string{"apply RoleBinding/users dry"},
			err:     "nothing was written: " + escalation.Error(),
		},
		"grants in a namespace that does not exist yet": {
			changes: append([]plan.Change{creation("Namespace", "", "train")}, binding...),
		},
		"a grant is deleted": {changes: []plan.Change{binding[1].Undo()}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := Options{Wait: Wait{Want: kube.Want{Setup: test.setup}, Live: &report.Live{W: &out}}}
			p := plan.Plan{Steps: []plan.Step{{Changes: test.changes}}}
			if got := textOf(CheckRights(t.Context(), &test.s, p, o)); got != test.err {
				t.Errorf("error %q, want %q", got, test.err)
			}
			if !slices.Equal(test.s.writes, test.writes) || len(test.s.objects) > 0 {
				t.Errorf("wrote %q, want %q", test.s.writes, test.writes)
			}
			if diff := cmp.Diff(test.said, out.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}
