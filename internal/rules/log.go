package rules

import (
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
)

// Log tells the story of what was read. Machines are snapshots of the machines or pods that the ranks ran on, where there are
// any: their facts decide between candidates that the log alone cannot tell apart. There is always at least one run.
func Log(log nccllog.Log, machines ...host.Snapshot) Story {
	story := Story{SchemaVersion: StorySchema}
	for i := range log.Runs {
		story.Runs = append(story.Runs, newView(log.Runs[i], machines).run())
	}
	if len(log.Runs) == 0 {
		story.Runs = append(story.Runs, newView(nccllog.Run{}, machines).run())
	}
	return story
}

// run judges one run. What is judged first is used by what comes after it.
func (v *view) run() Run {
	v.judgeFailures()
	v.judgeNetwork()
	v.judgeGPUDirect()
	r := Run{
		NCCLVersion: v.version(), Ranks: v.ranks(), Nodes: v.nodes(),
		Network: v.network, GPUDirect: v.gpuDirect, GPUReason: v.gpuReason,
		Differences: v.differences(),
	}
	r.Outcome = v.outcome()
	v.result = r.Outcome
	r.Causes = v.causes()
	r.Victims = v.victims(r.Causes)
	r.Summary = v.summary(r)
	return r
}
