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
func judgeLoopback(p nccl.Path, l *launch.Loopback) check.Finding {
	f := check.Finding{Check: RailLoopback, Status: check.Fail, Subject: check.Subject(p.Rail.Name()), Fix: loopbackFix}
	why := "it ended, but nothing came through"
	gbps, ended := perftest.Bandwidth(l.Text)
	switch {
	case gbps > 0:
		f.Status, f.Summary = check.Pass, fmt.Sprintf("loopback %.4g Gb/s", gbps)
		if rate := p.Rail.Rate.Value.Gbps; rate > 0 {
			f.Summary += fmt.Sprintf(" of %.4g", rate)
		}
		return f
	case ended:
	case l.Hung:
		why = fmt.Sprintf("it hangs: nothing came through within %s", preflightLimit)
	case l.Err != nil:
		f.Status, why = check.Unknown, l.Err.Error()
	default:
		if l.Code == launch.NotFound || l.Code == launch.CannotInvoke { // they are the dynamic loader's, too
			f.Status = check.Unknown
		}
		why = fmt.Sprintf("exit code %d: %s", l.Code, lastLines(l.Text))
	}
	f.Summary = fmt.Sprintf("%s %s: %s", loopbackTool, loopbackWords(p), why)
	return f
}

// lastLines are the last that a tool wrote: the cause comes first, what follows from it last.
func lastLines(text string) string {
	const most = 4
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-most):]
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
