package podcli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
	"github.com/railhead/railhead/internal/report"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

// The values of --preflight.
const (
	preflightOff  = "off"
	preflightWarn = "warn"
	preflightFail = "fail"
)

// railTest is the preflight that the user wants.
type railTest struct {
	mode  string
	limit time.Duration // for each test, to itself and to the next rank. All rails are tested at once.
	// try is launch.Try, which runs both ends of all tests.
	try func(program string, all []podrun.Trial, env []string, limit time.Duration) error
}

const preflightLimit = 10 * time.Second

func newRailTest() railTest { return railTest{preflightOff, preflightLimit, podrun.Try} }

func (r *railTest) flags(flags *pflag.FlagSet) {
	choiceFlag(flags, &r.mode, "preflight",
		"test every rail with the image's ib_write_bw first; warn: start in any case; fail: "+
			"do not start over a broken rail",
		preflightOff, preflightWarn, preflightFail)
	flags.Lookup("preflight").NoOptDefVal = preflightWarn
	flags.DurationVar(&r.limit, "preflight-limit", r.limit, "with --preflight: how long each test may take")
}

// check refuses a value of --preflight in place of the command: it needs "=".
func (r *railTest) check(args []string) error {
	if r.limit <= 0 {
		return errors.New("--preflight-limit must be more than 0")
	}
	modes := []string{preflightOff, preflightWarn, preflightFail}
	if len(args) > 1 && args[1] == "--" && slices.Contains(modes, args[0]) {
		return fmt.Errorf("%q is not a command: use --preflight=%s", args[0], args[0])
	}
	return nil
}

// preflight tests the rails that the command uses. It returns an error if the command must not start.
func (d *decision) preflight(test railTest, here sysfs.Machine, memlock podrun.Memlock, out *messages) error {
	if test.mode == preflightOff {
		return nil
	}
	info := out.info()
	if _, overTCP := d.consequence(); overTCP || d.policy.Mode == nccl.TCP || d.noRail != nil {
		fmt.Fprintln(info, "preflight: skipped: the command does not use the rails")
		return nil
	}
	fmt.Fprintf(info, "preflight: testing whether each rail can write to itself, at most %s\n", test.limit)
	out.flush()
	begun := time.Now()
	paths := d.paths
	loops := make([]podrun.Trial, len(paths))
	for i, p := range paths {
		loops[i].Words = loopbackOptions(p)
	}
	var found, wrong []check.Finding
	if err := test.try(loopbackTool, loops, os.Environ(), test.limit); err != nil {
		wrong, paths = untested(out, err, memlock.IPCLock, here.Probes.LockMemory), nil
	}
	for i, p := range paths {
		found = append(found, test.judgeLoopback(p, &loops[i]))
	}
	test.toNextRank(paths, loops, found, func(line string) {
		fmt.Fprintln(info, line)
		out.flush()
	})
	for _, f := range found {
		if f.Status != check.Pass {
			wrong = append(wrong, f)
		}
		report.Line(info, "preflight: %s %s", f.Subject, f.Summary)
	}
	fmt.Fprintf(info, "preflight: done in %s\n", time.Since(begun).Round(10*time.Millisecond))
	return preflightVerdict(out, test.mode, wrong)
}

// untested reports that there is no tool, and tests the one thing that needs none: locking as much memory as a small
// job registers. If the command gets CAP_IPC_LOCK, this process may not have it yet.
func untested(w io.Writer, why error, ipcLock bool, lock func(bytes uint64) error) []check.Finding {
	report.Line(w, "preflight: skipped: no %s (perftest) in this image (%s): the devices can be opened, "+
		"but no data was sent",
		loopbackTool, why)
	err := lock(1 << 30)
	if err == nil || ipcLock {
		return nil
	}
	return []check.Finding{{
		Check: rules.MemlockLimit, Status: check.Fail, Fix: loopbackFix,
		Summary: "1 GiB of memory cannot be locked: " + err.Error(),
	}}
}

// preflightVerdict prints the findings and returns an error if they keep the command from starting. Rails that could
// not be tested do not: they may work.
func preflightVerdict(w io.Writer, mode string, wrong []check.Finding) error {
	text, worst := "PREFLIGHT FAILED: starting the command anyway; NCCL may hang or stop.", check.Worst(wrong)
	var err error
	switch {
	case len(wrong) == 0:
		return nil
	case worst != check.Fail:
		text = "PREFLIGHT INCOMPLETE: starting the command, but its rails may not work."
	case mode == preflightFail:
		text = "railhead-pod: not started: the preflight failed; --preflight=warn starts the command anyway"
		err = exit.Error{Code: exit.Refused}
	}
	bar := strings.Repeat("*", 100)
	fmt.Fprintf(w, "%s\n%s\n", bar, text)
	report.Findings(w, wrong, report.Full)
	fmt.Fprintln(w, bar)
	return err
}
