package rules

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// Checks of a bench, from the wire up.
const (
	BenchMeasured  check.ID = "bench-measured"
	BenchFabric    check.ID = "bench-fabric"
	BenchLoopback  check.ID = "bench-loopback"
	BenchLink      check.ID = "bench-link"
	BenchGPUDirect check.ID = "bench-gpudirect"
	BenchRails     check.ID = "bench-rails"
	BenchCrossRail check.ID = "bench-cross-rail"
	BenchTransport check.ID = "bench-transport"
	BenchNCCL      check.ID = "bench-nccl"
)

// Bench judges the result of a bench, root cause first: a step is not judged where one that it builds on falls short.
func Bench(r bench.Result) []check.Finding {
	b := benched{r}
	findings := check.Run(benchChecks(), b).Findings
	for _, f := range findings {
		b.name(f.Fix)
	}
	return findings
}

// name puts the job that was measured, or else the nodes, into the commands of a fix, which can then be typed as they
// are.
func (b benched) name(f *check.Fix) {
	if f == nil || b.Namespace == "" {
		return
	}
	in := " -n " + b.Namespace
	names := strings.NewReplacer(" NAME", " "+b.Job+in)
	if b.Job == "" {
		var nodes []string
		for _, p := range b.Pods {
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

// benched is a result that is judged.
type benched struct{ bench.Result }

func (b benched) gate() bench.Gate {
	return bench.Gate{Efficiency: b.MinEfficiency, Gbps: b.MinGbps}
}

func benchChecks() []check.Check[benched] {
	step := func(names ...bench.StepName) func(benched) []check.Finding {
		return func(b benched) []check.Finding { return b.gaps(names) }
	}
	return []check.Check[benched]{
		{ID: BenchMeasured, Title: "something was measured that can be judged", Run: measured},
		{ID: BenchLoopback, Title: "every HCA moves to itself what the others do", Run: loopbacks},
		{ID: BenchFabric, Title: "no part of the fabric is slower than the rest, or than the gate", Run: slowFindings},
		{ID: BenchLink, Title: "RDMA with host memory reaches the payload ceiling", Run: step(bench.WriteHost)},
		{ID: BenchGPUDirect, Title: "RDMA with GPU memory reaches what host memory does", Needs: []check.ID{BenchLink}, Run: step(bench.WriteGPU)},
		{ID: BenchRails, Title: "all rails at once reach the sum of their ceilings", Needs: []check.ID{BenchLink}, Run: step(bench.AllRails)},
		{ID: BenchCrossRail, Title: "every rail reaches every other", Needs: []check.ID{BenchLink, BenchFabric}, Run: crossRails},
		{ID: BenchTransport, Title: "the all-reduce provably used the network that it was to use", Run: transports},
		{
			ID: BenchNCCL, Title: "NCCL's ring reaches what the rails carry", Needs: []check.ID{BenchLink, BenchGPUDirect, BenchRails, BenchTransport},
			Run: func(b benched) []check.Finding {
				return append(b.gaps([]bench.StepName{bench.NCCLRing}), b.allReduces()...)
			},
		},
	}
}

// measured says that a bench knows nothing. Unknown is never healthy.
func measured(b benched) []check.Finding {
	if b.Unfinished {
		return nil // it may yet be
	}
	for _, l := range b.Ladders {
		if l.State == check.Pass || l.State == check.Fail {
			return nil
		}
	}
	if b.Attribution != nil && b.Attribution.Links > 0 {
		return nil
	}
	for _, run := range b.AllReduces {
		if run.Failed != "" || len(run.Sizes) > 0 {
			return nil
		}
	}
	f := check.Finding{
		Check: BenchMeasured, Status: check.Unknown, Subject: subjectOf(b.Result), Summary: "nothing was measured that can be judged",
		Fix: &check.Fix{Text: "Bench in an image that has perftest.", Who: check.User, Commands: []string{"podman build -t IMAGE build/bench", "railhead bench --nodes NODE,NODE --image IMAGE"}},
	}
	if len(b.Ladders) == 0 && b.Matrix == nil && len(b.AllReduces) > 0 {
		f.Fix.Text, f.Fix.Commands = "Bench a job with GPUs whose image has nccl-tests with MPI, or PyTorch.", []string{"railhead deploy JOB --image IMAGE"}
	}
	for _, run := range b.AllReduces {
		f.Evidence = append(f.Evidence, check.Evidence{Source: runSubject(run).String(), Got: "skipped: " + run.Skipped})
	}
	for _, why := range b.Skipped {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "skipped", Got: why})
	}
	for _, l := range b.Ladders {
		for _, s := range l.Steps {
			if s.Skipped != "" {
				f.Evidence = append(f.Evidence, check.Evidence{Source: string(s.Name), Got: "skipped: " + s.Skipped})
			}
		}
	}
	return []check.Finding{f}
}

func subjectOf(r bench.Result) check.Ref {
	if r.Job != "" {
		return check.Named(check.Job, r.Job)
	}
	return check.Ref{Kind: check.Bench}
}

// gaps are the ladders whose first gap is one of the steps.
func (b benched) gaps(names []bench.StepName) []check.Finding {
	var findings []check.Finding
	for _, l := range b.Ladders {
		if l.Gap == nil {
			continue
		}
		for _, name := range names {
			if l.Gap.Step.Name == name {
				findings = append(findings, b.gap(l))
			}
		}
	}
	return findings
}

func (b benched) gap(l bench.PairLadder) check.Finding {
	s := l.Gap.Step
	f := check.Finding{
		Check: stepCheck(s.Name), Status: check.Fail, Subject: b.pair(l), Summary: b.short(*l.Gap), Fix: stepFix(s.Name),
		Evidence: []check.Evidence{{Source: string(s.Name), Got: gotOf(s), Want: b.want(s)}},
	}
	for _, other := range l.Steps {
		if other.Name == s.Name {
			break
		}
		if _, known := other.Efficiency(); known {
			f.Evidence = append(f.Evidence, check.Evidence{Source: string(other.Name), Got: gotOf(other), Want: b.want(other)})
		}
	}
	return f
}

func (b benched) pair(l bench.PairLadder) check.Ref {
	from, to := b.Pods[l.From.Pod], b.Pods[l.To.Pod]
	text := from.Place() + " > " + to.Place()
	if l.From.Rail < len(from.Rails) {
		text += " rail " + from.Rails[l.From.Rail].Name
	}
	return check.Named(check.Measured, text)
}

// short is a gap in one line.
func (b benched) short(g bench.Gap) string {
	s := g.Step
	switch {
	case s.Failed != "":
		return fmt.Sprintf("%s: %s. What is broken: %s", s.Name, s.Failed, g.Layer)
	case s.Ceiling > 0:
		return fmt.Sprintf("%s: %s, %.0f %% of the %s that the %s allows. What is short: %s", s.Name, s.Measured.Value, 100*g.Efficiency, s.Ceiling, s.By, g.Layer)
	}
	return fmt.Sprintf("%s: %s, and %s was asked for. What is short: %s", s.Name, s.Measured.Value, b.MinGbps, g.Layer)
}

func gotOf(s bench.Step) string {
	if s.Failed != "" {
		return s.Failed
	}
	return s.Measured.Value.String()
}

// want is the gate of a step.
func (b benched) want(s bench.Step) string {
	switch {
	case b.MinGbps > 0:
		return fmt.Sprintf("%s or more", b.MinGbps*bench.Gbps(max(s.Rails, 1)))
	case s.Ceiling > 0:
		return fmt.Sprintf("%.0f %% of %s, or more", 100*b.MinEfficiency, s.Ceiling)
	}
	return ""
}

// stepCheck is the check that a step's gap is found by.
func stepCheck(name bench.StepName) check.ID {
	switch name {
	case bench.WriteGPU:
		return BenchGPUDirect
	case bench.AllRails:
		return BenchRails
	case bench.NCCLRing, bench.NCCLOwn:
		return BenchNCCL
	case bench.WriteHost, bench.TCPPod, bench.TCPRail, bench.WriteLatency:
	}
	return BenchLink
}

func stepFix(name bench.StepName) *check.Fix {
	switch stepCheck(name) {
	case BenchGPUDirect:
		return &check.Fix{
			Text: "See whether GPU and NIC reach each other: ACS on the PCIe bridges, the IOMMU, peer memory or DMA-BUF, and a GPU near the NIC.", Who: check.Admin,
			Commands: []string{"railhead doctor NAME --nodes", "nvidia-smi topo -m"},
		}
	case BenchRails:
		return &check.Fix{
			Text: "See what the rails share: `--matrix` tells whether it is this node; then the PCIe switch, the processor's socket, the leaf's uplinks.", Who: check.Admin,
			Commands: []string{"railhead bench NAME --matrix", "nvidia-smi topo -m"},
		}
	case BenchNCCL:
		return &check.Fix{
			Text: "The rails carry it and NCCL does not use it: see which rails its channels go over, with GPUDirect or without.", Who: check.User,
			Commands: []string{"railhead launch NAME -e NCCL_DEBUG=INFO -- COMMAND 2>&1 | railhead explain -"},
		}
	}
	return &check.Fix{
		Text: "See whether port, slot and path are what they should be; `--matrix` tells which end it is.", Who: check.Admin,
		Commands: []string{"railhead doctor NAME --nodes", "railhead bench NAME --matrix"},
	}
}
