package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/nccllog"
)

// evidence gathers what the lines of all ranks show of the network.
type evidence struct {
	mu     sync.Mutex
	parser nccllog.Parser
	proof  string // the first line that says which network a channel goes over
}

func (e *evidence) scan(line []byte) {
	if !bytes.Contains(line, []byte("NCCL ")) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parser.Line(nccllog.Place{}, line)
	if e.proof == "" && bytes.Contains(line, []byte(" via NET/")) {
		e.proof = strings.TrimSpace(string(line))
	}
}

func (e *evidence) log() nccllog.Log {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.parser.Log()
}

// mostLog bounds what is read of NCCL's log in one pod: that of eight ranks has less than one MiB.
const mostLog = "8388608"

// mostWarnings bounds how many of NCCL's warnings of one pod are shown.
const mostWarnings = 20

// finish reads what NCCL logged in the pods and removes what the launch made there.
func (l *launch) finish(ctx context.Context, o outcome) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	killing := ""
	if o.code() != 0 {
		killing = "kill"
	}
	_ = l.each(func(r *rank) error { // what went wrong is told of in the report
		r.unread = l.finishRank(ctx, r, killing)
		if r.cut && r.unread != nil {
			l.screen.say("%s cannot be reached, so its processes may run on: %v", r, r.unread)
		}
		return nil
	})
}

// finishRank tries until it reaches the pod: what ran there runs on when an API server that was started again has cut its
// streams.
func (l *launch) finishRank(ctx context.Context, r *rank, killing string) error {
	for {
		reached, err := l.finishOnce(ctx, r, killing)
		if err == nil || reached || r.gone {
			return err
		}
		const again = 2 * time.Second
		select {
		case <-ctx.Done():
			return err
		case <-time.After(again):
		}
	}
}

// finishOnce reports whether the pod was reached, too: what it logged counts once.
func (l *launch) finishOnce(ctx context.Context, r *rank, killing string) (reached bool, err error) {
	dark := newScreen(io.Discard, io.Discard) // lines that are only looked at
	log := newLines(dark, &dark.out, r.rank, false, func(line []byte) {
		reached = true
		l.seen.scan(line)
		r.warn(string(line))
	})
	said := &bounded{limit: 4 << 10}
	code, err := l.pods.Exec(ctx, r.ref(), kube.ExecOptions{
		Container: r.container, Command: l.script(r, finishScript, r.dir, killing, mostLog), Stdout: log, Stderr: said,
	})
	log.Close()
	if err != nil {
		return reached, bare(err)
	}
	answer := answers(said.String())
	if dir := answer["kept"]; dir != "" {
		l.screen.say("%s: what the command wrote stays in %s", r, dir)
	}
	if pids := answer["left"]; pids != "" {
		l.screen.say("%s: processes of the command still run there: %s", r, pids)
	}
	if code != 0 {
		return true, fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(said.String()))
	}
	return true, nil
}

// warn keeps a warning of NCCL.
func (r *rank) warn(line string) {
	if strings.Contains(line, "NCCL WARN") && len(r.warnings) < mostWarnings && !slices.Contains(r.warnings, line) {
		r.warnings = append(r.warnings, line)
	}
}

// report says how the run ended; its last line is which network it used.
func (l *launch) report(o outcome) {
	switch {
	case o.left > 0:
		l.screen.say("The command has not ended in %s: its processes may run on there", count(o.left, "pod"))
	case errors.Is(o.why, errInterrupted):
		l.screen.say("Interrupted: the command has ended in all pods")
	}
	switch {
	case errors.Is(o.why, errTimeout):
		l.screen.say("The command did not end within %v", o.limit)
	case errors.Is(o.why, errNoReader):
		l.screen.say("The output could not be written, so the command was ended in all pods")
	}
	if o.first != nil {
		l.reportWarnings()
		l.reportFirst(o)
	}
	l.screen.say("Network: %s", l.network(o))
}

// reportFirst names the rank that failed first, with the end of its stderr, which those of others have moved off the screen.
func (l *launch) reportFirst(o outcome) {
	e := *o.first
	text := fmt.Sprintf("%s %s", e.rank, e.words())
	if o.failed > 1 {
		text += fmt.Sprintf(", as the first of %d that failed", o.failed)
	}
	l.screen.say("%s", text)
	if e.err == nil {
		if m := meaning(e.code, l.argv[0]); m != "" {
			l.screen.say("  %s", m)
		}
	}
	if last := e.rank.errors.last(); len(last) > 0 {
		l.screen.say("  Its last lines on stderr:\n    %s", strings.Join(last, "\n    "))
	}
}

func (l *launch) reportWarnings() {
	for _, r := range l.ranks {
		for _, w := range r.warnings {
			l.screen.say("[%d] %s", r.rank, w)
		}
	}
}

// meaning explains exit codes that are mostly not the command's own.
func meaning(code int, program string) string {
	switch code {
	case 125:
		return "railhead-pod did not start the command; its reasons are above. Where TCP will do, say -e RAILHEAD_MODE=auto."
	case 126:
		return program + " cannot be invoked: is it executable, and for this architecture?"
	case 127:
		return program + " is not found: is it in the image, and in its PATH?"
	}
	signals := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS: a page could not be had; /dev/shm may be full", 8: "SIGFPE",
		9: "SIGKILL: mostly the kernel's, for want of memory", 11: "SIGSEGV", 15: "SIGTERM",
	}
	if name := signals[code-128]; name != "" {
		return "It was ended by " + name + "."
	}
	return ""
}

// network says which network the run used, with what shows it.
func (l *launch) network(o outcome) string {
	log := l.seen.log()
	return networkText(networkCase{
		verdict: log.Verdict(), seen: log.Seen(), pods: len(l.ranks), unread: l.unread(), failed: o.first != nil,
		mode: nccl.Mode(l.setting("RAILHEAD_MODE", l.ranks[0].mode)), debug: l.setting("NCCL_DEBUG", l.ranks[0].debug),
		debugFile: l.setting("NCCL_DEBUG_FILE", l.ranks[0].debugFile),
	})
}

// setting is a variable as the command has it: by -e, or as the container has it.
func (l *launch) setting(name, own string) string {
	for _, e := range slices.Backward(l.env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return own
}

func (l *launch) unread() int {
	n := 0
	for _, r := range l.ranks {
		if r.unread != nil {
			n++
		}
	}
	return n
}

// networkCase is all that the word on the network depends on.
type networkCase struct {
	verdict          nccllog.Verdict
	seen             bool // any line of NCCL
	pods, unread     int
	failed           bool
	mode             nccl.Mode
	debug, debugFile string // as the user set them; "" where NCCL logged for the launch
}

func networkText(c networkCase) string {
	text := c.verdict.String()
	switch c.verdict.Network {
	case nccllog.TCP, nccllog.Mixed:
		text += tcpRemark(c.mode)
	case nccllog.OneNode:
		if c.pods > 1 {
			text += fmt.Sprintf("; each of the %d pods trained by itself: does the command use MASTER_ADDR, NNODES and NODE_RANK?", c.pods)
		}
	case nccllog.Unknown:
		if !c.seen {
			text = "not known: no line of NCCL was seen" + unseenRemark(c)
		}
	case nccllog.RDMA, nccllog.NVLink, nccllog.Plugin:
	}
	if c.failed && c.verdict.Channels > 0 {
		text += "; set up before the run failed"
	}
	if c.unread > 0 {
		text += fmt.Sprintf("; NCCL's log of %s could not be read", count(c.unread, "pod"))
	}
	return text
}

// tcpRemark says what TCP costs, by the mode that was asked for. The factor was measured on four rails of 400 Gb/s: 0.98
// GiB/s over the pod network instead of 83 GiB/s.
func tcpRemark(mode nccl.Mode) string {
	switch mode {
	case nccl.TCP:
		return ", as asked for (mode tcp)"
	case nccl.Auto:
		return " (mode auto); over four 400 Gb/s rails RDMA was measured 85 times as fast"
	case nccl.RDMA:
	}
	return ", though RDMA was asked for (mode rdma): over four 400 Gb/s rails it was measured 85 times as fast"
}

func unseenRemark(c networkCase) string {
	level := strings.ToUpper(c.debug) // NCCL takes it in any case (src/debug.cc)
	switch {
	case c.debug != "" && c.debugFile != "":
		return ": NCCL_DEBUG and NCCL_DEBUG_FILE are set, so they are in " + c.debugFile
	case c.debug != "" && level != "INFO" && level != "TRACE":
		return fmt.Sprintf(": NCCL_DEBUG=%s is set, so NCCL was not asked; -e NCCL_DEBUG=INFO -e NCCL_DEBUG_SUBSYS=INIT,ENV,NET asks it", c.debug)
	}
	return ": the command does not use NCCL, or ended before it did"
}
