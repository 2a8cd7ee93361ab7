package story

import (
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
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
		NCCLVersion: run.version(), Ranks: run.ranks(), Nodes: run.nodes(),
		Network: run.network, Traffic: run.traffic.Traffic, GPUDirect: run.gpuDirect, GPUReason: run.gpuReason,
		Differences: run.differences(),
	}
	r.Outcome = run.outcome()
	run.result = r.Outcome
	r.Causes = run.causes()
	r.Victims = run.victims(r.Causes)
	r.Summary = run.summary(r)
	return r
}
