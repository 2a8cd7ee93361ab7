package podcli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/report"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

// What --preflight says.
const (
	preflightOff  = "off"
	preflightWarn = "warn"
	preflightFail = "fail"
)

// preflightFlag is --preflight, alone or with a word.
func preflightFlag(cmd *cobra.Command, mode *string) {
	choiceFlag(cmd, mode, "preflight", "", "try every rail first by ib_write_bw of the image, within seconds; warn: start in any case; fail: not over a broken rail",
		preflightOff, preflightWarn, preflightFail)
	cmd.Flags().Lookup("preflight").NoOptDefVal = preflightWarn
}

// preflightWord refuses a word of --preflight in the place of the command: it belongs behind "=".
func preflightWord(args []string) error {
	if len(args) > 1 && args[1] == "--" && slices.Contains([]string{preflightOff, preflightWarn, preflightFail}, args[0]) {
		return fmt.Errorf("%q is no command: write --preflight=%s", args[0], args[0])
	}
	return nil
}

// preflightLimit is what each try takes at most, to itself and to the next rank: the rails are tried at the same time.
const preflightLimit = 10 * time.Second

// preflight tries the rails of the command, and refuses to start it where that is wanted. say delivers what was said so far.
func (d *decision) preflight(mode string, here host.Machine, memlock launch.Memlock, talk, alarm io.Writer, say func()) error {
	if mode == preflightOff {
		return nil
	}
	if _, tcp := d.outcome(); tcp || d.policy.Mode == nccl.TCP || d.noRail != nil {
		fmt.Fprintln(talk, "preflight: skipped: the command does not run over the rails")
		return nil
	}
	fmt.Fprintf(talk, "preflight: each rail writes to itself, for %s at most\n", preflightLimit)
	say()
	begun := time.Now()
	paths := nccl.Paths(d.vars, d.resolution.Rails)
	loops := make([]launch.Trial, len(paths))
	for i, p := range paths {
		loops[i].Words = loopbackWords(p)
	}
	var found, wrong []check.Finding
	if err := launch.Try(loopbackTool, loops, os.Environ(), preflightLimit); err != nil {
		wrong, paths = untried(alarm, err, memlock.IPCLock, here.Probes.LockMemory), nil
	}
	for i, p := range paths {
		found = append(found, judgeLoopback(p, &loops[i]))
	}
	toNextRank(paths, loops, found, func(line string) { fmt.Fprintln(talk, line); say() })
	for _, f := range found {
		if f.Status != check.Pass {
			wrong = append(wrong, f)
		}
		report.Line(talk, "preflight: %s %s", f.Subject, f.Summary)
	}
	fmt.Fprintf(talk, "preflight: it took %s\n", time.Since(begun).Round(10*time.Millisecond))
	return preflightVerdict(alarm, mode, wrong)
}

// untried says why nothing was sent, and tries what needs no tool beside opening the devices, without which they are no
// rails: to lock what a small job registers. Where the command will have CAP_IPC_LOCK, this process may not have it yet.
func untried(w io.Writer, why error, ipcLock bool, lock func(bytes uint64) error) []check.Finding {
	fmt.Fprintf(w, "preflight: skipped: no %s (perftest) in this image (%s): the rails' devices open, and nothing was sent over them\n", loopbackTool, why)
	err := lock(1 << 30)
	if err == nil || ipcLock {
		return nil
	}
	return []check.Finding{{Check: rules.MemlockLimit, Status: check.Fail, Fix: loopbackFix, Summary: "1 GiB of memory cannot be locked: " + err.Error()}}
}

// preflightVerdict says what is wrong, and whether that keeps the command from being started. What could not be tried
// does not: nobody knows.
func preflightVerdict(w io.Writer, mode string, wrong []check.Finding) error {
	text, worst := "PREFLIGHT FAILED: the command is started all the same; expect NCCL to hang or to stop.", check.Worst(wrong)
	var err error
	switch {
	case len(wrong) == 0:
		return nil
	case worst != check.Fail:
		text = "PREFLIGHT INCOMPLETE: the command is started, and whether its rails work is not known."
	case mode == preflightFail:
		text, err = "railhead-pod: not started: the preflight failed; --preflight=warn starts it all the same", exitError{code: exitRefused}
	}
	bar := strings.Repeat("*", 100)
	fmt.Fprintf(w, "%s\n%s\n", bar, text)
	report.Findings(w, wrong, report.Full)
	fmt.Fprintln(w, bar)
	return err
}
