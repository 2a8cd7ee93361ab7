// Package machine is the catalogue of checks over one Snapshot: the pod's own view, and the node's.
package machine

import (
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// Options has facts that the machine itself does not show; the zero value expects nothing.
type Options struct {
	Scope    rail.Scope // "" is rail.Pod
	RateGbps float64    // that every rail should have
}

// Pod judges a pod: its rails, its limits, its libraries and the environment of NCCL.
func Pod(s host.Snapshot, o Options) check.Report { return run(podChecks, newSubject(s, o)) }

// Node judges a machine that gives RDMA devices to pods, or runs jobs itself.
func Node(s host.Snapshot) check.Report {
	return run(nodeChecks, &subject{Snapshot: s})
}

// run makes the checks; those without a function pass on what was found already.
func run(checks []check.Check[*subject], t *subject) check.Report {
	checks = slices.Clone(checks)
	for i := range checks {
		if c := &checks[i]; c.Run == nil {
			c.Run = func(t *subject) []check.Finding { return t.made(c.ID) }
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
	needed   []nccl.Var      // variables without which NCCL would choose otherwise, and that nothing sets
	before   *host.Snapshot  // an earlier reading, where there is one
}

func newSubject(s host.Snapshot, o Options) *subject {
	if o.Scope == "" {
		o.Scope = rail.Pod
	}
	if len(s.Launched) > 0 { // what the command of this container has, and this process has not
		s.Env = maps.Clone(s.Env)
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		maps.Copy(s.Env, s.Launched)
	}
	r := rail.Resolve(s, o.Scope)
	t := &subject{Snapshot: s, options: o, rails: r.Rails, findings: r.Findings()}
	if len(r.Rails) == 0 {
		t.noRail = []check.Finding{r.NoRail(s)}
	}
	vars, findings := nccl.Compute(r.Rails, s, nccl.Policy{})
	t.findings = append(t.findings, findings...)
	for _, v := range vars {
		if _, _, set := s.UserSetting(v.Name); v.Source == nccl.Computed && !set {
			t.needed = append(t.needed, v)
		}
	}
	return t
}

// made are the findings that packages rail and nccl made under an ID.
func (t *subject) made(id check.ID) []check.Finding {
	var all []check.Finding
	for _, f := range t.findings {
		if f.Check == id {
			all = append(all, f)
		}
	}
	return all
}

// notLooked says that the facts of a check were not read, as in a recording that is older than they are.
func notLooked(id check.ID) []check.Finding {
	return []check.Finding{{Check: id, Status: check.Skipped, Summary: "not looked at"}}
}

// one is the list of one finding.
func one(id check.ID, status check.Status, about check.Ref, summary string, fix *check.Fix, evidence ...check.Evidence) []check.Finding {
	return []check.Finding{{Check: id, Status: status, Subject: about, Summary: summary, Evidence: evidence, Fix: fix}}
}

// about adds what else the findings are evidence for.
func about(findings []check.Finding, refs []check.Ref) []check.Finding {
	for i := range findings {
		findings[i].About = append(findings[i].About, refs...)
	}
	return findings
}

// forUser and forAdmin are cures.
func forUser(text string, commands ...string) *check.Fix {
	return &check.Fix{Text: text, Commands: commands, Who: check.User}
}

func forAdmin(text string, commands ...string) *check.Fix {
	return &check.Fix{Text: text, Commands: commands, Who: check.Admin}
}

// distinct are the different values, sorted.
func distinct(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
