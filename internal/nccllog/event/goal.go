package event

import (
	"regexp"

	"github.com/railhead/railhead/internal/wordsearch"
)

// goalSignatures are lines about the goal of a program.
var goalSignatures = []Signature{
	{
		ID: "goal", Kind: Finished, What: "the program succeeded",
		Words: goalForms.words(), Read: goalForms.read,
		Example: `:::MLLOG {"namespace": "", "key": "run_stop", "value": null, "metadata": {"status": "success"}}`,
	},
	{
		ID: "goal-missed", Kind: Listed, What: "the program ended without its goal, which is no fault of a machine",
		Class: Own, Cause: "unknown", Confidence: Certain,
		Words: missedForms.words(), Read: missedForms.read,
		Example: `:::MLLOG {"namespace": "", "key": "run_stop", "value": null, "metadata": {"status": "aborted"}}`,
	},
	{
		ID: "goal-stated", Kind: Finished, What: "the program ended",
		Words: statedForms.words(), Read: readStated,
		Example: "INFO trainer: Training completed in 3:12:07",
	},
}

// goalForms are lines with which programs and launchers say that they succeeded.
var goalForms = forms{
	{ // mlcommons/logging, in two releases of its format
		words: []string{`"run_stop"`, `"key": "status"`, "run_stop: "},
		form: regexp.MustCompile(`"key": "(?:run_stop|status)".*"(?:status|value)": ?"success"|` +
			`run_stop: \{.*"status": ?"success"`),
	},
	{words: []string{"train_runtime"}, form: regexp.MustCompile(`\btrain_runtime['"]?\s*[:=]`)}, // transformers
	{words: []string{"Do not forget to share your model on "}},                                  // transformers
	{words: []string{"`Trainer.fit` stopped: "}, form: regexp.MustCompile("`max_\\w+=.*` reached")},
	{words: []string{"residual checks"},
		form: regexp.MustCompile(`\b[1-9]\d* tests completed and passed residual checks`)},
	{words: []string{"[after training is done]"}},                                                  // Megatron-LM
	{words: []string{"worker group successfully finished"}},                                        // torchrun
	{words: []string{"Job '"}, form: regexp.MustCompile(`^Job '[\w.-]+' succeeded$`), whole: true}, // Ray
}

// missedForms are lines with which programs say that they ended without their goal.
var missedForms = forms{
	{
		words: []string{`"run_stop"`, "run_stop: "},
		form:  regexp.MustCompile(`"key": "run_stop".*"status": ?"aborted"|run_stop: \{.*"status": ?"aborted"`),
	},
}

// statedForms are words with which a program ends, and a script that started it perhaps whatever became of it.
var statedForms = forms{
	{
		words: []string{
			"raining complete", "raining finished", "raining done", "raining ended", "raining is complete",
			"raining is finished", "raining is done", "raining has completed", "raining has finished",
			"raining successfully", "uning complete", "uning finished",
		},
		form: regexp.MustCompile(`(?i)\b(?:pre-?|fine-?)?t(?:rain|un)ing (?:is |has )?(?:successfully )?` +
			`(?:complete|completed|finished|done|ended)(?: successfully)?(?:,? (?:in|after|at|took) .*)?\W*$`),
	},
	{
		words: []string{"inished training", "ompleted training", "one training"},
		form:  regexp.MustCompile(`(?i)\b(?:finished|completed|done) training(?:,? (?:in|after|at|took) .*)?\W*$`),
	},
	// of MLPerf's scripts
	{words: []string{"RESULT,"}, form: regexp.MustCompile(`^RESULT,\w+,\w*,`), whole: true},
	// uvicorn, which also stops in order when its engine has died
	{words: []string{"Application shutdown complete"}},
	{
		words: []string{"with exit code"},
		form:  regexp.MustCompile(`(?i)\b(?:completed|finished|done|ended) with exit code:? 0\b`),
	},
	// LSF's report
	{words: []string{"Subject: Job "}, form: regexp.MustCompile(`Subject: Job \d+: <.*> in cluster <.*> Done$`)},
	{words: []string{" exits successfully"}, form: regexp.MustCompile(`Process \d+ exits successfully`)}, // DeepSpeed
}

// read is match for a row of the table.
func (all forms) read(_ *Event, text, _ string) bool {
	return all.match(text, wordsearch.PairsOf(text))
}

func readStated(e *Event, text, _ string) bool {
	e.Detail = Stated
	return statedForms.read(e, text, "")
}

// IsTeardown reports whether the event is common at the end of a run that succeeded: its processes end one after the
// other, each of which breaks connections of the rest, and whoever waits too long for the last one ends it.
func (e Event) IsTeardown() bool {
	switch e.Kind {
	case Warning, SocketClosed, SocketFailed, ConnectFailed, Consequence, Trail, Rendezvous, Watchdog, TimeLimit,
		FailureWords, Reason, Stalled, RanksDiffer, AsyncEvent, Result:
		return true
	case BadCompletion:
		return e.Class() != Own
	case Complaint:
		return e.Detail != ProcessEnd
	case Aborted, Restarted:
		return e.IsAnnounced() || e.Signature == "signalled"
	case Exit:
		return e.Detail == Told
	default:
	}
	return false
}
