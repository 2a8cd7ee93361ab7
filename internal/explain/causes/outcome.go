package causes

import (
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// outcome judges how the run ended, or how it goes.
func outcome(in *input) story.Outcome {
	switch {
	case len(in.seq.Failures) > 0:
		return story.OutcomeFail
	case len(failures.StillRetrying(in.run)) > 0, len(leftOpen(in)) > 0:
		return story.OutcomeUnknown
	case in.use.Network.Kind == story.Socket && (in.run.Nodes() != 1 || !in.use.Alone):
		return story.OutcomeFallback
	case worse(in):
		return story.OutcomeDegraded
	case failures.NeverBegan(in.run):
		return story.OutcomeUnknown
	case recognised(in.run):
		return story.OutcomeOK
	}
	return story.OutcomeUnknown
}

func worse(in *input) bool {
	return len(degradations(in)) > 0 || in.use.Uneven
}

// recognised reports whether the log is of a training or of NCCL at all.
func recognised(run *facts.Run) bool {
	return len(run.Log.Ranks) > 0 || run.Log.Trained >= nccllog.Trained || run.Log.Tests.Ranks > 0 ||
		run.Log.Version != "" || run.Log.Finished.Text != ""
}

// leftOpen returns what is unexplained. In a run over TCP what was said before NCCL chose TCP is the reason, and words
// of a failure without a level count less than the fallback.
func leftOpen(in *input) []event.Event {
	return slices.DeleteFunc(failures.Unexplained(in.run), func(e event.Event) bool {
		weak := e.Kind == event.OFINoProvider || e.Kind == event.FailureWords
		chosen := e.Rank >= 0 && in.run.Log.Ranks[e.Rank].ChosenAt > e.Seq
		return in.use.Network.Kind == story.Socket && (weak || chosen)
	})
}
