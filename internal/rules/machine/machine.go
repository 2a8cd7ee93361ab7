// Package machine is the catalogue of checks over one Snapshot: the pod's own view, and the node's.
package machine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// Options has facts that the machine itself does not show; the zero value expects nothing.
type Options struct {
	Scope    rail.Scope       // "" is rail.Pod
	Rails    *rail.Resolution // nil: Pod resolves them
	RateGbps float64          // that every rail should have
}

// Pod judges a pod: its rails, its limits, its libraries and the environment of NCCL.
func Pod(s host.Snapshot, o Options) check.Report { return run(podChecks, check.Pod, newSubject(s, o)) }

// Node judges a machine that provides RDMA devices to pods, or runs jobs itself.
func Node(s host.Snapshot) check.Report { return run(nodeChecks, check.Node, &subject{Snapshot: s}) }

// run runs the checks. A check without a function returns the findings of packages rail and nccl. A finding that names
// neither a check nor a subject gets the ID of its check and the machine.
func run(checks []check.Check[*subject], kind check.Kind, t *subject) check.Report {
	checks = slices.Clone(checks)
	for i := range checks {
		id, judge := checks[i].ID, checks[i].Run
		if judge == nil {
			judge = func(t *subject) []check.Finding { return t.found(id) }
		}
		checks[i].Run = func(t *subject) []check.Finding {
			all := judge(t)
			for k := range all {
				all[k].Check = cmp.Or(all[k].Check, id)
				all[k].Subject = cmp.Or(all[k].Subject, check.Ref{Kind: kind})
			}
			return all
		}
	}
	return check.Run(checks, t)
}

// subject is a Snapshot with the decisions that all checks share.
type subject struct {
	host.Snapshot
	options  Options
	rails    []rail.Rail
	noRail   []check.Finding // why there is none
	findings []check.Finding // of the rails and of NCCL's environment
	unset    []nccl.Var      // variables that NCCL needs here and nothing sets
	before   *host.Snapshot  // an earlier reading, for Watch
}

func newSubject(s host.Snapshot, o Options) *subject {
	if o.Rails == nil {
		found := rail.Resolve(s, cmp.Or(o.Scope, rail.Pod))
		o.Rails = &found
	}
	r := o.Rails
	if len(s.Launched) > 0 { // variables that the container's command has and this process does not
		env := map[string]string{}
		maps.Copy(env, s.Env)
		maps.Copy(env, s.Launched)
		s.Env = env
	}
	t := &subject{Snapshot: s, options: o, rails: r.Rails}
	if len(r.Rails) == 0 {
		t.noRail = []check.Finding{r.NoRail(s)}
	}
	vars, findings := nccl.Compute(r.Rails, s, nccl.Policy{})
	t.findings = append(r.Findings(), findings...)
	for _, v := range vars {
		if _, _, set := s.UserSetting(v.Name); v.Source == nccl.Computed && !set {
			t.unset = append(t.unset, v)
		}
	}
	return t
}

// found returns the findings of packages rail and nccl with an ID.
func (t *subject) found(id check.ID) []check.Finding {
	var all []check.Finding
	for _, f := range t.findings {
		if f.Check == id {
			all = append(all, f)
		}
	}
	return all
}

// noData skips a check whose facts the snapshot does not have, because it is older than the check or of a container.
func noData() []check.Finding {
	return []check.Finding{{Status: check.Skipped, Summary: "no data in this snapshot"}}
}

// ifRead skips a check without findings if a rail lacks the fact that the check needs.
func (t *subject) ifRead(found []check.Finding, known func(rail.Rail) bool) []check.Finding {
	if len(found) == 0 && slices.ContainsFunc(t.rails, func(r rail.Rail) bool { return !known(r) }) {
		return noData()
	}
	return found
}

// group collects the objects that have the same fault, with the evidence.
type group struct {
	objects  []check.Ref
	evidence []check.Evidence
}

// see adds evidence: where it was read, the value found and the value wanted.
func (g *group) see(source, got, want string) {
	g.evidence = append(g.evidence, check.Evidence{Source: source, Got: got, Want: want})
}

// add adds an object with its evidence.
func (g *group) add(object check.Ref, source, got, want string) {
	if !slices.Contains(g.objects, object) {
		g.objects = append(g.objects, object)
	}
	g.see(source, got, want)
}

// String lists the objects.
func (g *group) String() string {
	names := make([]string, 0, len(g.objects))
	for _, r := range g.objects {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}

// distinct returns the different values, sorted.
func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
