package cli

import (
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
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	cluster   bool
	nodes     bool
	watch     time.Duration
	measure   bool
	force     bool
	container string
	timeout   time.Duration
	probe     nodeProbe

	save, from string
	logs       bool
	autopsy    string
	failOn     string
	format     string
}

func (a *app) newDoctor() *cobra.Command {
	f := doctorFlags{failOn: "fail", format: "text", autopsy: "none"}
	cmd := &cobra.Command{
		Use:   "doctor [NAME | pod/POD... | node/NODE... | --cluster]",
		Short: "Find what keeps RDMA from working, root cause first, with the fix",
		Long: `doctor examines the cluster and the pods of a job, of a namespace (-n, or the kubeconfig's), or the named pods. It reports
what is wrong with each pod, between them, and with the cluster: what was seen, what was expected, and what to do.
Consequences are listed under their cause. 'railhead explain-check ID' prints more about each check.

doctor changes nothing in pods. If a pod has no railhead-pod, doctor copies it there and removes it again. A node is examined
by a temporary privileged pod; if that is refused, by one without privileges. It is removed at the end, also after Ctrl-C.

--measure also measures between the pods on all rails, as 'railhead bench NAME --matrix --quick' does, with the perftest of
their image. It lists slow links under their cause. Measuring slows down training: pods that train, or might, are skipped;
--force measures anyway. With --nodes and --watch the ports are read before and after the measurement.

--save writes everything that was seen to one archive without secrets, for others to analyse. --from gives the same diagnosis
from the archive, without a cluster.

Exit status: 0 if no finding is as severe as --fail-on; 1 if one is; 2 if the command line is wrong; 3 if something that
matters could not be read.`,
		Example: `  railhead doctor h-kim -n train              a job: its pods, and the cluster around them
  railhead doctor h-kim -n train --nodes      also their nodes
  railhead doctor -n train                    all pods with rails in a namespace
  railhead doctor pod/h-kim-0 -n train        one pod of any job
  railhead doctor node/gpu-7 --watch 30s      one node, with the counters of its ports over 30 s
  railhead doctor h-kim -n train --measure    also the speed of each rail, if nothing trains there
  railhead doctor h-kim -n train --nodes --autopsy loc-prot-err     IBV_WC_LOC_PROT_ERR, vendor error 81
  railhead doctor --cluster -o json           only the cluster
  railhead doctor h-kim -n train --save h-kim.tgz && railhead doctor --from h-kim.tgz -o wide`,
		ValidArgsFunction: a.completeDoctor,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = period(cmd, args)
			asked, err := f.subject(args)
			if err != nil {
				return err
			}
			if f.from != "" {
				return a.doctorFrom(f)
			}
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return a.doctor(ctx, asked, f)
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *doctorFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.cluster, "cluster", false, "examine only the cluster, all of it")
	flags.BoolVar(&f.nodes, "nodes", false, "also examine the nodes of the pods; needs an administrator")
	flags.DurationVar(&f.watch, "watch", 0, "read the nodes again after this time, and judge the counters of their ports")
	flags.Lookup("watch").NoOptDefVal = "10s"
	flags.BoolVar(&f.measure, "measure", false,
		"also measure between the pods on all rails, with the perftest of their image; slows down training")
	flags.BoolVar(&f.force, "force", false, "with --measure: measure also pods that train, or might; both are slower")
	flags.StringVarP(&f.container, "container", "c", "",
		"container to examine (default the one that trains, or else the first that runs)")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "time for a pod to answer; a node has five times that")
	flags.StringVar(&f.save, "save", "", "save everything that was seen to this archive (tar.gz), without secrets")
	flags.StringVar(&f.from, "from", "", "diagnose an archive of --save instead of a cluster")
	flags.BoolVar(&f.logs, "logs", false,
		"also read and explain the logs of the pods; --save keeps the lines of NCCL and railhead-pod")
	flags.StringVar(&f.probe.image, "probe-image", "",
		"image with a shell for the pod on a node (default that of the node's machine-config-daemon, or else openshift/cli)")
	flags.StringToStringVar(&f.probe.binaries, "pod-binary", nil,
		"railhead-pod to use, by architecture: amd64=FILE (default the one that railhead contains)")
	choiceFlag(cmd, &f.autopsy, "autopsy", "",
		"list the possible causes of this NCCL error, and the experiment that tells them apart", "none", "loc-prot-err")
	choiceFlag(cmd, &f.failOn, "fail-on", "", "least severe finding that makes the exit status 1", "fail", "warn", "never")
	choiceFlag(cmd, &f.format, "output", "o", "output format", "text", "wide", "json", "yaml")
	for _, name := range []string{"save", "from"} {
		_ = cmd.MarkFlagFilename(name, "tgz", "tar.gz") // the flags exist
	}
}

func (f doctorFlags) subject(args []string) (bundle.Subject, error) {
	asked := bundle.Subject{Cluster: f.cluster}
	for _, arg := range args {
		kind, name, named := strings.Cut(arg, "/")
		switch {
		case !named && asked.Job == "":
			asked.Job = arg
		case kind == "pod" || kind == "pods" || kind == "po":
			ns, pod, qualified := strings.Cut(name, "/") // as in findings
			if !qualified {
				ns, pod = asked.Namespace, name
			}
			if pod == "" || strings.Contains(pod, "/") || asked.Namespace != "" && ns != asked.Namespace {
				return asked, fmt.Errorf("%s is neither pod/POD nor pod/NAMESPACE/POD of one namespace", arg)
			}
			asked.Namespace, asked.Pods = ns, append(asked.Pods, pod)
		case kind == "node" || kind == "nodes" || kind == "no":
			asked.Nodes = append(asked.Nodes, name)
		default:
			return asked, fmt.Errorf("%s is neither one job nor pod/POD nor node/NODE", arg)
		}
	}
	if f.watch != 0 {
		if err := f.watchable(asked); err != nil {
			return asked, err
		}
	}
	if f.measure || f.force {
		if err := f.measurable(asked); err != nil {
			return asked, err
		}
	}
	return asked, f.combined(asked)
}

// combined returns an error for flags and names that exclude each other.
func (f doctorFlags) combined(asked bundle.Subject) error {
	named := asked.Job != "" || len(asked.Pods)+len(asked.Nodes) > 0
	switch {
	case f.cluster && named:
		return errors.New("--cluster examines only the cluster: remove it, or the names")
	case asked.Job != "" && len(asked.Pods) > 0:
		return errors.New("name a job or pods, not both")
	case f.from != "" && (named || f.cluster || f.nodes || f.container != "" || f.save != ""):
		return errors.New("--from diagnoses an archive: it cannot be combined with names, --cluster, --nodes, --container or --save")
	case f.timeout <= 0:
		return errors.New("--timeout must be more than 0")
	}
	return nil
}

// period removes a time that follows --watch without "=" from the names.
func period(cmd *cobra.Command, args []string) []string {
	watch := cmd.Flags().Lookup("watch")
	if !watch.Changed || watch.Value.String() != watch.NoOptDefVal {
		return args
	}
	if i := slices.IndexFunc(args, func(arg string) bool { return watch.Value.Set(arg) == nil }); i >= 0 {
		return slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

// watchable returns why --watch has nothing to read.
func (f doctorFlags) watchable(asked bundle.Subject) error {
	switch {
	case f.from != "":
		return fmt.Errorf("--watch: %s is an archive: its counters were read when it was made", f.from)
	case f.watch < 0:
		return errors.New("--watch must be more than 0")
	case !f.nodes && len(asked.Nodes) == 0:
		return errors.New("--watch reads the ports of nodes: name a node, or use --nodes")
	}
	return nil
}

// measurable returns why --measure cannot measure.
func (f doctorFlags) measurable(asked bundle.Subject) error {
	switch {
	case !f.measure:
		return errors.New("--force needs --measure")
	case f.from != "":
		return fmt.Errorf("--measure: %s is an archive: it has the measurements of when it was made", f.from)
	case f.cluster || len(asked.Nodes) > 0 && asked.Job == "" && len(asked.Pods) == 0:
		return errors.New("--measure measures between pods: name a job or pods, or a namespace with -n")
	}
	return nil
}

// doctor examines, saves the bundle, and prints the diagnosis.
func (a *app) doctor(ctx context.Context, asked bundle.Subject, f doctorFlags) error {
	if f.save != "" { // before minutes of work
		if err := writable(f.save); err != nil {
			return exit.Error{Code: exit.Usage, Err: fmt.Errorf("--save: %w", err)}
		}
	}
	seen, err := a.examine(ctx, asked, f)
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := writeFile(f.save, func(w io.Writer) error { return bundle.Write(w, seen) }); err != nil {
			return exit.Error{Code: exit.Unknown, Err: fmt.Errorf("--save: %w", err)}
		}
		a.say("Saved to %s: check its content before you share it.", f.save)
	}
	return a.showDiagnosis(bundle.Clean(seen), f) // clean, so that the archive gives the same diagnosis
}

// doctorFrom diagnoses an archive.
func (a *app) doctorFrom(f doctorFlags) error {
	file, err := os.Open(f.from)
	if err != nil {
		return exit.Error{Code: exit.Unknown, Err: fmt.Errorf("--from: %w", err)}
	}
	defer file.Close()
	b, err := bundle.Read(file)
	if err != nil {
		return exit.Error{Code: exit.Unknown, Err: fmt.Errorf("--from %s: %w", f.from, err)}
	}
	a.say("From %s, taken %s by railhead %s.", f.from, b.Manifest.Taken.Format(time.RFC3339), b.Manifest.Version)
	return a.showDiagnosis(b, f)
}

func writable(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// writeFile creates or overwrites a file that only its owner can read.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// diagnose judges a bundle, from a cluster or from an archive.
func diagnose(b bundle.Bundle, autopsy bool) rules.Diagnosis {
	asked := b.Manifest.Subject
	return rules.Diagnose(rules.Case{
		State:    b.State,
		Machines: b.Machines,
		Cluster:  clusterrules.Options{Namespace: asked.Namespace, Job: asked.Job, Whole: asked.Cluster},
		Autopsy:  autopsy,
		Bench:    b.Bench,
	})
}

// showDiagnosis prints the diagnosis of a bundle and returns its exit code.
func (a *app) showDiagnosis(b bundle.Bundle, f doctorFlags) error {
	d := diagnose(b, f.autopsy != "none")
	verdict := doctorVerdict{Subject: b.Manifest.Subject, Diagnosis: d}
	if len(b.Logs) > 0 {
		logs := logsource.Archived(b.Logs, snapshotsOf(b.Machines))
		verdict.Log = &logs
	}
	var err error
	if f.format == "json" || f.format == "yaml" {
		err = report.Encode(a.streams.Out, f.format, verdict)
	} else {
		err = verdict.write(a.streams.Out, f.format == "wide")
	}
	if err != nil {
		return err
	}
	return exitOfDiagnosis(d, verdict.logged(), f.failOn)
}

func exitOfDiagnosis(d rules.Diagnosis, logged check.Status, failOn string) error {
	limit := map[string]check.Status{"fail": check.Fail, "warn": check.Warn}[failOn]
	switch {
	case failOn == "never":
		return nil
	case max(d.Worst(), logged) >= limit:
		return exit.Error{Code: exit.Fault}
	case d.Unknown():
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}
