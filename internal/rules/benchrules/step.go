package benchrules

import (
	"fmt"
	"slices"

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

// unjudged reports the ladders whose rate is known and whose ceiling is not, beside others that are judged.
func unjudged(r result) (all []check.Finding) {
	for _, l := range r.Ladders {
		for _, s := range l.Steps {
			measured, known := s.Measured.Get()
			if s.Name != bench.WriteHost || !known || l.State != check.Unknown || !r.measured() {
				continue
			}
			all = append(all, check.Finding{
				Check: Measured, Status: check.Unknown, Subject: r.pair(l),
				Summary:  fmt.Sprintf("%s: %s, and its ceiling is unknown", s.Name, measured),
				Evidence: []check.Evidence{r.evidence(s)},
				Fix: check.ByUser("Name a target, because the rate or MTU of the rail is unknown.",
					"railhead bench NAME --min-gbps GBPS"),
			})
		}
	}
	return all
}

// latencies reports the latencies that could not be measured, on ladders without a gap that explains it.
func latencies(r result) []check.Finding {
	_, fix := stepFix(bench.WriteLatency)
	return r.failures(check.Finding{Check: Link, Status: check.Fail, Fix: fix}, bench.WriteLatency)
}

// tcpFailures reports the steps of TCP that failed beside RDMA, which does not need them.
func tcpFailures(r result) []check.Finding {
	fix := check.ByUser("Check the path of TCP: a NetworkPolicy, a firewall, a route.", "railhead bench NAME")
	return r.failures(check.Finding{Check: Measured, Status: check.Warn, Fix: fix}, bench.TCPPod, bench.TCPRail)
}

// failures completes a finding for each failed step of some names, on ladders without a gap.
func (r result) failures(f check.Finding, names ...bench.StepName) (all []check.Finding) {
	for _, l := range r.Ladders {
		for _, s := range l.Steps {
			if l.Gap == nil && s.Failed != "" && slices.Contains(names, s.Name) {
				f.Subject, f.Summary = r.pair(l), fmt.Sprintf("%s: %s", s.Name, s.Failed)
				f.Evidence = []check.Evidence{r.evidence(s)}
				all = append(all, f)
			}
		}
	}
	return all
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
