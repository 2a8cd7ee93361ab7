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
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// doctorFlags are what is looked at and how, and what becomes of it.
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

// exitUndecided is doctor's code where something that matters could not be read.
const exitUndecided = 2

func (a *app) newDoctor() *cobra.Command {
	f := doctorFlags{failOn: "fail", format: "text", autopsy: "none"}
	cmd := &cobra.Command{
		Use:   "doctor [NAME | pod/POD... | node/NODE... | --cluster]",
		Short: "Find what keeps RDMA from working, root cause first, with the fix",
		Long: `doctor looks at the cluster and into the pods of a job, of a namespace (-n, or the kubeconfig's), or those that are named, and
says what is wrong with each, between them, and with the cluster around them: what was seen, what was expected, and what to
do. What follows from something else is folded under it. 'railhead explain-check ID' prints more of each check.

It writes nothing to pods but railhead-pod, where they do not have it, for the moment of the look. A node is looked at by a
privileged pod that is removed afterwards, also after Ctrl-C; where that is refused, by one without privileges.

--measure then measures between the pods on all rails, as 'railhead bench NAME --matrix --quick' does, by the perftest of their
image: what is slow stands under what explains it, and what nothing explains comes first. It disturbs what trains there, so that
pods are left out that train, or may; --force measures all the same. With --nodes and --watch the ports count what is measured.

--save keeps everything that was seen in one archive without secrets, for those who help; --from gives the same verdict
from it, without a cluster.

Exit status: 0 when nothing is as grave as --fail-on; 1 when something is; 2 when something that matters could not be read.`,
		Example: `  railhead doctor h-kim -n train              a job: its pods, and the cluster around them
  railhead doctor h-kim -n train --nodes      and the nodes that they are on
  railhead doctor -n train                    all pods with rails of a namespace
  railhead doctor pod/h-kim-0 -n train        one pod, of whatever job
  railhead doctor node/gpu-7 --watch 30s      one node, with what its ports count meanwhile
  railhead doctor h-kim -n train --measure    and how fast each rail is, while nothing trains there
  railhead doctor h-kim -n train --nodes --autopsy loc-prot-err     IBV_WC_LOC_PROT_ERR, vendor error 81
  railhead doctor --cluster -o json           the cluster alone
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
	flags := cmd.Flags()
	flags.BoolVar(&f.cluster, "cluster", false, "the cluster alone, and all of it")
	flags.BoolVar(&f.nodes, "nodes", false, "also the nodes that the pods are on; needs an administrator")
	flags.DurationVar(&f.watch, "watch", 0, "read the nodes again after this time, and judge what their ports counted in it")
	flags.Lookup("watch").NoOptDefVal = "10s"
	flags.BoolVar(&f.measure, "measure", false, "then measure between the pods on all rails, by the perftest of their image; it disturbs what trains there")
	flags.BoolVar(&f.force, "force", false, "with --measure: measure although the pods train, or may; both are slower then")
	flags.StringVarP(&f.container, "container", "c", "", "container to look into (default that which trains, or the first that runs)")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long a pod has to answer; a node has five times that")
	flags.StringVar(&f.save, "save", "", "keep what was seen in this archive (tar.gz), without secrets")
	flags.StringVar(&f.from, "from", "", "judge an archive of --save instead of a cluster")
	flags.BoolVar(&f.logs, "logs", false, "read the pods' logs, too, and tell their story; with --save keep of them what NCCL and railhead-pod wrote")
	flags.StringVar(&f.probe.image, "probe-image", "", "image with a shell for the pod that looks at a node (default that of the node's machine-config-daemon, or else openshift/cli)")
	flags.StringToStringVar(&f.probe.binaries, "pod-binary", nil, "railhead-pod to look with, by architecture: amd64=FILE (default the one that railhead carries)")
	choiceFlag(cmd, &f.autopsy, "autopsy", "", "say which causes of this error of NCCL fit what was seen, and the experiment that tells the rest apart", "none", "loc-prot-err")
	choiceFlag(cmd, &f.failOn, "fail-on", "", "the mildest finding that makes the exit status 1", "fail", "warn", "never")
	choiceFlag(cmd, &f.format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	for _, name := range []string{"save", "from"} {
		_ = cmd.MarkFlagFilename(name, "tgz", "tar.gz") // the flags exist
	}
	return cmd
}

// subject reads the command line.
func (f doctorFlags) subject(args []string) (bundle.Subject, error) {
	asked := bundle.Subject{Cluster: f.cluster}
	for _, arg := range args {
		kind, name, named := strings.Cut(arg, "/")
		switch {
		case !named && asked.Job == "":
			asked.Job = arg
		case kind == "pod" || kind == "pods" || kind == "po":
			ns, pod, qualified := strings.Cut(name, "/") // as findings name it
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
	several := asked.Job != "" && len(asked.Pods) > 0
	switch {
	case f.cluster && len(args) > 0:
		return asked, errors.New("--cluster is for the cluster alone: leave it out, or the names")
	case several:
		return asked, errors.New("name a job, or pods, not both")
	case f.from != "" && (len(args) > 0 || f.cluster || f.nodes || f.container != "" || f.save != ""):
		return asked, errors.New("--from judges what is in the archive: it goes with no name, and not with --cluster, --nodes, --container or --save")
	case f.timeout <= 0:
		return asked, errors.New("--timeout must be more than 0")
	}
	return asked, nil
}

// period takes the time behind --watch, where it was written without "=", out of the names.
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

// watchable reports why nothing can be watched.
func (f doctorFlags) watchable(asked bundle.Subject) error {
	switch {
	case f.from != "":
		return fmt.Errorf("--watch: %s is an archive, and counts nothing more: what was watched when it was made is judged", f.from)
	case f.watch < 0:
		return errors.New("--watch must be more than 0")
	case !f.nodes && len(asked.Nodes) == 0:
		return errors.New("--watch reads nodes again, where ports count: name a node, or say --nodes")
	}
	return nil
}

// measurable reports why nothing can be measured.
func (f doctorFlags) measurable(asked bundle.Subject) error {
	switch {
	case !f.measure:
		return errors.New("--force is for --measure")
	case f.from != "":
		return fmt.Errorf("--measure: %s is an archive: what was measured when it was made is judged", f.from)
	case f.cluster || len(asked.Nodes) > 0 && asked.Job == "" && len(asked.Pods) == 0:
		return errors.New("--measure measures between pods: name a job or pods, or a namespace by -n")
	}
	return nil
}

// doctor looks, keeps what it saw where that is wanted, and judges.
func (a *app) doctor(ctx context.Context, asked bundle.Subject, f doctorFlags) error {
	if f.save != "" { // before the work of minutes
		if err := writable(f.save); err != nil {
			return exitError{exitUsage, fmt.Errorf("--save: %w", err)}
		}
	}
	seen, err := a.examine(ctx, asked, f)
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := writeFile(f.save, func(w io.Writer) error { return bundle.Write(w, seen) }); err != nil {
			return exitError{exitUndecided, fmt.Errorf("--save: %w", err)}
		}
		a.say("Kept in %s: read it over before you send it on.", f.save)
	}
	return a.pronounce(bundle.Clean(seen), f) // so that the archive gives the same verdict
}

// doctorFrom judges an archive.
func (a *app) doctorFrom(f doctorFlags) error {
	file, err := os.Open(f.from)
	if err != nil {
		return exitError{exitUndecided, fmt.Errorf("--from: %w", err)}
	}
	defer file.Close()
	b, err := bundle.Read(file)
	if err != nil {
		return exitError{exitUndecided, fmt.Errorf("--from %s: %w", f.from, err)}
	}
	a.say("From %s, taken %s by railhead %s.", f.from, b.Manifest.Taken.Format(time.RFC3339), b.Manifest.Version)
	return a.pronounce(b, f)
}

func writable(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// writeFile makes a file, or makes it anew, for its owner alone.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// diagnose judges a bundle: the same one gives the same verdict, wherever it comes from.
func diagnose(b bundle.Bundle, autopsy bool) rules.Diagnosis {
	found := plan.PoolFindings(b.State)
	if job := b.Manifest.Subject.Job; job != "" {
		if f, ok := plan.UnmadePods(b.State, job, b.Manifest.Subject.Namespace); ok {
			found = append(found, f)
		}
	}
	return rules.Diagnose(rules.Case{
		State: b.State, Machines: b.Machines, Cluster: rules.ClusterOptions{Found: found, Namespace: b.Manifest.Subject.Namespace, Whole: b.Manifest.Subject.Cluster}, Autopsy: autopsy, Bench: b.Bench,
	})
}

// pronounce writes the verdict, and ends with its exit code.
func (a *app) pronounce(b bundle.Bundle, f doctorFlags) error {
	d := diagnose(b, f.autopsy != "none")
	verdict := doctorVerdict{Subject: b.Manifest.Subject, Diagnosis: d}
	if len(b.Logs) > 0 {
		story := storyOf(b.Logs, snapshotsOf(b.Machines))
		verdict.Log = &story
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

// exitOfDiagnosis is the exit code of a diagnosis.
func exitOfDiagnosis(d rules.Diagnosis, logged check.Status, failOn string) error {
	limit := map[string]check.Status{"fail": check.Fail, "warn": check.Warn}[failOn]
	switch {
	case failOn == "never":
		return nil
	case max(d.Worst(), logged) >= limit:
		return exitError{code: exitFault}
	case d.Unknown():
		return exitError{code: exitUndecided}
	}
	return nil
}
