package explain

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

var steps = []string{"step 1 | loss 3.1", "step 2 | loss 3.0", "step 3 | loss 2.9", "step 4 | loss 2.8"}

// TestDeviceEvents: what an event of a device does to a run depends on the event, and on whether the run went on. Only
// a port that is down makes it slower.
func TestDeviceEvents(t *testing.T) {
	const ib = "NET/IB : mlx5_0:1 "
	timeout := completed(2, 12, "10.0.0.1")
	for name, c := range map[string]struct {
		event   string
		ends    string // the last line; "": training goes on
		outcome story.Outcome
		cause   story.CauseID // "" if there is none
	}{
		"a port that went down": {ib + "Got non-fatal async event: port error(10)", "", story.OutcomeDegraded,
			story.PortError},
		"GIDs that changed":             {ib + "GID table changed", "", story.OutcomeOK, ""},
		"GIDs that changed, NCCL 2.22":  {ib + "Got async event : GID table change", "", story.OutcomeOK, ""},
		"GIDs that changed, and a loss": {ib + "GID table changed", timeout, story.OutcomeFail, story.GIDIndex},
		"a partition that changed":      {ib + "Got non-fatal async event: P_Key change(12)", "", story.OutcomeOK, ""},
		"a subnet manager that changed": {ib + "Got non-fatal async event: SM change(13)", "", story.OutcomeOK, ""},
		"a device that broke, NCCL 2.22": {ib + "Got async event : local catastrophic error", timeout,
			story.OutcomeFail, story.QPAsyncFatal},
		"a queue pair that broke": {ib + "async fatal event on QP (0x7): local work queue catastrophic error",
			timeout, story.OutcomeFail, story.QPAsyncFatal},
		"an event of a later NCCL": {ib + "Got non-fatal async event: cable too long(77)", "", story.OutcomeUnknown,
			story.UnknownCause},
	} {
		lines := append(twoByTwo(), warned(2, c.event))
		if c.ends == "" {
			lines = append(lines, steps...)
		} else {
			lines = append(lines, c.ends)
		}
		run := ofLines("train.log", lines).Last()
		if run.Outcome != c.outcome || (len(run.Causes) == 0) != (c.cause == "") ||
			c.cause != "" && run.Causes[0].ID != c.cause {
			t.Errorf("%s: want %s %q, got %s: %s %+v", name, c.outcome, c.cause, run.Outcome, run.Summary, run.Causes)
		}
	}
}

// TestGivenUp: lines that follow from a failure show that something failed, also where the log has nothing else, unless
// the program ended its communicators or went on.
func TestGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		after   []string
		outcome story.Outcome
	}{
		"nothing":  {nil, story.OutcomeUnknown},
		"training": {steps, story.OutcomeOK},
		"the program end": {[]string{"gpu-b:42:9 [0] NCCL INFO comm 0x5 rank 2 nranks 4 - Destroy COMPLETE"},
			story.OutcomeOK},
	} {
		for _, line := range []string{"communicator encountered a fatal error (detected in ncclIbTest)",
			"[Proxy Service 2] Failed to execute operation Connect from rank 2, retcode 3",
			"Failed to CUDA malloc 8 bytes",
			"Comm 0x5 is in abort state"} {
			lines := slices.Concat(twoByTwo(), []string{warned(2, line)}, c.after)
			if run := ofLines("train.log", lines).Last(); run.Outcome != c.outcome {
				t.Errorf("%q, then %s: want %s, got %s: %s", line, name, c.outcome, run.Outcome, run.Summary)
			}
		}
	}
}

// TestLostLater: a connection that had worked is lost by a link or a peer rather than for want of a route.
func TestLostLater(t *testing.T) {
	lost := completed(2, 12, "10.0.0.1")
	for name, c := range map[string]struct {
		lines      []string
		confidence story.Confidence
		others     bool
	}{
		"at first":    {append(twoByTwo(), lost), story.Likely, false},
		"after steps": {append(append(twoByTwo(), steps...), lost), story.Possible, true},
	} {
		run := ofLines("train.log", c.lines).Last()
		has := func(id story.CauseID) bool {
			return slices.ContainsFunc(run.Causes, func(c story.Cause) bool { return c.ID == id })
		}
		if first := run.Causes[0]; first.ID != story.RouteOrARP || first.Confidence != c.confidence ||
			has(story.PortError) != c.others || has(story.PeerDied) != c.others {
			t.Errorf("%s: %+v", name, run.Causes)
		}
	}
}

// TestLostByItsDevice: an event of the device explains a connection that had worked better than all that is possible.
func TestLostByItsDevice(t *testing.T) {
	moved := warned(2, "NET/IB : mlx5_0:1 GID table changed")
	lines := slices.Concat(twoByTwo(), steps, []string{moved, completed(2, 12, "10.0.0.1")})
	first := ofLines("train.log", lines).Last().Causes[0]
	if first.ID != story.GIDIndex || first.Confidence != story.Likely {
		t.Errorf("%+v", first)
	}
}

// TestAdvice: RCCL warns of settings of the machine before each run, also before one that nothing is wrong with.
func TestAdvice(t *testing.T) {
	const passthrough = `Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!`
	advice := []string{warned(2, passthrough), warned(3, "NUMA auto balancing enabled which can lead to variability "+
		`in the RCCL performance! Disable by "sudo sysctl kernel.numa_balancing=0"`)}
	run := ofLines("train.log", slices.Concat(advice, twoByTwo(), steps)).Last()
	if run.Outcome != story.OutcomeOK || len(run.Causes) > 0 {
		t.Errorf("%s: %s", run.Outcome, run.Summary)
	}
	run = ofLines("train.log", slices.Concat(advice, twoByTwo(), []string{completed(2, 12, "10.0.0.1")})).Last()
	if last := run.Causes[len(run.Causes)-1]; run.Causes[0].ID != story.RouteOrARP || last.ID != story.ACSIOMMU {
		t.Errorf("%s: %+v", run.Outcome, run.Causes)
	}
}
