package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/saved"
	"github.com/railhead/railhead/internal/story"
)

// explainer reads logs and machines, and prints the story of the run.
type explainer struct {
	app    *app
	format string
	with   []string
	follow bool
}

func newExplain(a *app) *cobra.Command {
	e := explainer{app: a, format: "text"}
	cmd := &cobra.Command{
		Use:   "explain [FILE... | -n NAMESPACE [KIND/]NAME...]",
		Short: "Explain a training log: which network it really used, and the first cause if it failed",
		Long: `explain finds the lines of NCCL or RCCL in a training log of one rank or of thousands. It reports which
network the run really used, with the line that proves it, and whether GPUs and NICs exchanged data directly. If the run
failed, it reports the first failure, its consequences and the fix. It needs no cluster.

Files may be compressed (gzip, zstd) or in UTF-16; a folder means all logs in it; - is standard input. With -n the
arguments are jobs in that namespace, and explain reads the logs of their pods. What 'railhead launch' started in a pod
is not in them: name the folder of its --log-dir. Logs show the most if the job ran with
` + strings.Join(story.NCCLVariables(), " and ") + `.

--with adds the state of the machines, from 'railhead-pod snapshot' or 'railhead doctor --save', which tells causes
apart that look the same in a log. An archive with logs (doctor --logs) needs no other log. With --follow, findings are
printed as soon as they appear, and the full explanation at the end.

Exit status: 0 if RDMA was used, or no network was needed; 1 if the run failed, fell back to TCP or was slower than
possible; 3 if the log does not show it, or a log could not be read.`,
		Example: `  railhead explain train.log
  railhead explain logs/                                 one file per rank
  torchrun train.py 2>&1 | railhead explain --follow     warn as soon as the job starts on TCP
  railhead explain -n train h-kim                        the logs of a job's pods
  railhead explain train.log --with pod.json -o json | jq '.runs[].causes'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.explain(cmd.Context(), args)
			stopped := e.follow && cmd.Context().Err() != nil && len(s.Runs) > 0 // a file ends only by Ctrl-C
			if err != nil && !stopped {
				return err
			}
			show := func(out io.Writer, wide bool) error { return e.write(out, wide, s) }
			return cmp.Or(a.print(e.format, s, show), err, exitOfStory(s))
		},
	}
	flags := cmd.Flags()
	outputFlag(cmd, &e.format, "text", "wide", "json", "yaml")
	flags.StringArrayVar(&e.with, "with", nil, "`file` with the state of machines: an archive of 'doctor --save', "+
		"or the output of 'railhead-pod snapshot [--raw]'; repeatable")
	flags.BoolVarP(&e.follow, "follow", "f", false, "keep reading while the log grows, and print findings at once")
	return cmd
}

// explain reads the logs and the machines, and returns the story.
func (e explainer) explain(ctx context.Context, args []string) (story.Story, error) {
	machines, logs, err := readWith(e.with)
	if err != nil {
		return story.Story{}, unknown(err)
	}
	if len(args) == 0 && len(logs) > 0 {
		return logsource.Archived(logs, rules.ForLogs(machines)), nil
	}
	r := logsource.Reader{Machines: rules.ForLogs(machines)}
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

// readWith reads and judges saved machines, and reads the logs in archives.
func readWith(names []string) (machines []rules.Judged, logs []bundle.Log, err error) {
	for _, name := range names {
		file, err := saved.Read(name, rules.Judge)
		if err == nil && file.Bundle == nil && len(file.Machines) == 0 {
			err = errors.New("it holds no machine")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--with %s: %w", name, err)
		}
		machines = append(machines, file.Machines...)
		if file.Bundle != nil {
			logs = append(logs, file.Bundle.Logs...)
		}
	}
	return machines, logs, nil
}

// warnOnce returns a function that prints the warnings of a story, each once.
func (e explainer) warnOnce() func(story.Story) {
	printed := map[string]bool{}
	return func(s story.Story) {
		for _, warning := range text.Warnings(s) {
			if !printed[warning] {
				printed[warning] = true
				e.app.sayLine(warning)
			}
		}
	}
}

func (e explainer) write(out io.Writer, wide bool, s story.Story) error {
	for _, skipped := range s.Skipped {
		e.app.say("not read: %s: %s", skipped.File, skipped.Reason)
	}
	return text.Story(out, s, wide)
}

// exitOfStory returns the exit code of a story.
func exitOfStory(s story.Story) error {
	known := len(s.Runs) > 0 && !slices.ContainsFunc(s.Skipped, func(log story.Skipped) bool { return log.Failed })
	for _, r := range s.Runs {
		switch r.Outcome {
		case story.OutcomeFail, story.OutcomeFallback, story.OutcomeDegraded:
			return exit.Error{Code: exit.Fault}
		case story.OutcomeOK, story.OutcomeUnknown:
		}
		alone := r.Nodes == 1 || r.Ranks == 1
		known = known && r.Outcome == story.OutcomeOK && (alone || r.Network.Used != nil && *r.Network.Used)
	}
	if !known {
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}

// logSources returns the logs that the command line names.
func (e explainer) logSources(ctx context.Context, args []string, r *logsource.Reader) ([]logsource.Log, error) {
	if _, explicit, _ := e.app.flags.Namespace(); explicit {
		return e.jobLogs(ctx, args, r)
	}
	if len(args) == 0 {
		if e.app.TTY {
			return nil, errors.New("name a log, or pipe one in; with -n NAMESPACE, name a job")
		}
		args = []string{logsource.Stdin}
	}
	return r.Files(args, e.app.In, e.follow), nil
}

func (e explainer) jobLogs(ctx context.Context, names []string, r *logsource.Reader) ([]logsource.Log, error) {
	if len(names) == 0 {
		return nil, errors.New("-n needs the name of a job")
	}
	var all []logsource.Log
	for _, name := range names {
		logs, err := e.podLogs(ctx, name, r)
		if err != nil {
			return nil, err
		}
		all = append(all, logs...)
	}
	return all, nil
}

// podLogs returns the logs of a job's pods: of the containers that train, and of their previous runs.
func (e explainer) podLogs(ctx context.Context, name string, r *logsource.Reader) ([]logsource.Log, error) {
	j, err := e.app.readJob(ctx, name, cluster.Pods)
	if err != nil {
		return nil, readError(err)
	}
	pods, err := j.pods()
	if err != nil {
		return nil, err
	}
	var logs []logsource.Log
	for _, t := range pods {
		c, why := launch.ToRead(t, false)
		if why != "" {
			r.Skip(t.Pod.Name, why)
			continue
		}
		if c.Restarts > 0 {
			logs = append(logs, podLog(j.client, t, kube.LogOptions{Container: c.Name, Previous: true}))
		}
		logs = append(logs, podLog(j.client, t, kube.LogOptions{Container: c.Name, Follow: e.follow}))
	}
	if len(logs) == 0 {
		return nil, unknown(fmt.Errorf("no pod of %s has a log yet; see why with '%s'", name, j.statusCommand()))
	}
	return logs, nil
}

func podLog(client launch.LogSource, t launch.Target, o kube.LogOptions) logsource.Log {
	name := t.Pod.Name
	if o.Previous {
		name += " (before the restart)"
	}
	open := func(ctx context.Context) (io.ReadCloser, error) { return client.Logs(ctx, t.Ref(), o) }
	return logsource.Log{Name: name, Open: open}
}
