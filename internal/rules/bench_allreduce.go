package rules

import (
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// transports are the runs whose numbers are of another network than they were to be, or of one that nobody knows.
func transports(b benched) []check.Finding {
	var findings []check.Finding
	for _, run := range b.AllReduces {
		if run.Failed == "" || len(run.Sizes) == 0 {
			continue
		}
		findings = append(findings, check.Finding{
			Check: BenchTransport, Status: check.Fail, Subject: runSubject(run), Summary: run.Failed,
			Evidence: []check.Evidence{{Source: "NCCL's log", Got: run.Network, Want: run.Mode}, {Source: "a line of it", Got: orNothing(run.Proof)}, {Source: "port_xmit_data", Got: portBytes(run)}},
			Fix: &check.Fix{Text: "See why NCCL chose it: the pods' own variables, or rails that are not there.", Who: check.User, Commands: []string{
				"railhead doctor NAME", "railhead launch NAME -e NCCL_DEBUG=INFO -- COMMAND 2>&1 | railhead explain -",
			}},
		})
	}
	return findings
}

func runSubject(run bench.AllReduceRun) check.Ref {
	text := run.Mode
	if run.Algorithm != "" {
		text += "/" + run.Algorithm
	}
	return check.Named(check.AllReduce, text)
}

func portBytes(run bench.AllReduceRun) string {
	if run.PortBytes < 0 {
		return "not to be seen in the pods"
	}
	return bytesText(run.PortBytes)
}

func orNothing(text string) string {
	if text == "" {
		return "none that names a network"
	}
	return text
}

// allReduces are the runs that gave no number, and those of a ring that fall short, where no ladder holds them.
func (b benched) allReduces() []check.Finding {
	var findings []check.Finding
	for _, run := range b.AllReduces {
		if run.Failed != "" && len(run.Sizes) == 0 {
			findings = append(findings, check.Finding{
				Check: BenchNCCL, Status: check.Fail, Subject: runSubject(run), Summary: "the all-reduce failed: " + run.Failed,
				Evidence: []check.Evidence{{Source: run.Tool, Got: run.Failed}},
				Fix:      &check.Fix{Text: "See what the job's own command says.", Who: check.User, Commands: []string{"railhead doctor NAME --logs"}},
			})
			continue
		}
		if run.Mode != "rdma" || len(b.Ladders) > 0 {
			continue
		}
		step := run.Step(b.rails())
		if short, judged := b.gate().Short(step.Measured.Value, step.Ceiling, step.Rails); judged && short && step.Name == bench.NCCLRing {
			efficiency, _ := step.Efficiency()
			findings = append(findings, check.Finding{
				Check: BenchNCCL, Status: check.Fail, Subject: runSubject(run), Fix: stepFix(bench.NCCLRing),
				Summary:  fmt.Sprintf("busbw %s, %.0f %% of the %s that the rails carry", step.Measured.Value.GBps(), 100*efficiency, run.Ceiling),
				Evidence: []check.Evidence{{Source: run.Tool, Got: step.Measured.Value.String(), Want: b.want(step)}},
			})
		}
	}
	return findings
}

func (b benched) rails() int {
	if len(b.Pods) == 0 {
		return 0
	}
	return len(b.Pods[0].Rails)
}
