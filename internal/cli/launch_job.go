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

// jobToLaunch returns the pods of a job if all are ready and free. Otherwise the error says which are not, and why.
func (a *app) jobToLaunch(ctx context.Context, name string, force bool) (*kube.Client, []ranks.Target, error) {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, nil, exit.Failed(err)
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Objects}, Namespace: ns, Job: name}
	client, s, err := a.read(ctx, want)
	if err != nil {
		return nil, nil, err
	}
	if p := s.Problem(cluster.Pods); p != nil {
		return nil, nil, unknown(fmt.Errorf("the pods of %s cannot be read: %s", name, p.Err))
	}
	all := ranks.Targets(s, name, ns)
	w, known := ranks.WorkloadOf(s, name, ns)
	if len(all) == 0 && !known {
		return nil, nil, noSuchJob(ctx, client, name, ns)
	}
	if len(ranks.NotReady(s, name, ns, w.Pods)) > 0 {
		return nil, nil, explainNotReady(ctx, a, client, name, ns, w.Pods)
	}
	switch err := ranks.Busy(s, name, ns); {
	case err == nil || force:
	case errors.Is(err, ranks.ErrUnknownCommand):
		return nil, nil, exit.Error{Code: exit.Unknown, Err: err}
	default:
		return nil, nil, exit.Failed(err)
	}
	return client, all, nil
}

// explainNotReady prints why pods do not run.
func explainNotReady(ctx context.Context, a *app, client *kube.Client, name, ns string, n int) error {
	s, err := client.Read(ctx, kube.Want{
		Kinds: []cluster.Kind{cluster.Pods, cluster.Events, cluster.Nodes, cluster.Networks}, Namespace: ns, Job: name,
	})
	if err != nil {
		return exit.Failed(err)
	}
	if stuck := job.Done(name, ns, n)(s).Stuck; stuck != nil {
		a.findings(stuck.Finding)
	}
	return exit.Failed(fmt.Errorf("nothing was started: not all pods of %s are ready\n  %s\n"+
		"See: railhead status %s -n %s",
		name, strings.Join(ranks.NotReady(s, name, ns, n), "\n  "), name, ns))
}

// noSuchJob names the jobs that exist.
func noSuchJob(ctx context.Context, client *kube.Client, name, ns string) error {
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: ns})
	if err != nil {
		return exit.Failed(err)
	}
	return exit.Failed(errors.New(ranks.NoJobText(s, name, ns)))
}
