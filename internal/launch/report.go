package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// maxLogBytes bounds the part of NCCL's log that is read from one pod. The log of eight ranks has less than 1 MiB.
const maxLogBytes = "8388608"

// reconnectTime bounds the end of a launch whose streams broke: it is longer than a restart of an API server.
const reconnectTime = 2 * time.Minute

// maxWarnings bounds the NCCL warnings that are shown of one pod.
const maxWarnings = 20

// finish reads NCCL's logs in the pods and removes the launch's files there.
func (l *Session) finish(ctx context.Context, o Outcome) {
	if errors.Is(o.why, errDetached) {
		return
	}
	ctx, cancel := Afterwards(ctx)
	if l.count(func(r *rank) bool { return r.disconnected }) > 0 {
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), reconnectTime)
	}
	defer cancel()
	killing := ""
	if o.Code() != 0 {
		killing = "kill"
	}
	_ = l.forEach(func(r *rank) error { // the report has the errors
		r.logErr = l.finishRank(ctx, r, killing)
		if r.disconnected && r.logErr != nil {
			l.console.say("%s cannot be reached; its processes may still be running: %v", r, r.logErr)
		}
		return nil
	})
}

// finishRank retries until it reaches the pod: after a restart of the API server the streams are cut, but the command
// still runs.
func (l *Session) finishRank(ctx context.Context, r *rank, killing string) error {
	for {
		reached, err := l.finishOnce(ctx, r, killing)
		if err == nil || reached || r.podLost {
			return err
		}
		const retryInterval = 2 * time.Second
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}

// finishOnce also reports whether the pod was reached: its log must be counted once.
func (l *Session) finishOnce(ctx context.Context, r *rank, killing string) (reached bool, err error) {
	discard := NewConsole(io.Discard, io.Discard)
	observe := l.Evidence.Stream(r.String() + " NCCL log")
	log := newLineWriter(discard, &discard.out, r.Rank, false, func(line []byte) {
		reached = true
		observe(line)
		r.warn(string(line))
	})
	answer := &kube.Capture{Limit: 64 << 10}
	lines, keep := networkLines, ""
	if l.Logs != nil {
		lines = "" // all
	}
	if l.attached != nil {
		keep = "keep" // another view may read it
	}
	code, err := l.pods.Exec(ctx, r.Ref(), kube.ExecOptions{
		Container: r.Container,
		Command:   l.script(r, finishScript, r.dir, killing, maxLogBytes, lines, keep),
		Stdout:    io.MultiWriter(l.Logs.of(r.Rank, "nccl"), log),
		Stderr:    answer,
	})
	log.Close()
	if err != nil {
		return reached, err
	}
	values := parseAnswers(answer.String())
	r.unstarted = r.unstarted || values["unstarted"] != ""
	if dir := values["kept"]; dir != "" {
		l.console.say("%s: files that the command wrote stay in %s", r, dir)
	}
	if pids := values["left"]; pids != "" {
		l.console.say("%s: processes of the command are still running: %s", r, pids)
	}
	switch {
	case code != 0:
		return true, fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(answer.String()))
	case values["finished"] == "": // the log that did not arrive is gone from the pod
		return true, kube.ErrCutShort
	}
	return true, nil
}

func (r *rank) warn(line string) {
	if strings.Contains(line, "NCCL WARN") && len(r.warnings) < maxWarnings && !slices.Contains(r.warnings, line) {
		r.warnings = append(r.warnings, line)
	}
}

// Report prints the end of the launch. Its last line names the network that the run used; one of a launch with Logs
// that names their folder follows.
func (l *Session) Report(o Outcome) {
	switch {
	case o.abandoned > 0:
		l.console.say("The command did not exit in %s; its processes may still be running there",
			words.Count(o.abandoned, "pod"))
	case errors.Is(o.why, errStopped):
		l.console.say("Stopped: the command has ended in all pods")
	case errors.Is(o.why, errInterrupted):
		l.console.say("Interrupted: the command has stopped in all pods")
	}
	switch {
	case errors.Is(o.why, errTimeout):
		l.console.say("The command was stopped after %v (--timeout)", o.limit)
	case errors.Is(o.why, errNoReader):
		l.console.say("Output closed: the command was stopped in all pods")
	}
	if o.first != nil {
		for _, r := range l.ranks {
			for _, w := range r.warnings {
				l.console.say("[%d] %s", r.Rank, w)
			}
		}
		l.reportFirst(o)
	}
	if errors.Is(o.why, errDetached) {
		l.console.say("Detached: the command goes on. See it with 'railhead launch %s --attach', "+
			"stop it with 'railhead launch %s --stop'", l.Job, l.Job)
	} else {
		if examined(l) {
			l.console.say("NCCL's diagnostics: %s", diagnosis(l))
		}
		l.console.say("Network: %s", l.network(o))
	}
	if l.Logs != nil {
		l.console.say("%s%s", l.Logs.close(), l.explainHint())
	}
}

// explainHint returns the end of the line about kept output. 'railhead explain' cannot judge output in which NCCL
// logged nothing and no failure is known.
func (l *Session) explainHint() string {
	known := func(c story.Cause) bool { return c.ID != story.UnknownCause }
	log := l.Evidence.Log()
	if !log.Seen() && !slices.ContainsFunc(explain.Log(log).Last().Causes, known) {
		return ""
	}
	return "; judge it with: railhead explain " + l.Logs.dir
}

// reportFirst names the rank that failed first, with the end of its stderr.
func (l *Session) reportFirst(o Outcome) {
	e := *o.first
	text := fmt.Sprintf("%s %s", e.rank, e)
	if o.failed > 1 {
		text += fmt.Sprintf(", the first of %d ranks that failed", o.failed)
	}
	l.console.say("%s", text)
	if e.err == nil {
		if m := codeMeaning(e, l.Command[0]); m != "" {
			l.console.say("  %s", m)
		}
	}
	if last := e.rank.errors.lines(); len(last) > 0 {
		l.console.say("  Its last lines on stderr:\n    %s", strings.Join(last, "\n    "))
	}
}

// codeMeaning explains exit codes that usually do not come from the command itself.
func codeMeaning(e result, program string) string {
	code := e.code
	switch {
	case code == 125 && !e.rank.unstarted:
		return program + ", or a program that it runs, may have ended so itself: " +
			"railhead-pod ends so if it does not start a command, but then says why, and no line above does."
	case code == 125:
		return "railhead-pod did not start the command, for the reasons above. " +
			"To use only the rails that work, -e RAILHEAD_RAILS=any; to fall back to TCP, -e RAILHEAD_MODE=auto."
	case code == 126:
		return program + ", or a program that it runs, cannot be executed: check its permissions and its architecture."
	case code == 127:
		return program + ", or a program that it runs, was not found: check that it is in the image and in PATH."
	}
	if name := signalNames[code-128]; name != "" {
		return "It was killed by " + name + "."
	}
	return ""
}

var signalNames = map[int]string{
	1:  "SIGHUP",
	2:  "SIGINT",
	3:  "SIGQUIT",
	4:  "SIGILL",
	6:  "SIGABRT",
	7:  "SIGBUS: /dev/shm may be full",
	8:  "SIGFPE",
	9:  "SIGKILL, often by the kernel when memory runs out",
	11: "SIGSEGV",
	15: "SIGTERM",
}

func (l *Session) network(o Outcome) string {
	log := l.Evidence.Log()
	return NetworkLine{
		Run: explain.Log(log).Last(), Seen: log.Seen(), Wire: l.readings,
		Pods: len(l.ranks), Unread: l.count(func(r *rank) bool { return r.logErr != nil }),
		Unstarted: l.count(func(r *rank) bool { return r.unstarted }), Failed: o.first != nil,
		Settings: l.ranks[0].settings,
	}.String()
}

// Settings are variables of a command; empty if the launch sets them.
type Settings struct {
	Debug, DebugFile, Mode string // NCCL_DEBUG, NCCL_DEBUG_FILE and RAILHEAD_MODE
	Silent                 bool   `json:",omitempty"` // NCCL_DEBUG_SUBSYS selects nothing
}

// settingsOf returns the settings of a command, from -e, or else from the container's answer.
func settingsOf(l *Session, answer map[string]string) Settings {
	return Settings{
		Debug:     l.setting("NCCL_DEBUG", answer["debug"]),
		DebugFile: l.setting("NCCL_DEBUG_FILE", answer["file"]),
		Mode:      l.setting("RAILHEAD_MODE", answer["mode"]),
		Silent:    nccl.LogsNothing(l.setting("NCCL_DEBUG_SUBSYS", answer["subsys"])),
	}
}

// setting returns a variable of the command: from -e, or else the value in the container.
func (l *Session) setting(name, inContainer string) string {
	for _, e := range slices.Backward(l.Env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return inContainer
}

// count returns the number of ranks of a kind.
func (l *Session) count(is func(*rank) bool) int {
	n := 0
	for _, r := range l.ranks {
		if is(r) {
			n++
		}
	}
	return n
}

// NetworkLine is the last line of a launch: which network the run used, and what proves it.
type NetworkLine struct {
	Run          story.Run
	Seen         bool // any line of NCCL
	Wire         Readings
	Pods, Unread int
	Unstarted    int // ranks whose command was not started
	Failed       bool
	Settings
}

// String returns the line. NCCL's log decides, as Run judges it; the kernel's queue pairs do where it does not tell.
func (c NetworkLine) String() string {
	text := c.Run.NetworkLine() + ", by NCCL's log"
	switch c.Run.Network.Transport {
	case story.TCP, story.MixedTransport:
		text += tcpRemark(nccl.Mode(c.Mode))
	case story.NoTransport:
		if c.Pods > 1 {
			text += fmt.Sprintf("; each of the %d pods trained alone; "+
				"check that the command uses MASTER_ADDR, NNODES and NODE_RANK", c.Pods)
		}
	case story.Plugin:
		if c.Wire.Moving > 0 {
			text += "; " + c.Wire.String()
		}
	case story.UnknownTransport:
		text = c.withoutLog()
	case story.RDMA, story.NVLink, story.Unconnected:
	}
	if c.Failed && c.Run.Traffic.Channels > 0 && c.Run.Network.Transport != story.Unconnected {
		text += "; set up before the run failed"
	}
	if c.Unstarted > 0 {
		text += fmt.Sprintf("; %d of %s did not start", c.Unstarted, words.Count(c.Pods, "rank"))
	}
	if c.Unread > 0 {
		text += fmt.Sprintf("; the NCCL log of %s could not be read", words.Count(c.Unread, "pod"))
	}
	return text
}

// withoutLog returns the line where NCCL's log does not tell the network.
func (c NetworkLine) withoutLog() string {
	if c.Wire.Moving > 0 {
		return c.Wire.String()
	}
	text := c.Run.NetworkLine()
	if !c.Seen {
		text = "not known: NCCL logged nothing" + unseenRemark(c)
	}
	if c.Wire.Taken > 0 {
		text += "; " + c.Wire.String()
	}
	return text
}

// tcpRemark says what TCP costs.
func tcpRemark(mode nccl.Mode) string {
	const faster = "over four 400 Gb/s rails RDMA was measured " + rail.SlowerOverTCP + " as fast"
	switch mode {
	case nccl.TCP:
		return ", as requested (mode tcp)"
	case nccl.Auto:
		return " (mode auto); " + faster
	case nccl.RDMA:
	}
	return ", although the mode is rdma: " + faster
}

func unseenRemark(c NetworkLine) string {
	level := strings.ToUpper(c.Debug) // NCCL ignores case (src/debug.cc)
	switch {
	case c.Debug != "" && c.DebugFile != "":
		return " here, because NCCL_DEBUG_FILE sends its log to " + c.DebugFile
	case c.Debug != "" && level != "INFO" && level != "TRACE":
		return fmt.Sprintf(", because NCCL_DEBUG=%s is set; "+
			"use -e NCCL_DEBUG=INFO -e NCCL_DEBUG_SUBSYS=INIT,ENV,NET", c.Debug)
	case c.Debug != "" && c.Silent:
		return ", because NCCL_DEBUG_SUBSYS has no word that NCCL knows, which silences even its warnings: " +
			"use -e NCCL_DEBUG_SUBSYS=INIT,ENV,NET"
	case c.Unstarted > 0: // which tells nothing of the command
		return ""
	}
	return "; the command does not use NCCL, or ended before using it"
}
