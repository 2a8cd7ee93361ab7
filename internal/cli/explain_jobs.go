package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/ranks"
)

// jobLogs returns the logs of a job's pods: of the containers that train, and of their previous runs.
func (e explainer) jobLogs(
	ctx context.Context, namespace, name string, r *logsource.Reader,
) ([]logsource.Log, error) {
	client, s, err := e.read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: namespace, Job: name})
	if err != nil {
		return nil, unknown(err)
	}
	if p := s.Problem(cluster.Pods); p != nil {
		return nil, exit.Error{Code: exit.Unknown, Err: fmt.Errorf("the pods of %s cannot be read: %s", name, p.Err)}
	}
	all := ranks.Targets(s, name, namespace)
	if len(all) == 0 {
		return nil, noPod(ctx, client, name, namespace)
	}
	var logs []logsource.Log
	for _, t := range all {
		c, why := ranks.ToRead(t, false)
		if why != "" {
			r.Skip(t.Pod.Name, why)
			continue
		}
		if c.Restarts > 0 {
			logs = append(logs, podLog(client, t, kube.LogOptions{Container: c.Name, Previous: true}))
		}
		logs = append(logs, podLog(client, t, kube.LogOptions{Container: c.Name, Follow: e.follow}))
	}
	if len(logs) == 0 {
		return nil, unknown(fmt.Errorf("no pod of %s has a log yet; see why with 'railhead status %s -n %s'",
			name, name, namespace))
	}
	return logs, nil
}

func podLog(client ranks.LogSource, t ranks.Target, o kube.LogOptions) logsource.Log {
	name := t.Pod.Name
	if o.Previous {
		name += " (before the restart)"
	}
	open := func(ctx context.Context) (io.ReadCloser, error) { return client.Logs(ctx, t.Ref(), o) }
	return logsource.Log{Name: name, Open: open}
}
