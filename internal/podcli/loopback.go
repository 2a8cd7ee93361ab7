package podcli

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench/perftest"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
)

// RailLoopback is what the preflight asks of every rail.
const RailLoopback check.ID = "rail-loopback"

const loopbackTool = "ib_write_bw"

// loopbackWords are those of both ends: the device, the port and the slot of the GID table that NCCL uses. 13 MB last a
// third of a millisecond at 400 Gb/s, and a second over Soft-RoCE in an emulated machine.
func loopbackWords(p nccl.Path) string {
	words := fmt.Sprintf("-d %s -i %d -F --report_gbits -s 65536 -n 200", p.Rail.Device, p.Rail.Port)
	if p.GID >= 0 {
		words += fmt.Sprintf(" -x %d", p.GID)
	}
	return words
}

var loopbackFix = &check.Fix{
	Text:     "Ask railhead-pod doctor; then try it by hand in this container, as the page of the check shows.",
	Commands: []string{"railhead-pod doctor"}, Who: check.User,
}

// judgeLoopback says how a rail came through. A rate is told, not judged: without the processors next to the card it is a
// sixth of what the card can (Azure/azurehpc-health-checks issue 46).
func judgeLoopback(p nccl.Path, l *launch.Trial) check.Finding {
	f := check.Finding{Check: RailLoopback, Subject: check.Subject(p.Rail.Name()), Fix: loopbackFix}
	text := ""
	if f.Status, text = cameThrough(p, l); f.Status == check.Pass {
		f.Summary = "loopback " + text
	} else {
		f.Summary = fmt.Sprintf("%s %s: %s", loopbackTool, loopbackWords(p), text)
	}
	return f
}

// cameThrough says what a rail carried, or why it carried nothing.
func cameThrough(p nccl.Path, l *launch.Trial) (check.Status, string) {
	gbps, ended := perftest.Bandwidth(l.Text)
	switch {
	case gbps > 0:
		text := fmt.Sprintf("%.4g Gb/s", gbps)
		if rate := p.Rail.Rate.Value.Gbps; rate > 0 {
			text += fmt.Sprintf(" of %.4g", rate)
		}
		return check.Pass, text
	case ended:
		return check.Fail, "it ended, but nothing came through"
	case l.Hung && l.Peer != "" && l.Text != "":
		return check.Unknown, fmt.Sprintf("it did not try this rail within %s", preflightLimit)
	case l.Hung:
		return check.Fail, fmt.Sprintf("it hangs: nothing came through within %s", preflightLimit)
	case l.Err != nil:
		return check.Unknown, l.Err.Error()
	}
	why := fmt.Sprintf("exit code %d: %s", l.Code, lastLines(l.Text))
	if l.Code == launch.NotFound || l.Code == launch.CannotInvoke { // they are the dynamic loader's, too
		return check.Unknown, why
	}
	return check.Fail, why
}

// lastLines are the last that a tool wrote: the cause comes first, what follows from it last. Behind them stands perftest's
// table, which was kept back until it ended.
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
