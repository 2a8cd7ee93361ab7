package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/story"
)

// explainer reads logs and machines, and prints the story of the run.
type explainer struct {
	*app
	format string
	with   []string
	follow bool
}

func newExplain(a *app) *cobra.Command {
	e := explainer{app: a, format: "text"}
	cmd := &cobra.Command{
		Use:   "explain [FILE... | -n NAMESPACE NAME...]",
		Short: "Explain a training log: which network it really used, and the first cause if it failed",
		Long: `explain finds the lines of NCCL or RCCL in a training log of one rank or of thousands. It reports which
network the run really used, with the line that proves it, and whether GPUs and NICs exchanged data directly. If the run
failed, it reports the first failure, its consequences and the fix. It needs no cluster.

Files may be compressed (gzip, zstd) or in UTF-16; a folder means all logs in it; - is standard input. With -n the
arguments are jobs in that namespace, and explain reads the logs of their pods. Logs show the most if the job ran with
NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET.

--with adds the state of the machines, from 'railhead-pod snapshot' or 'railhead doctor --save', which tells causes
apart that look the same in a log. An archive with logs (doctor --logs) needs no other log. With --follow, findings are
printed as soon as they appear, and the full explanation at the end.

Exit status: 0 if RDMA was used, or no network was needed; 1 if the run failed, fell back to TCP or was slower than
possible; 3 if the log does not show it, or no log could be read.`,
		Example: `  railhead explain train.log
  railhead explain logs/                                 one file per rank
  torchrun train.py 2>&1 | railhead explain --follow     warn as soon as the job starts on TCP
  railhead explain -n train h-kim                        the logs of a job's pods
  railhead explain train.log --with pod.json -o json | jq '.runs[].causes'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			story, err := e.explain(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := e.tell(story); err != nil {
				return err
			}
			return explained(story)
		},
	}
	flags := cmd.Flags()
	choiceFlag(cmd, &e.format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	flags.StringArrayVar(&e.with, "with", nil,
		"state of the job's machines: an archive of 'doctor --save', "+
			"or the output of 'railhead-pod snapshot [--raw]'; repeatable")
	flags.BoolVarP(&e.follow, "follow", "f", false, "keep reading while the log grows, and print findings at once")
	return cmd
}

// explain reads the logs and the machines, and returns the story.
func (e explainer) explain(ctx context.Context, args []string) (story.Story, error) {
	machines, logs, err := readMachines(e.with)
	if err != nil {
		return story.Story{}, unknown(err)
	}
	if len(args) == 0 && len(logs) > 0 {
		return logsource.Archived(logs, machines), nil
	}
	r := logsource.Reader{Machines: machines}
	sources, err := e.logSources(ctx, args, &r)
	if err != nil {
		return story.Story{}, err
	}
	if e.follow {
		err = r.Follow(ctx, sources, e.warnOnce())
	} else {
		err = r.Read(ctx, sources)
	}
	if err == nil {
		err = r.Empty()
	}
	if err != nil && ctx.Err() == nil {
		err = unknown(err)
	}
	return r.Story(), err
}

// warnOnce returns a function that prints the warnings of a story, each once.
func (e explainer) warnOnce() func(story.Story) {
	printed := map[string]bool{}
	return func(s story.Story) {
		for _, text := range warnings(s) {
			if !printed[text] {
				printed[text] = true
				e.say("%s", text)
			}
		}
	}
}

func (e explainer) tell(s story.Story) error {
	switch e.format {
	case "json", "yaml":
		return report.Encode(e.streams.Out, e.format, s)
	}
	storyWriter{out: e.streams.Out, wide: e.format == "wide"}.write(s)
	for _, skipped := range s.Skipped {
		e.say("not read: %s: %s", skipped.File, skipped.Reason)
	}
	return nil
}

// explained returns the exit code of a story that was printed.
func explained(s story.Story) error {
	told := len(s.Runs) > 0
	for _, r := range s.Runs {
		switch r.Outcome {
		case story.OutcomeFail, story.OutcomeFallback, story.OutcomeDegraded:
			return exit.Error{Code: exit.Fault}
		case story.OutcomeOK, story.OutcomeUnknown:
		}
		alone := r.Nodes == 1 || r.Ranks == 1
		told = told && r.Outcome == story.OutcomeOK && (alone || r.Network.Used != nil && *r.Network.Used)
	}
	if !told {
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}

// logSources returns the logs that the command line names.
func (e explainer) logSources(ctx context.Context, args []string, r *logsource.Reader) ([]logsource.Log, error) {
	namespace, explicit, err := e.flags.Namespace()
	if explicit && len(args) == 0 {
		return nil, errors.New("-n needs the name of a job")
	}
	if !explicit {
		return e.logFiles(args, r)
	}
	if err != nil {
		return nil, exit.Failed(err)
	}
	var all []logsource.Log
	for _, name := range args {
		logs, err := e.jobLogs(ctx, namespace, name, r)
		if err != nil {
			return nil, err
		}
		all = append(all, logs...)
	}
	return all, nil
}

// logFiles returns the logs in files and folders, or standard input if none is named.
func (e explainer) logFiles(args []string, r *logsource.Reader) ([]logsource.Log, error) {
	if len(args) == 0 {
		if e.streams.TTY {
			return nil, errors.New("name a log, or pipe one in; with -n NAMESPACE, name a job")
		}
		args = []string{logsource.Stdin}
	}
	return r.Files(args, e.streams.In, e.follow), nil
}
