// Package explain judges what logs of NCCL show: the network that a run used, how it ended, why, and which ranks failed
// first.
package explain

import (
	"github.com/railhead/railhead/internal/explain/causes"
	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/explain/network"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// Machine is a machine or a pod of the run, as its checks judged it.
type Machine = causes.Machine

// Log judges a log. The checks of machines, if there are any, decide between causes that look the same in a log. The
// story has at least one run.
func Log(log nccllog.Log, machines ...Machine) story.Story {
	told := story.Story{SchemaVersion: story.StorySchema}
	for _, run := range log.Runs {
		told.Runs = append(told.Runs, judge(run, machines))
	}
	if len(log.Runs) == 0 {
		told.Runs = append(told.Runs, judge(nccllog.Run{}, machines))
	}
	return told
}

func judge(log nccllog.Run, machines []Machine) story.Run {
	run := facts.Of(log)
	failed := failures.Of(run)
	use := network.Of(failed)
	outcome, found := causes.Of(failed, use, machines)
	r := story.Run{
		NCCLVersion: run.Version(), Ranks: run.Size, Nodes: run.Nodes(),
		Network: use.Network, Traffic: use.Traffic, GPUDirect: use.GPUDirect, GPUReason: use.GPUReason,
		Outcome: outcome, Ended: run.Destroyed() || log.Finished.Text != "", Causes: found,
		Victims: failures.Victims(failed, found), Survived: facts.Quotes(failed.Survived...),
		Differences: facts.Differences(run),
	}
	if log.Finished.Text != "" && log.Finished.Detail != event.Partial {
		r.Finished = new(facts.EvidenceOf(log.Finished.Quote))
	}
	r.Variables = variablesToSet(run, r)
	late := len(failed.Failures) > 0 && facts.FailedAfterGoal(run, failed.Failures[0])
	r.Summary = summary(r, late)
	return r
}

// variablesToSet returns the variables with which the next log tells what this one does not: the network, the outcome
// or the cause, and which rank a collective waits for (PyTorch's ProcessGroupNCCL.hpp).
func variablesToSet(run *facts.Run, r story.Run) []string {
	var set []string
	first := story.CauseID("")
	if len(r.Causes) > 0 {
		first = r.Causes[0].ID
	}
	if first == story.UnknownCause || r.Outcome == story.OutcomeUnknown ||
		r.Network.Transport == story.UnknownTransport {
		set = append(set, story.NCCLVariables()...)
	}
	if first == story.HangTimeout && run.Has(event.Watchdog) {
		set = append(set, "TORCH_NCCL_TRACE_BUFFER_SIZE=2000", "TORCH_NCCL_DUMP_ON_TIMEOUT=1")
	}
	return set
}
