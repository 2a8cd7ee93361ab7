package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch"
)

type launchFlags struct {
	copies  []string
	env     []string
	logDir  string
	timeout time.Duration
	grace   time.Duration
	force   bool
	examine bool
	detachFlags
}

func newLaunch(a *app) *cobra.Command {
	var f launchFlags
	cmd := &cobra.Command{
		Use:   "launch [KIND/]NAME [flags] -- COMMAND [ARG...]",
		Short: "Run the training command in all pods of a job and report which network it used",
		Long: `launch runs COMMAND in all pods of a job at the same time, under 'railhead-pod run'. In the pods of any
workload it sets the rank variables that the pod does not set (MASTER_ADDR, NODE_RANK, WORLD_SIZE, PET_*), so torchrun
needs no rendezvous flags. Every line of output starts with the rank of its pod; stdout and stderr stay separate. Python
does not buffer its output (PYTHONUNBUFFERED=1, unless the pod sets it).

Ctrl-C sends SIGINT to all ranks, SIGTERM after --grace-period, then SIGKILL. A second Ctrl-C ends railhead at once and
leaves the ranks running. If one rank fails, the others are stopped too.

The last line names the network that the run used, from NCCL's own log. NCCL writes it to /dev/shm of each pod
(NCCL_DEBUG=INFO, NCCL_DEBUG_FILE); launch reads and removes it after the run. If NCCL_DEBUG is set, with -e or in the
pod, launch does not change it and reads the output instead. Programs without NCCL, such as UCX and MPI, have no such
log: launch also reads the queue pairs of all pods after 5 s, 20 s, 65 s and so on, as 'railhead wire' does, and uses
them if no log names the network. With --log-dir, one more line names the folder.
` + detachHelp + `
Exit status: that of the rank that failed first; 124 after --timeout; 130 after Ctrl-C; 1 if nothing was started or a
pod was lost; 3 if the pods could not be read. 125 usually means that railhead-pod did not start the command, 126 that
the command cannot be executed, 127 that it was not found.`,
		Example: `  railhead launch h-kim -n train -- torchrun train.py
  railhead launch h-kim -n train --copy train.py -- torchrun train.py --epochs 3
  railhead launch h-kim -n train --copy train.py --copy model.py -e NCCL_DEBUG=INFO -- torchrun train.py
  railhead launch h-kim -n train --timeout 10m -- all_reduce_perf -b 8 -e 8G -f 2 -g 8
  railhead launch h-kim -n train --nccl-diagnostics -- torchrun train.py
  railhead launch h-kim -n train --log-dir runs/7 -- torchrun train.py
  railhead launch h-kim -n train --detach -- torchrun train.py
  railhead launch h-kim -n train --attach --tail 20
  railhead launch h-kim -n train --stop
  railhead launch h-kim -n train -- nvidia-smi -L`,
		Args:              nameAndCommand,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch existing := f.existing(); {
			case existing && len(args) > 1:
				return errors.New("--attach and --stop take no command")
			case !existing && len(args) < 2:
				return fmt.Errorf("no command to run: railhead launch %s -- COMMAND", args[0])
			}
			if err := f.check(); err != nil {
				return err
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			if f.existing() {
				return a.attach(ctx, args[0], f)
			}
			return a.launch(ctx, args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.copies, "copy", nil,
		"`file` to copy into a new directory in every pod, where the command then starts; repeatable")
	flags.StringArrayVarP(&f.env, "env", "e", nil, "environment variable of the command, `NAME=VALUE`; repeatable")
	flags.StringVar(&f.logDir, "log-dir", "",
		"new `folder` that also gets the output of each rank: rank-0.out, rank-0.err, and NCCL's log in rank-0.nccl")
	flags.DurationVar(&f.timeout, "timeout", 0,
		"stop the command after this time, with exit status 124 (default: never)")
	flags.DurationVar(&f.grace, "grace-period", 30*time.Second,
		"time for ranks to exit after a signal, before the next one")
	flags.BoolVar(&f.force, "force", false, "run the command even if another one is running in the pods")
	flags.BoolVar(&f.examine, "nccl-diagnostics", false,
		"let NCCL 2.31 and later examine the nodes and measure their network first, and sum up its report")
	f.detachFlags.add(cmd)
	_ = cmd.MarkFlagFilename("copy") // the flags exist
	_ = cmd.MarkFlagDirname("log-dir")
	return cmd
}

// variableForm matches variables that a shell can set.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (f launchFlags) check() error {
	for _, e := range f.env {
		if !variableForm.MatchString(e) {
			return fmt.Errorf("-e %q is not NAME=VALUE", e)
		}
	}
	if f.timeout < 0 || f.grace < 0 {
		return errors.New("--timeout and --grace-period cannot be negative")
	}
	return nil
}

// untilHangup ends the context when the terminal closes, which stops the ranks as Ctrl-C does. It also ignores SIGPIPE,
// so that writing to a closed pipe returns an error and stops the ranks.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	if signal.Ignored(syscall.SIGHUP) { // nohup(1)
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

func (a *app) launch(ctx context.Context, name string, argv []string, f launchFlags) error {
	files, err := launch.OpenFiles(f.copies)
	if err != nil {
		return wrongInput(err)
	}
	logs, err := launch.NewFolder(f.logDir)
	if err != nil {
		return usage(err)
	}
	client, job, err := a.jobToLaunch(ctx, name, f.force)
	if err != nil {
		return err
	}
	l := launch.New(client, launch.Streams{Out: a.Out, Err: a.Err, Color: a.Color}, job, argv)
	if f.examine {
		f.env = append(f.env, launch.DiagnosticsVariable+"=true")
	}
	l.Env, l.Files, l.Force, l.Limit, l.Logs = f.env, files, f.force, f.timeout, logs
	l.Patience, l.Job = launch.NewPatience(f.grace), jobArguments(name, job[0].Pod.Namespace)
	if f.detach {
		return a.detach(ctx, l, client, job, f)
	}
	o, err := l.Run(ctx)
	if err != nil {
		return a.notStarted(ctx, err)
	}
	return endOf(l, o)
}

func (s Streams) notStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		s.say("Interrupted before the command started")
		return exit.Error{Code: exit.Interrupted}
	}
	return exit.Failed(fmt.Errorf("nothing was started: %w", err))
}
