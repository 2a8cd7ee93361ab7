// Package benchrules judges the result of a bench against its targets, root cause first.
package benchrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// Checks of a bench, from the wire up.
const (
	Measured  check.ID = "bench-measured"
	Fabric    check.ID = "bench-fabric"
	Loopback  check.ID = "bench-loopback"
	Link      check.ID = "bench-link"
	GPUDirect check.ID = "bench-gpudirect"
	Rails     check.ID = "bench-rails"
	CrossRail check.ID = "bench-cross-rail"
	Transport check.ID = "bench-transport"
	NCCL      check.ID = "bench-nccl"
)

// result is the result to judge.
type result struct{ bench.Result }

// Judge returns the findings, root cause first: a step is skipped if one that it builds on misses its target.
func Judge(r bench.Result) []check.Finding {
	findings := check.Run(checks(), result{r}).Findings
	for _, f := range findings {
		result{r}.name(f.Fix)
	}
	return findings
}

func checks() []check.Check[result] {
	return []check.Check[result]{
		{
			ID: Measured, Title: "the bench measured something that can be judged",
			Run: func(r result) []check.Finding {
				return slices.Concat(unmeasured(r), unjudged(r), tcpFailures(r))
			},
		},
		{ID: Loopback, Title: "every HCA moves to itself as much as the others", Run: loopbacks},
		{ID: Fabric, Title: "no part of the fabric is slower than the rest, or than the target", Run: slowParts},
		{
			ID: Link, Title: "RDMA with host memory reaches the payload ceiling",
			Run: func(r result) []check.Finding { return append(gaps(bench.WriteHost)(r), latencies(r)...) },
		},
		{
			ID: GPUDirect, Title: "RDMA with GPU memory is as fast as with host memory",
			Needs: []check.ID{Link},
			Run:   gaps(bench.WriteGPU),
		},
		{
			ID: Rails, Title: "all rails at once reach the sum of their ceilings",
			Needs: []check.ID{Link},
			Run:   gaps(bench.AllRails),
		},
		{
			ID: CrossRail, Title: "every rail reaches every other rail",
			Needs: []check.ID{Link, Fabric},
			Run:   crossRails,
		},
		{ID: Transport, Title: "the all-reduce provably used the intended network", Run: transports},
		{
			ID: NCCL, Title: "NCCL's ring reaches what the rails carry",
			Needs: []check.ID{Link, GPUDirect, Rails, Transport},
			Run:   func(r result) []check.Finding { return append(gaps(bench.NCCLRing)(r), allReduces(r)...) },
		},
	}
}

// name puts the job, or else the nodes, into the commands of a fix.
func (r result) name(f *check.Fix) {
	if f == nil || r.Namespace == "" {
		return
	}
	in := " -n " + r.Namespace
	names := strings.NewReplacer(" NAME", " "+r.Job+in)
	if r.Job == "" {
		var nodes []string
		for _, p := range r.Pods {
			nodes = append(nodes, p.Node)
		}
		names = strings.NewReplacer(
			"railhead bench NAME", "railhead bench --nodes "+strings.Join(nodes, ",")+" --image IMAGE"+in,
			"railhead doctor NAME --nodes", "railhead doctor node/"+strings.Join(nodes, " node/")+in,
		)
	}
	for i, command := range f.Commands {
		f.Commands[i] = names.Replace(command)
	}
}

func (r result) gate() bench.Gate { return bench.Gate{Efficiency: r.MinEfficiency, Gbps: r.MinGbps} }

// target returns what a step must reach; "" if there is no target.
func (r result) target(s bench.Step) string {
	switch {
	case r.MinGbps > 0:
		return fmt.Sprintf("%s or more", r.MinGbps*bench.Gbps(max(s.Rails, 1)))
	case s.Ceiling > 0:
		return fmt.Sprintf("%.0f %% of %s, or more", 100*r.MinEfficiency, s.Ceiling)
	}
	return ""
}

// unmeasured reports that nothing was measured: that is unknown, not healthy.
func unmeasured(r result) []check.Finding {
	if r.Unfinished || r.measured() {
		return nil
	}
	f := check.Finding{
		Check: Measured, Status: check.Unknown, Subject: check.Ref{Kind: check.Bench},
		Summary:  "nothing was measured that can be judged",
		Evidence: r.skipped(),
		Fix: check.ByUser("Use an image that has perftest.",
			"podman build -t IMAGE build/bench", "railhead bench --nodes NODE,NODE --image IMAGE"),
	}
	if r.Job != "" {
		f.Subject = check.Named(check.Job, r.Job)
	}
	if r.matrixMeasured() {
		for _, name := range r.unrated() {
			f.Evidence = append(f.Evidence, check.Evidence{
				Source: "ceiling of rail " + name, Got: "unknown: the rate or MTU of a pod could not be read",
			})
		}
		f.Fix = check.ByUser("Name a target, because the rate of the rails is unknown.",
			"railhead bench NAME --matrix --min-gbps GBPS")
	}
	if len(r.Ladders) == 0 && r.Matrix == nil && len(r.AllReduces) > 0 {
		f.Fix = check.ByUser("Use a job with GPUs whose image has nccl-tests with MPI, or PyTorch.",
			"railhead deploy JOB --image IMAGE")
	}
	return []check.Finding{f}
}

// measured reports whether any part of the result can be judged.
func (r result) measured() bool {
	judged := func(l bench.PairLadder) bool { return l.State == check.Pass || l.State == check.Fail }
	ran := func(run bench.AllReduceRun) bool { return run.Failed != "" || len(run.Sizes) > 0 }
	return slices.ContainsFunc(r.Ladders, judged) || slices.ContainsFunc(r.AllReduces, ran) ||
		r.matrixMeasured() && (len(r.Attribution.Culprits) > 0 || len(r.unrated()) == 0)
}

func (r result) matrixMeasured() bool {
	return r.Matrix != nil && r.Attribution != nil && r.Attribution.Links > 0
}

// unrated returns the names of the rails whose links have no target: equal links may all be slow.
func (r result) unrated() (names []string) {
	for _, rail := range r.Matrix.Rails {
		if rail.Ceiling <= 0 && r.MinGbps <= 0 {
			names = append(names, rail.Name)
		}
	}
	return names
}

// skipped lists the parts that were not measured.
func (r result) skipped() []check.Evidence {
	var evidence []check.Evidence
	add := func(source, got string) { evidence = append(evidence, check.Evidence{Source: source, Got: got}) }
	for _, run := range r.AllReduces {
		add(runRef(run).String(), "skipped: "+run.Skipped)
	}
	for _, why := range r.Skipped {
		add("skipped", why)
	}
	for _, l := range r.Ladders {
		for _, s := range l.Steps {
			if s.Skipped != "" {
				add(string(s.Name), "skipped: "+s.Skipped)
			}
		}
	}
	return evidence
}
