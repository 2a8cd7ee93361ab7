package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/ranks"
)

// jobState is a job, with the parts of the cluster that were read for it.
type jobState struct {
	client   *kube.Client
	name, ns string
	state    cluster.State
}

// readJob reads parts of the cluster for a job in the namespace of the command line.
func (a *app) readJob(ctx context.Context, name string, kinds ...cluster.Kind) (jobState, error) {
	client, ns, err := a.connect(ctx)
	if err != nil {
		return jobState{}, err
	}
	j := jobState{client: client, name: name, ns: ns}
	j.state, err = j.read(ctx, kinds...)
	return j, err
}

func (j jobState) want(kinds ...cluster.Kind) kube.Want {
	return kube.Want{Kinds: kinds, Namespace: j.ns, Job: j.name}
}

func (j jobState) read(ctx context.Context, kinds ...cluster.Kind) (cluster.State, error) {
	s, err := j.client.Read(ctx, j.want(kinds...))
	if err != nil {
		return s, exit.Failed(err)
	}
	return s, nil
}

// statusCommand is the command that shows the state of the job.
func (j jobState) statusCommand() string { return statusCommand(j.name, j.ns) }

func statusCommand(name, ns string) string { return fmt.Sprintf("railhead status %s -n %s", name, ns) }

// pods returns the pods, or why they are not known.
func (j jobState) pods() ([]ranks.Target, error) {
	if p := j.state.Problem(cluster.Pods); p != nil {
		return nil, unknown(fmt.Errorf("the pods of %s cannot be read: %s", j.name, p.Err))
	}
	return ranks.Targets(j.state, j.name, j.ns), nil
}

// noPods says whether the job exists, or names those that do.
func (j jobState) noPods(ctx context.Context) error {
	s, err := j.client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: j.ns})
	if err != nil {
		return exit.Failed(err)
	}
	if _, ok := ranks.WorkloadOf(s, j.name, j.ns); ok {
		return exit.Failed(fmt.Errorf("job %s has no pods, so there is no log; see why with '%s'",
			j.name, j.statusCommand()))
	}
	return exit.Failed(errors.New(ranks.NoJobText(s, j.name, j.ns)))
}

// jobToLaunch returns the pods of a job if all are ready and free. Otherwise the error says which are not, and why.
func (a *app) jobToLaunch(ctx context.Context, name string, force bool) (*kube.Client, []ranks.Target, error) {
	j, err := a.readJob(ctx, name, cluster.Pods, cluster.Objects)
	if err != nil {
		return nil, nil, err
	}
	pods, err := j.pods()
	if err != nil {
		return nil, nil, err
	}
	w, known := ranks.WorkloadOf(j.state, name, j.ns)
	if len(pods) == 0 && !known {
		return nil, nil, j.noPods(ctx)
	}
	if len(ranks.NotReady(j.state, name, j.ns, w.Pods)) > 0 {
		return nil, nil, a.explainNotReady(ctx, j, w.Pods)
	}
	switch err := ranks.Busy(j.state, name, j.ns); {
	case err == nil || force:
		return j.client, pods, nil
	case errors.Is(err, ranks.ErrUnknownCommand):
		return nil, nil, unknown(err)
	default:
		return nil, nil, exit.Failed(err)
	}
}

// explainNotReady prints why pods do not run.
func (a *app) explainNotReady(ctx context.Context, j jobState, size int) error {
	s, err := j.read(ctx, cluster.Pods, cluster.Events, cluster.Nodes, cluster.Networks)
	if err != nil {
		return err
	}
	if stuck := job.Done(j.name, j.ns, size)(s).Stuck; stuck != nil {
		a.showFindings(stuck.Finding)
	}
	return exit.Failed(fmt.Errorf("nothing was started: not all pods of %s are ready\n  %s\nSee: %s",
		j.name, strings.Join(ranks.NotReady(s, j.name, j.ns, size), "\n  "), j.statusCommand()))
}

// readForJob reads the state for the plan of a job. Parts that are rarely needed are read only if the first read shows
// it.
func (a *app) readForJob(ctx context.Context, client *kube.Client, o job.Options) (cluster.State, error) {
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
