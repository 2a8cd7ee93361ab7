package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// launchFlags are what a launch is asked for beside the job and the command.
type launchFlags struct {
	copies  []string
	env     []string
	timeout time.Duration
	grace   time.Duration
	force   bool
}

func (a *app) newLaunch() *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch NAME [flags] -- COMMAND [ARG...]",
		Short: "Run the training command in all pods of a job and say which network it used",
		Long: `launch runs COMMAND in every pod of a job at the same time, behind 'railhead-pod run'. The rank variables (MASTER_ADDR,
NODE_RANK, WORLD_SIZE, PET_*) are there already: torchrun needs none of its rendezvous flags. Every line of output comes with
the pod's rank in front; what ranks write to stdout comes on stdout. Python writes its lines at once (PYTHONUNBUFFERED=1,
unless the pod sets it).

Ctrl-C sends SIGINT to all ranks, after --grace-period SIGTERM, then SIGKILL; a second Ctrl-C ends railhead at once and leaves
the ranks running. When one rank fails, the others are told to end, too.

The last line says which network the run used, from NCCL's own log: it is written to /dev/shm of each pod
(NCCL_DEBUG=INFO, NCCL_DEBUG_FILE), read after the run and removed. Where NCCL_DEBUG is set, by -e or in the pod, it is left
alone, and the output itself is read.

Exit status: that of the rank that failed first; 124 after --timeout; 130 after Ctrl-C; 1 when a pod was lost. 125 is usually
railhead-pod's, which did not start the command; 126 that the command cannot be invoked; 127 that it is not found.`,
		Example: `  railhead launch h-kim -n train -- torchrun train.py
  railhead launch h-kim -n train --copy train.py -- torchrun train.py --epochs 3
  railhead launch h-kim -n train --copy train.py --copy model.py -e NCCL_DEBUG=INFO -- torchrun train.py
  railhead launch h-kim -n train --timeout 10m -- all_reduce_perf -b 8 -e 8G -f 2 -g 8
  railhead launch h-kim -n train -- nvidia-smi -L`,
		Args:              nameAndCommand,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("no command to run: railhead launch %s -- COMMAND", args[0])
			}
			if err := f.check(); err != nil {
				return err
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.launch(ctx, args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.copies, "copy", nil, "file to copy into a fresh directory of every pod, where the command then starts; may be given several times")
	flags.StringArrayVarP(&f.env, "env", "e", nil, "environment variable of the command: NAME=VALUE; may be given several times")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the command after this time, with exit status 124 (default never)")
	flags.DurationVar(&f.grace, "grace-period", 30*time.Second, "how long ranks have to end by themselves before they are told more firmly")
	flags.BoolVar(&f.force, "force", false, "run the command although another one runs in the pods")
	_ = cmd.MarkFlagFilename("copy") // the flag exists
	return cmd
}

// variableForm is the name of an environment variable that a shell can set.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (f launchFlags) check() error {
	for _, e := range f.env {
		if !variableForm.MatchString(e) {
			return fmt.Errorf("-e %q is not NAME=VALUE", e)
		}
		if strings.ContainsRune(e, 0) {
			return fmt.Errorf("-e %q: a variable cannot hold a zero byte", e)
		}
	}
	if f.timeout < 0 || f.grace < 0 {
		return errors.New("a time cannot be negative")
	}
	return nil
}

// untilHangup ends a context with the terminal, too: the ranks are told then, as they are with Ctrl-C. And it lets a write
// to a pipe that nobody reads any more fail, so that they are told also of that.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	if signal.Ignored(syscall.SIGHUP) { // nohup(1)
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// launch runs a command in every pod of a job, from the first look at the pods to the word on the network.
func (a *app) launch(ctx context.Context, name string, argv []string, f launchFlags) error {
	files, err := openFiles(f.copies)
	if err != nil {
		return exitError{exitUsage, err}
	}
	client, job, err := a.jobToLaunch(ctx, name, f.force)
	if err != nil {
		return err
	}
	l := newLaunch(client, a.streams, job, argv)
	l.env, l.files, l.force, l.limit, l.patience = f.env, files, f.force, f.timeout, newPatience(f.grace)
	return l.carry(ctx)
}

// carry prepares all pods, runs the command and tells how it went.
func (l *launch) carry(ctx context.Context) error {
	if err := l.prepare(ctx); err != nil {
		l.clear(ctx)
		if ctx.Err() != nil {
			l.screen.say("Interrupted before the command was started")
			return exitError{code: exitInterrupted}
		}
		return fault(fmt.Errorf("nothing was started: %w", err))
	}
	o := l.run(ctx)
	l.finish(ctx, o)
	l.report(o)
	if code := o.code(); code != 0 {
		return exitError{code: code} // all has been said
	}
	return nil
}

// newID names one launch, among those that may have left something in the same pods.
func newID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}
