// Package collect visits the pods and nodes of a job, a namespace or a cluster and collects their state in a bundle.
package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Cluster is the API server; *kube.Client implements it.
type Cluster interface {
	Read(ctx context.Context, w kube.Want) (cluster.State, error)
	Snapshots(ctx context.Context, visits []kube.Visit, o kube.VisitOptions, tell func(kube.Visited)) error
	LogReader
	Creator
	ImageSource
}

// LogReader reads the logs of pods.
type LogReader interface {
	Logs(ctx context.Context, pod kube.PodRef, o kube.LogOptions) (io.ReadCloser, error)
}

// ImageSource finds an image with a shell that a node has, or can pull.
type ImageSource interface {
	ShellImage(ctx context.Context, node string) (string, error)
}

// Options selects the machines to examine, and how to examine them.
type Options struct {
	Subject   workload.Subject
	Nodes     bool          // also the nodes of the pods
	Logs      bool          // also the logs of the pods
	Container string        // to visit; "": the one that trains
	Timeout   time.Duration // for a pod to answer; five times that for a node
	Every     time.Duration // between the two readings of a pod; 0: a second
	Probe     Probe
	// Measure measures between the visited pods; nil: nothing is measured. With Probe.Watch it runs while the nodes are
	// watched, so that their port counters include its traffic.
	Measure func(ctx context.Context, seen bundle.Bundle, pods []cluster.Pod) (*bench.Result, error)
	Program func(arch string) ([]byte, error) // railhead-pod, for pods without it
	Version string                            // of railhead
	Live    *report.Live
}

// Errors of names that the cluster does not have.
var (
	ErrNoJob = errors.New("there is no such job")
	ErrNoPod = errors.New("there is no such pod")

	errNoNamespace = errors.New("no such namespace")
)

// Run examines what the options select, and returns the job that they name, if any. If it fails, the bundle has
// everything read until then.
func Run(ctx context.Context, c Cluster, o Options) (b bundle.Bundle, job workload.Family, err error) {
	e := examiner{cluster: c, Options: o}
	b.Manifest = bundle.Manifest{Version: o.Version, Taken: time.Now().UTC(), Subject: o.Subject}
	if b.State, job, err = e.read(ctx); err != nil {
		return b, job, err
	}
	subject := &b.Manifest.Subject
	pods, err := e.choose(b.State, job, subject)
	if err != nil {
		return b, job, err
	}
	if b.Machines, err = e.visit(ctx, pods); err != nil {
		e.say("Interrupted: %d of %s answered.", len(b.Machines), words.Count(len(pods), "pod"))
		return b, job, err
	}
	if o.Nodes {
		for _, p := range pods {
			if !slices.Contains(subject.Nodes, p.Node) && p.Node != "" {
				subject.Nodes = append(subject.Nodes, p.Node)
			}
		}
	}
	if err := e.nodesAndLinks(ctx, &b, pods); err != nil {
		return b, job, err
	}
	if o.Logs {
		b.Logs = e.readLogs(ctx, pods)
	}
	return b, job, ctx.Err()
}

// read reads the cluster for the subject, and finds its job, if it names one. The pods of a workload that railhead did
// not deploy have no label to select them by.
func (e examiner) read(ctx context.Context) (cluster.State, workload.Family, error) {
	want := Want(e.Subject)
	s, err := e.cluster.Read(ctx, want)
	if err != nil || want.Job == "" {
		return s, workload.Family{}, err
	}
	ref := e.Subject.Ref()
	f, err := workload.Lookup(s, ref, want.Namespace)
	switch {
	case errors.Is(err, workload.ErrNotFound): // choose says so
		return s, workload.Family{}, nil
	case err != nil || f.Deployed() || f.Kind == "":
		return s, f, err
	}
	want.Job, want.Detail = "", true
	s, err = e.cluster.Read(ctx, want)
	f, _ = workload.Lookup(s, ref, want.Namespace)
	return f.Only(s), f, err
}

// ClusterKinds returns the kinds of objects that determine which RDMA devices pods can get.
func ClusterKinds() []cluster.Kind {
	return append(cluster.ClaimKinds(),
		cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks, cluster.SriovNetworks,
		cluster.SriovPolicies, cluster.SriovNodes, cluster.SCCs, cluster.SCCGrants)
}

// Want returns the objects of the cluster that concern a subject.
func Want(subject workload.Subject) kube.Want {
	if subject.Cluster {
		return kube.Want{Kinds: ClusterKinds()}
	}
	return kube.Want{
		Kinds: append(ClusterKinds(),
			cluster.Events, cluster.Objects, cluster.Workloads, cluster.Namespaces, cluster.ServiceAccounts,
			cluster.TrainJobs),
		Namespace:  subject.Namespace,
		Job:        subject.Job,
		Detail:     subject.Job == "",
		Everywhere: []cluster.Kind{cluster.Pods, cluster.ResourceClaims}, // they hold what others wait for
	}
}

// examiner is one examination.
type examiner struct {
	cluster Cluster
	Options
}

func (e examiner) say(format string, args ...any) { e.Live.Say(fmt.Sprintf(format, args...)) }

// nodesAndLinks examines the nodes and then measures between the pods. With Probe.Watch it does both at the same time.
func (e examiner) nodesAndLinks(ctx context.Context, b *bundle.Bundle, pods []cluster.Pod) error {
	nodes, seen := b.Manifest.Subject.Nodes, *b
	measure := func() (err error) {
		if e.Measure != nil {
			b.Bench, err = e.Measure(ctx, seen, pods)
		}
		return err
	}
	examine := func(l listener) error {
		machines, err := e.nodes(ctx, seen.State, nodes, l)
		b.Machines = append(b.Machines, machines...)
		return err
	}
	if len(nodes) == 0 {
		return measure()
	}
	if e.Measure == nil || e.Probe.Watch == 0 {
		if err := examine(listener{machine: e.progress("node", len(nodes)), running: func() {}}); err != nil {
			return err
		}
		return measure()
	}
	e.say("Examining %s while measuring", words.Count(len(nodes), "node"))
	watching := make(chan struct{})
	running := sync.OnceFunc(func() { close(watching) })
	var g errgroup.Group
	g.Go(func() error {
		defer running() // even if no pod started
		return examine(listener{machine: func(rules.Machine) {}, running: running})
	})
	<-watching
	err := measure()
	return cmp.Or(g.Wait(), err)
}

// progress shows how many machines have been examined.
func (e examiner) progress(noun string, n int) func(rules.Machine) {
	frame := report.Frame{
		Text: "Examining " + words.Count(n, noun),
		Bars: []report.Bar{{Name: noun + "s", Total: n}},
	}
	e.Live.Show(frame)
	return func(m rules.Machine) {
		frame.Bars[0].Count++
		const shown = 5
		if m.Unreached != "" && len(frame.Parts) < shown {
			frame.Parts = append(frame.Parts, report.Part{Name: m.Ref.String(), Note: m.Unreached})
		}
		e.Live.Show(frame)
	}
}
