package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report/text"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/saved"
	"github.com/railhead/railhead/internal/workload"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	options  collect.Options
	binaries map[string]string
	cluster  bool
	measure  bool
	force    bool

	save, from string
	autopsy    string
	failOn     string
	format     string
}

func newDoctor(a *app) *cobra.Command {
	f := doctorFlags{failOn: "fail", format: "text", autopsy: "none"}
	cmd := &cobra.Command{
		Use:   "doctor [[KIND/]NAME | pod/POD... | node/NODE... | --cluster]",
		Short: "Find what keeps RDMA from working, root cause first, with the fix",
		Long: `doctor examines the cluster and the pods of a job, of a namespace (-n, or that of the kubeconfig), or the
named pods. It reports what is wrong in each pod, between pods and in the cluster: what was seen, what was expected
and what to do. A job is any workload, however it was created. In a namespace, doctor examines every workload that
requests GPUs or RDMA devices, even if it has no pods. Consequences are listed under their cause.
'railhead explain-check ID' prints more about a check.

doctor changes nothing in pods. If a pod has no railhead-pod, doctor copies it there and removes it again. It examines
a node with a temporary privileged pod, or with an unprivileged one if that is refused. It removes the pod at the end,
also after Ctrl-C.

--measure also measures between the pods on all rails, as 'railhead bench NAME --matrix --quick' does, with the
perftest of their image, and lists slow links under their cause. Measuring slows down training: pods that train or
might train are skipped; --force measures them too. With --nodes and --watch, the ports are read before and after the
measurement.

--save writes everything that was seen to an archive without secrets, to share with others. --from gives the same
diagnosis from the archive, without a cluster.

Exit status: 0 if no finding is as severe as --fail-on; 1 if one is; 2 if the command line is wrong; 3 if something
that matters could not be read, or if pods that should run do not, so that they could not be examined.`,
		Example: `  railhead doctor h-kim -n train              a job: its pods, and the cluster around them
  railhead doctor h-kim -n train --nodes      also their nodes
  railhead doctor -n train                    all jobs with GPUs or rails in a namespace
  railhead doctor trainjob/llama -n train     a job that something else created
  railhead doctor pod/h-kim-0 -n train        one pod of any job
  railhead doctor node/gpu-7 --watch 30s      one node, with the counters of its ports over 30 s
  railhead doctor h-kim -n train --measure    also the speed of each rail, if nothing trains there
  railhead doctor h-kim -n train --nodes --autopsy loc-prot-err     IBV_WC_LOC_PROT_ERR, vendor error 81
  railhead doctor --cluster -o json           only the cluster
  railhead doctor h-kim -n train --save h-kim.tgz && railhead doctor --from h-kim.tgz -o wide`,
		ValidArgsFunction: a.completeDoctor,
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := f.subject(watchTime(cmd, args))
			if err != nil {
				return err
			}
			if f.from != "" {
				return a.doctorFrom(f)
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			f.options.Subject = asked
			return a.doctor(ctx, f)
		},
	}
	f.add(cmd)
	return cmd
}

func (f *doctorFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	flags.BoolVar(&f.cluster, "cluster", false, "examine only the cluster, all of it")
	flags.BoolVar(&o.Nodes, "nodes", false, "also examine the nodes of the pods; needs an administrator")
	flags.DurationVar(&o.Probe.Watch, "watch", 0, "read the nodes again after this time, and judge their port counters")
	flags.Lookup("watch").NoOptDefVal = "10s"
	flags.BoolVar(&f.measure, "measure", false,
		"also measure between the pods on all rails, with the perftest of their image; slows down training")
	flags.BoolVar(&f.force, "force", false, "with --measure: also measure pods that train; both are slower")
	flags.StringVarP(&o.Container, "container", "c", "",
		"`name` of the container to examine (default: the one that trains, otherwise the first that runs)")
	flags.DurationVar(&o.Timeout, "timeout", time.Minute, "time for a pod to answer; a node has five times as long")
	flags.StringVar(&f.save, "save", "", "save everything that was seen to this archive `file` (tar.gz)")
	flags.StringVar(&f.from, "from", "",
		"diagnose this `file` instead of a cluster: an archive of --save, or a snapshot of railhead-pod")
	flags.BoolVar(&o.Logs, "logs", false,
		"also read and explain the logs of the pods; --save keeps the lines of NCCL and railhead-pod")
	flags.StringVar(&o.Probe.Image, "probe-image", "",
		"`image` with a shell for the pod on a node "+
			"(default: that of the node's machine-config-daemon, or openshift/cli)")
	binaryFlag(cmd, &f.binaries, "")
	choiceFlag(cmd, &f.autopsy, "autopsy", "",
		"list the possible causes of this NCCL error, and the experiment that tells them apart", "none", "loc-prot-err")
	choiceFlag(cmd, &f.failOn, "fail-on", "", "least severe finding that makes the exit status 1",
		"fail", "warn", "never")
	outputFlag(cmd, &f.format, "text", "wide", "json", "yaml")
	for _, name := range []string{"save", "from"} {
		_ = cmd.MarkFlagFilename(name, "tgz", "tar.gz", "json", "txtar") // the flags exist
	}
}

// subject returns what the arguments name.
func (f doctorFlags) subject(args []string) (workload.Subject, error) {
	asked := workload.Subject{Cluster: f.cluster}
	for _, arg := range args {
		if err := addSubject(&asked, arg); err != nil {
			return asked, err
		}
	}
	return asked, cmp.Or(f.checkWatch(asked), f.checkMeasure(asked), f.check(asked))
}

// addSubject adds a job, pod/POD, pod/NAMESPACE/POD as in findings, or node/NODE.
func addSubject(s *workload.Subject, arg string) error {
	kind, name, slash := strings.Cut(arg, "/")
	switch {
	case slash && slices.Contains([]string{"pod", "pods", "po"}, kind):
		ns, pod, qualified := strings.Cut(name, "/")
		if !qualified {
			ns, pod = s.Namespace, name
		}
		if pod == "" || strings.Contains(pod, "/") || s.Namespace != "" && ns != s.Namespace {
			return fmt.Errorf("%s is neither pod/POD nor pod/NAMESPACE/POD of one namespace", arg)
		}
		s.Namespace, s.Pods = ns, append(s.Pods, pod)
	case slash && slices.Contains([]string{"node", "nodes", "no"}, kind):
		s.Nodes = append(s.Nodes, name)
	case s.Job != "":
		return fmt.Errorf("unexpected argument %q: name one job, or pod/POD, or node/NODE", arg)
	default:
		ref, err := workload.ParseRef(arg)
		if err != nil {
			return err
		}
		s.Kind, s.Job = ref.Kind, ref.Name
	}
	return nil
}

// check returns an error for flags and names that exclude each other.
func (f doctorFlags) check(asked workload.Subject) error {
	named := asked.Job != "" || len(asked.Pods)+len(asked.Nodes) > 0
	switch {
	case f.cluster && named:
		return errors.New("--cluster examines only the cluster: remove it, or the names")
	case asked.Job != "" && len(asked.Pods) > 0:
		return errors.New("name a job or pods, not both")
	case f.from != "" && (named || f.cluster || f.options.Nodes || f.options.Container != "" || f.save != ""):
		return errors.New("--from diagnoses an archive: " +
			"it cannot be combined with names, --cluster, --nodes, --container or --save")
	case f.options.Timeout <= 0:
		return errors.New("--timeout must be more than 0")
	}
	return nil
}

func (f doctorFlags) checkWatch(asked workload.Subject) error {
	switch watch := f.options.Probe.Watch; {
	case watch == 0:
		return nil
	case f.from != "":
		return fmt.Errorf("--watch: %s is a file: its counters were read when it was saved", f.from)
	case watch < 0:
		return errors.New("--watch must be more than 0")
	case !f.options.Nodes && len(asked.Nodes) == 0:
		return errors.New("--watch reads the ports of nodes: name a node, or use --nodes")
	}
	return nil
}

func (f doctorFlags) checkMeasure(asked workload.Subject) error {
	switch {
	case !f.measure && !f.force:
		return nil
	case !f.measure:
		return errors.New("--force needs --measure")
	case f.from != "":
		return fmt.Errorf("--measure: %s is a file: it has the measurements of when it was saved", f.from)
	case f.cluster || len(asked.Nodes) > 0 && asked.Job == "" && len(asked.Pods) == 0:
		return errors.New("--measure measures between pods: name a job or pods, or a namespace with -n")
	}
	return nil
}

// watchTime reads the time after --watch without "=", and removes it from the names.
func watchTime(cmd *cobra.Command, args []string) []string {
	watch := cmd.Flags().Lookup("watch")
	if !watch.Changed || watch.Value.String() != watch.NoOptDefVal {
		return args
	}
	if i := slices.IndexFunc(args, func(arg string) bool { return watch.Value.Set(arg) == nil }); i >= 0 {
		return slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

// doctor examines, saves the bundle, and prints the diagnosis.
func (a *app) doctor(ctx context.Context, f doctorFlags) error {
	if err := checkWritable("--save", f.save); err != nil {
		return err
	}
	seen, err := a.examine(ctx, f)
	if err != nil {
		removeEmpty(f.save)
		return err
	}
	if f.save != "" {
		if err := writeFile(f.save, func(w io.Writer) error { return bundle.Write(w, seen) }); err != nil {
			return unknown(fmt.Errorf("--save: %w", err))
		}
		a.say("Saved to %s: check its content before you share it.", f.save)
	}
	clean := bundle.Clean(seen) // so that the archive gives the same diagnosis
	return a.showDiagnosis(clean, rules.JudgeAll(clean.Machines), f)
}

// doctorFrom diagnoses an archive, or the machine of a snapshot.
func (a *app) doctorFrom(f doctorFlags) error {
	file, err := saved.Read(f.from, rules.Judge)
	if err == nil && len(file.Machines) == 0 && file.Bundle == nil {
		err = errors.New("it is neither an archive of 'doctor --save' nor a machine")
	}
	if err != nil {
		return unknown(fmt.Errorf("--from %s: %w", f.from, err))
	}
	if file.Bundle == nil {
		b := bundle.Bundle{Manifest: bundle.Manifest{Subject: workload.SubjectOf(file.Machines[0].Ref)}}
		return a.showDiagnosis(b, file.Machines, f)
	}
	m := file.Bundle.Manifest
	a.say("From %s, taken %s by railhead %s.", f.from, m.Taken.Format(time.RFC3339), m.Version)
	return a.showDiagnosis(*file.Bundle, file.Machines, f)
}

// checkWritable checks the file of a flag before minutes of work.
func checkWritable(flag, name string) error {
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return usage(fmt.Errorf("%s: %w", flag, err))
	}
	return nil
}

// removeEmpty removes the file of checkWritable if nothing was written to it.
func removeEmpty(name string) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(name) // an empty archive is no harm
	}
}

// writeFile creates or overwrites a file that only its owner can read.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// showDiagnosis prints the diagnosis of a bundle and returns its exit code.
func (s Streams) showDiagnosis(b bundle.Bundle, machines []rules.Judged, f doctorFlags) error {
	v := collect.Judge(b, machines, f.explains())
	show := func(out io.Writer, wide bool) error {
		return text.Diagnosis(out, v, wide)
	}
	if err := s.print(f.format, v, show); err != nil {
		return err
	}
	return exitOfVerdict(v, f.failOn)
}

// explains reports whether the causes of an NCCL error are requested.
func (f doctorFlags) explains() bool { return f.autopsy != "none" }

// exitOfVerdict returns the exit code for --fail-on.
func exitOfVerdict(v rules.Verdict, failOn string) error {
	least := map[string]check.Status{"fail": check.Fail, "warn": check.Warn}[failOn]
	switch {
	case failOn == "never":
		return nil
	case v.Status() >= least:
		return exit.Error{Code: exit.Fault}
	case v.Unknown():
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}
