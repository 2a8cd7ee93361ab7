package story

import (
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// Tell judges a log. The facts of machines, where there are any, decide between causes that look the same in a log. The
// story has at least one run.
func Tell(log nccllog.Log, machines ...host.Snapshot) Story {
	story := Story{SchemaVersion: StorySchema}
	for i := range log.Runs {
		story.Runs = append(story.Runs, newTeller(log.Runs[i], machines).run())
	}
	if len(log.Runs) == 0 {
		story.Runs = append(story.Runs, newTeller(nccllog.Run{}, machines).run())
	}
	return story
}

func (run *teller) run() Run {
	r := Run{
		NCCLVersion: run.version(), Ranks: run.size, Nodes: run.nodes(),
		Network: run.network, Traffic: run.traffic.Traffic, GPUDirect: run.gpuDirect, GPUReason: run.gpuReason,
		Ended: run.destroyed() || run.log.Tests.Finished.Text != "", Differences: run.differences(),
	}
	r.Outcome = run.outcome()
	run.result = r.Outcome
	r.Causes = run.causes()
	r.Victims = run.victims(r.Causes)
	r.Survived = quotes(run.survived...)
	r.Variables = run.variablesToSet(r)
	r.Summary = run.summary(r)
	return r
}

// variablesToSet returns the variables with which the next log tells what this one does not: the network, the outcome
// or the cause, and which rank a collective waits for (PyTorch's ProcessGroupNCCL.hpp).
func (run *teller) variablesToSet(r Run) []string {
	var set []string
	first := CauseID("")
	if len(r.Causes) > 0 {
		first = r.Causes[0].ID
	}
	if first == UnknownCause || r.Outcome == OutcomeUnknown || r.Network.Transport == UnknownTransport {
		set = append(set, NCCLVariables()...)
	}
	if first == HangTimeout && run.has(event.Watchdog) {
		set = append(set, "TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_DUMP_ON_TIMEOUT=1")
	}
	return set
}

// NCCLVariables returns the variables, as NAME=value, with which NCCL logs all that a story is told from. Channels and
// GPUDirect need the parts NET and GRAPH, which it does not log by default (NCCL_DEBUG_SUBSYS in src/debug.cc).
func NCCLVariables() []string {
	return []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH"}
}
