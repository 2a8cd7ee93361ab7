package bench

import (
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// gaps returns a check that reports the ladders whose first gap is at a step.
func gaps(name bench.StepName) func(result) []check.Finding {
	return func(r result) []check.Finding {
		var findings []check.Finding
		for _, l := range r.Ladders {
			if l.Gap != nil && l.Gap.Step.Name == name {
				findings = append(findings, r.gap(l))
			}
		}
		return findings
	}
}

func (r result) gap(l bench.PairLadder) check.Finding {
	s := l.Gap.Step
	id, fix := stepFix(s.Name)
	f := check.Finding{
		Check: id, Status: check.Fail, Subject: r.pair(l), Summary: r.summary(*l.Gap), Fix: fix,
		Evidence: []check.Evidence{r.evidence(s)},
	}
	for _, earlier := range l.Steps {
		if earlier.Name == s.Name {
			break
		}
		if _, known := earlier.Efficiency(); known {
			f.Evidence = append(f.Evidence, r.evidence(earlier))
		}
	}
	return f
}

func (r result) evidence(s bench.Step) check.Evidence {
	got := s.Failed
	if got == "" {
		got = s.Measured.Value.String()
	}
	return check.Evidence{Source: string(s.Name), Got: got, Want: r.target(s)}
}

func (r result) pair(l bench.PairLadder) check.Ref {
	from, to := r.Pods[l.From.Pod], r.Pods[l.To.Pod]
	text := from.Place() + " > " + to.Place()
	if l.From.Rail < len(from.Rails) {
		text += " rail " + from.Rails[l.From.Rail].Name
	}
	return check.Named(check.Measured, text)
}

func (r result) summary(g bench.Gap) string {
	s := g.Step
	switch {
	case s.Failed != "":
		return fmt.Sprintf("%s: %s. At fault: %s", s.Name, s.Failed, g.Layer)
	case s.Ceiling > 0:
		return fmt.Sprintf("%s: %s, %.0f %% of the %s that the %s allows. At fault: %s",
			s.Name, s.Measured.Value, 100*g.Efficiency, s.Ceiling, s.By, g.Layer)
	}
	return fmt.Sprintf("%s: %s, but %s is required. At fault: %s", s.Name, s.Measured.Value, r.MinGbps, g.Layer)
}

// stepFix returns the check that reports a gap at a step, and its fix.
func stepFix(name bench.StepName) (check.ID, *check.Fix) {
	switch name {
	case bench.WriteGPU:
		return GPUDirect, check.ByAdmin("Check the path between GPU and NIC: ACS on the PCIe bridges, the IOMMU, "+
			"peer memory or DMA-BUF, and whether a GPU is near the NIC.", "railhead doctor NAME --nodes",
			"nvidia-smi topo -m")
	case bench.AllRails:
		return Rails, check.ByAdmin("Find out what the rails share: `--matrix` shows whether it is this node; then "+
			"check the PCIe switch, the CPU socket and the leaf's uplinks.", "railhead bench NAME --matrix",
			"nvidia-smi topo -m")
	case bench.NCCLRing, bench.NCCLOwn:
		return NCCL, check.ByUser("The rails have the bandwidth and NCCL does not use it: check which rails its "+
			"channels use, and whether they use GPUDirect RDMA.", explainCommand)
	}
	return Link, check.ByAdmin("Check the port, the slot and the path; `--matrix` shows which end is at fault.",
		"railhead doctor NAME --nodes", "railhead bench NAME --matrix")
}

const explainCommand = "railhead launch NAME -e NCCL_DEBUG=INFO -- COMMAND 2>&1 | railhead explain -"
