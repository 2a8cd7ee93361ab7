package podcli

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench/perftest"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
)

// RailLoopback is the check that the preflight makes of every rail.
const RailLoopback check.ID = "rail-loopback"

const loopbackTool = "ib_write_bw"

// loopbackOptions are the options of both ends: device, port, and the GID index that NCCL uses. 13 MB take a third of a
// millisecond at 400 Gb/s, and a second over Soft-RoCE in an emulated machine.
func loopbackOptions(p nccl.Path) string {
	options := fmt.Sprintf("-d %s -i %d -F --report_gbits -s 65536 -n 200", p.Rail.Device, p.Rail.Port)
	if p.GID >= 0 {
		options += fmt.Sprintf(" -x %d", p.GID)
	}
	return options
}

var loopbackFix = &check.Fix{
	Text:     "Run railhead-pod doctor. Then repeat the test by hand, as the page of this check shows.",
	Commands: []string{"railhead-pod doctor"},
	Who:      check.User,
}

// judgeLoopback judges whether data was transferred. The rate is only reported: without the processors next to the card
// it is a sixth of what the card can do (Azure/azurehpc-health-checks issue 46).
func (r railTest) judgeLoopback(p nccl.Path, t *podrun.Trial) check.Finding {
	f := check.Finding{Check: RailLoopback, Subject: check.RailRef(p.Rail.Name()), Fix: loopbackFix}
	text := ""
	if f.Status, text = r.transferred(p, t); f.Status == check.Pass {
		f.Summary = "loopback " + text
	} else {
		f.Summary = fmt.Sprintf("%s %s: %s", loopbackTool, loopbackOptions(p), text)
	}
	return f
}

// transferred returns the rate of a transfer, or why there was none.
func (r railTest) transferred(p nccl.Path, t *podrun.Trial) (check.Status, string) {
	gbps, ended := perftest.Bandwidth(t.Text)
	switch {
	case gbps > 0:
		text := fmt.Sprintf("%.4g Gb/s", gbps)
		if rate := p.Rail.Rate.Value.Gbps; rate > 0 {
			text += fmt.Sprintf(" of %.4g", rate)
		}
		return check.Pass, text
	case ended:
		return check.Fail, "it ended, but no data was transferred"
	case t.Hung && t.Peer != "" && t.Text != "":
		return check.Unknown, fmt.Sprintf("it did not test this rail within %s", r.limit)
	case t.Hung:
		return check.Fail, fmt.Sprintf("it hangs: no data was transferred within %s", r.limit)
	case t.Err != nil:
		return check.Unknown, t.Err.Error()
	}
	why := fmt.Sprintf("exit code %d: %s", t.Code, lastLines(t.Text))
	if t.Code == exit.NotFound || t.Code == exit.CannotInvoke { // also codes of the dynamic loader
		return check.Unknown, why
	}
	return check.Fail, why
}

// lastLines returns the last lines of a tool's output, which have the cause. perftest prints its table behind them.
func lastLines(text string) string {
	const most = 4
	if cause, _, table := strings.Cut(text, "-----"); table && strings.TrimSpace(cause) != "" {
		text = cause
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-most):]
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
