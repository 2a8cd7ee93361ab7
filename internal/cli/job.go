package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/workload"
)

// jobState is a job, with the parts of the cluster that were read for it.
type jobState struct {
	client *kube.Client
	ref    workload.Ref
	ns     string
	want   kube.Want
	state  cluster.State
	workload.Family
}

// readJob reads parts of the cluster for a job in the namespace of the command line.
func (a *app) readJob(ctx context.Context, name string, kinds ...cluster.Kind) (jobState, error) {
	ref, err := workload.ParseRef(name)
	if err != nil {
		return jobState{}, usage(err)
	}
	client, ns, err := a.connect(ctx)
	if err != nil {
		return jobState{}, err
	}
	j := jobState{client: client, ref: ref, ns: ns}
	j.want = kube.Want{Kinds: kinds, Namespace: ns, Job: ref.Name}
	return j, j.read(ctx)
}

// read reads the wanted parts. The pods of a job of `railhead deploy` have its label; if there are none, read looks at
// all pods and workloads of the namespace.
func (j *jobState) read(ctx context.Context) (err error) {
	if j.state, err = j.client.Read(ctx, j.want); err != nil {
		return exit.Failed(err)
	}
	if p := j.state.Problem(cluster.Pods); p != nil {
		return unknown(fmt.Errorf("the pods of %s cannot be read: %s", j.ref, p.Err))
	}
	j.Family, err = workload.Lookup(j.state, j.ref, j.ns)
	switch {
	case errors.Is(err, workload.ErrNotFound) && !j.want.Detail:
		j.want.Job, j.want.Detail = "", true
		j.also(cluster.Objects, cluster.Workloads)
		return j.read(ctx)
	case errors.Is(err, workload.ErrNotFound):
		return j.notFound()
	case err != nil:
		return usage(err)
	case j.want.Detail:
		j.state = j.Only(j.state)
	}
	return nil
}

// also adds lists to those that are read.
func (j *jobState) also(kinds ...cluster.Kind) {
	for _, k := range kinds {
		if !slices.Contains(j.want.Kinds, k) {
			j.want.Kinds = append(slices.Clone(j.want.Kinds), k)
		}
	}
}

// notFound names the jobs that exist, if all kinds of workloads could be read.
func (j *jobState) notFound() error {
	for _, list := range []cluster.Kind{cluster.Objects, cluster.Workloads} {
		if p := j.state.Problem(list); p != nil {
			return unknown(fmt.Errorf("whether there is a job %s could not be read: %s", j.ref, p.Err))
		}
	}
	text := launch.NoJobText(j.state, j.ref, j.ns)
	if !j.ref.Known() {
		return usage(errors.New(text))
	}
	return exit.Failed(noJobError(text))
}

// noJobError says that there is no such job.
type noJobError string

func (e noJobError) Error() string { return string(e) }

// Is makes errors.Is recognise the error as workload.ErrNotFound.
func (noJobError) Is(target error) bool { return target == workload.ErrNotFound }

// readError returns an error of readJob for commands that judge: what could not be read is unknown.
func readError(err error) error {
	var coded exit.Error
	if errors.Is(err, workload.ErrNotFound) || errors.As(err, &coded) && coded.Code == exit.Usage {
		return err
	}
	return unknown(err)
}

// statusCommand is the command that shows the state of the job.
func (j *jobState) statusCommand() string { return statusCommand(j.ref.String(), j.ns) }

func statusCommand(name, ns string) string { return fmt.Sprintf("railhead status %s -n %s", name, ns) }

// pods returns the pods by rank, or an error if there are none.
func (j *jobState) pods() ([]launch.Target, error) {
	if len(j.Pods) == 0 {
		return nil, exit.Failed(fmt.Errorf("job %s has no pods; see why with '%s'",
			j.ref, j.statusCommand()))
	}
	return launch.Targets(j.Family), nil
}

// jobToLaunch returns the pods of a job that train, if all are ready and free. Otherwise the error says which are not,
// and why.
func (a *app) jobToLaunch(ctx context.Context, name string, force bool) (*kube.Client, []launch.Target, error) {
	j, err := a.readJob(ctx, name, cluster.Pods, cluster.Objects)
	if err != nil {
		return nil, nil, err
	}
	if len(launch.NotReady(j.state, j.Family)) > 0 {
		return nil, nil, a.explainNotReady(ctx, j)
	}
	if p := j.state.Problem(cluster.Objects); j.Kind == "" && p != nil && !force {
		return nil, nil, unknown(fmt.Errorf("how many pods %s should have could not be read: %s; "+
			"use --force to start in those that run", name, p.Err))
	}
	pods := slices.DeleteFunc(launch.Targets(j.Family), func(t launch.Target) bool { return !j.Trains(t.Pod) })
	if err := launch.Busy(pods, name, j.ns); err != nil && !force {
		return nil, nil, exit.Failed(err)
	}
	return j.client, pods, nil
}

// explainNotReady prints why pods do not run.
func (s Streams) explainNotReady(ctx context.Context, j jobState) error {
	j.also(cluster.Events, cluster.Nodes, cluster.Networks)
	if err := j.read(ctx); err != nil {
		return err
	}
	s.showFindings(j.findings()...)
	return exit.Failed(fmt.Errorf("nothing was started: not all pods of %s are ready\n  %s\nSee: %s",
		j.ref, strings.Join(launch.NotReady(j.state, j.Family), "\n  "), j.statusCommand()))
}

// findings explains why pods do not run.
func (j *jobState) findings() []check.Finding {
	if !j.Deployed() && j.Kind != "" {
		return clusterrules.Incomplete(j.state, clusterrules.Options{Namespace: j.ns, Job: workload.RefOf(j.Workload)})
	}
	switch progress := job.Done(j.Name, j.ns, max(j.Size, len(j.Pods), 1))(j.state); {
	case progress.Stuck != nil:
		return []check.Finding{progress.Stuck.Finding}
	case progress.Doubt != nil:
		return []check.Finding{*progress.Doubt}
	}
	return nil
}

// readForJob reads the state for the plan of a job. Parts that are rarely needed are read only if the first read shows
// it.
func readForJob(ctx context.Context, client *kube.Client, o job.Options) (cluster.State, error) {
	want := kube.Want{
		Kinds:      job.Kinds(client.Server(), o),
		Namespace:  o.Namespace,
		Job:        o.Name,
		Everywhere: []cluster.Kind{cluster.Pods, cluster.ResourceClaims},
	}
	s, err := client.Read(ctx, want)
	if err != nil {
		return s, exit.Failed(err)
	}
	if want.Kinds = job.Needs(s, o); len(want.Kinds) > 0 {
		more, err := client.Read(ctx, want)
		if err != nil {
			return s, exit.Failed(err)
		}
		s = s.Join(more)
	}
	return s, nil
}
