package benchrules

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// transports reports the runs that did not provably use the network of their mode. Their numbers do not count.
func transports(r result) []check.Finding {
	var findings []check.Finding
	for _, run := range r.AllReduces {
		if run.Failed == "" || len(run.Sizes) == 0 {
			continue
		}
		sent := "not visible in the pods"
		if run.PortBytes >= 0 {
			sent = words.Bytes(run.PortBytes)
		}
		findings = append(findings, check.Finding{
			Check: Transport, Status: check.Fail, Subject: runRef(run), Summary: run.Failed,
			Evidence: []check.Evidence{
				{Source: "NCCL's log", Got: run.Network, Want: run.Mode},
				{Source: "line of the log", Got: cmp.Or(run.Proof, "none that names a network")},
				{Source: "port_xmit_data", Got: sent},
			},
			Fix: check.ByUser("Find out why NCCL chose that network: a variable in the pods, or missing rails.",
				"railhead doctor NAME", explainCommand),
		})
	}
	return findings
}

func runRef(run bench.AllReduceRun) check.Ref {
	text := run.Mode
	if run.Algorithm != "" {
		text += "/" + run.Algorithm
	}
	return check.Named(check.AllReduce, text)
}

// allReduces reports the runs without a number, and rings that miss their target and are in no ladder.
func allReduces(r result) []check.Finding {
	rails := 0
	if len(r.Pods) > 0 {
		rails = len(r.Pods[0].Rails)
	}
	var findings []check.Finding
	for _, run := range r.AllReduces {
		f := check.Finding{Check: NCCL, Status: check.Fail, Subject: runRef(run)}
		step := run.Step(rails)
		short, judged := r.gate().Short(step.Measured.Value, step.Ceiling, step.Rails)
		switch {
		case run.Failed != "" && len(run.Sizes) == 0:
			f.Summary = "the all-reduce failed: " + run.Failed
			f.Evidence = []check.Evidence{{Source: run.Tool, Got: run.Failed}}
			f.Fix = check.ByUser("Read the output of the job's own command.", "railhead doctor NAME --logs")
		case run.Mode == "rdma" && len(r.Ladders) == 0 && step.Name == bench.NCCLRing && judged && short:
			efficiency, _ := step.Efficiency()
			f.Summary = fmt.Sprintf("busbw %s, %.0f %% of the %s that the rails carry",
				step.Measured.Value.GBps(), 100*efficiency, run.Ceiling)
			f.Evidence = check.Observed(run.Tool, step.Measured.Value.String(), r.target(step))
			_, f.Fix = stepFix(bench.NCCLRing)
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}
