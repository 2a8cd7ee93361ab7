package cli

import (
	"context"
	"errors"
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// exitUntold is explain's own code for a log that does not tell which network was used.
const exitUntold = 2

type explainFlags struct {
	format string
	with   []string
	follow bool
}

func (a *app) newExplain() *cobra.Command {
	f := explainFlags{format: "text"}
	cmd := &cobra.Command{
		Use:   "explain [FILE... | -n NAMESPACE NAME...]",
		Short: "Tell the story of a training log: which network it really used, and the first cause when it failed",
		Long: `explain reads what NCCL or RCCL wrote into a training log, mixed with whatever else is there, of one rank or of thousands,
and tells which network the run really used, with the line that proves it, whether GPUs and NICs exchanged data directly,
and, when it failed, what failed first, what only followed, and what to do. It needs no cluster.

Files may be compressed (gzip, zstd) or in UTF-16; a folder stands for all logs in it; - is standard input. With -n the
arguments are the names of jobs in that namespace, whose pods' logs are read. The log tells most when the job ran with
NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET.

--with adds what is known of the machines, as 'railhead-pod snapshot' prints it or 'railhead doctor --save' keeps it: it
decides between causes that look the same in a log. An archive that has logs (doctor --logs) needs no other. With --follow, what is found is said as soon as it is seen, and the story at the end.

Exit status: 0 when RDMA was used, or no network was needed; 1 when the run failed, fell back to TCP or is worse than it
could be; 2 when the log does not tell.`,
		Example: `  railhead explain train.log
  railhead explain logs/                                 a file per rank
  torchrun train.py 2>&1 | railhead explain --follow     warns as soon as the job comes up on TCP
  railhead explain -n train h-kim                        the logs of a job's pods
  railhead explain train.log --with pod.json -o json | jq '.runs[].causes'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			story, err := a.explain(cmd.Context(), args, f)
			if err != nil {
				return err
			}
			if err := a.tell(story, f.format); err != nil {
				return err
			}
			return explained(story)
		},
	}
	flags := cmd.Flags()
	choiceFlag(cmd, &f.format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	flags.StringArrayVar(&f.with, "with", nil, "what is known of the job's machines: an archive of 'doctor --save', or what 'railhead-pod snapshot [--raw]' printed; may be repeated")
	flags.BoolVarP(&f.follow, "follow", "f", false, "read on while the log grows, and say at once what is found")
	return cmd
}

// explain reads all that is to be read and judges it.
func (a *app) explain(ctx context.Context, args []string, f explainFlags) (rules.Story, error) {
	machines, logs, err := readMachines(f.with)
	if err != nil {
		return rules.Story{}, err
	}
	if len(args) == 0 && len(logs) > 0 {
		return storyOf(logs, machines), nil
	}
	l := listener{machines: machines, say: a.say}
	sources, err := a.logSources(ctx, args, f.follow, &l)
	if err != nil {
		return rules.Story{}, err
	}
	if f.follow {
		err = l.follow(ctx, sources)
	} else {
		err = l.read(ctx, sources)
	}
	if err == nil && l.opened == 0 {
		return rules.Story{}, l.nothing()
	}
	return l.story(), err
}

// tell writes a story.
func (a *app) tell(s rules.Story, format string) error {
	switch format {
	case "json", "yaml":
		return report.Encode(a.streams.Out, format, s)
	}
	storyWriter{out: a.streams.Out, wide: format == "wide"}.write(s)
	for _, skipped := range s.Skipped {
		a.say("not read: %s: %s", skipped.File, skipped.Reason)
	}
	return nil
}

// explained is the exit code; the story has said why it is not 0.
func explained(s rules.Story) error {
	told := len(s.Runs) > 0
	for _, r := range s.Runs {
		switch r.Outcome {
		case rules.OutcomeFail, rules.OutcomeFallback, rules.OutcomeDegraded:
			return exitError{code: exitFault}
		case rules.OutcomeOK, rules.OutcomeUnknown:
		}
		alone := r.Nodes == 1 || r.Ranks == 1
		told = told && r.Outcome == rules.OutcomeOK && (alone || r.Network.Used != nil && *r.Network.Used)
	}
	if !told {
		return exitError{code: exitUntold}
	}
	return nil
}

// logSources are the logs that the command line names.
func (a *app) logSources(ctx context.Context, args []string, follow bool, l *listener) ([]logInput, error) {
	namespace, explicit, err := a.flags.Namespace()
	if explicit && len(args) == 0 {
		return nil, errors.New("-n is for the logs of jobs: name one")
	}
	if !explicit {
		return a.logFiles(args, follow, l)
	}
	if err != nil {
		return nil, fault(err)
	}
	var all []logInput
	for _, name := range args {
		logs, err := a.jobLogs(ctx, namespace, name, follow, l)
		if err != nil {
			return nil, err
		}
		all = append(all, logs...)
	}
	return all, nil
}
