package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// jobLogs are the logs of a job's pods: of the containers that train, and of their runs before a restart.
func (a *app) jobLogs(ctx context.Context, namespace, name string, follow bool, l *listener) ([]logInput, error) {
	client, s, err := a.read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: namespace, Job: name})
	if err != nil {
		return nil, err
	}
	if p := s.Problem(cluster.Pods); p != nil {
		return nil, exitError{exitUnknown, fmt.Errorf("the pods of %s cannot be read: %s", name, p.Err)}
	}
	all := targets(s, name, namespace)
	if len(all) == 0 {
		return nil, a.noPod(ctx, client, name, namespace)
	}
	var logs []logInput
	for _, t := range all {
		c, why := toRead(t, false)
		if why != "" {
			l.skip(t.pod.Name, why)
			continue
		}
		if c.Restarts > 0 {
			logs = append(logs, podLog(client, t, kube.LogOptions{Container: c.Name, Previous: true}))
		}
		logs = append(logs, podLog(client, t, kube.LogOptions{Container: c.Name, Follow: follow}))
	}
	if len(logs) == 0 {
		return nil, fault(errors.New("no pod of " + name + " has a log yet: 'railhead status " + name + " -n " + namespace + "' says why"))
	}
	return logs, nil
}

func podLog(client logSource, t target, o kube.LogOptions) logInput {
	name := t.pod.Name
	if o.Previous {
		name += " (before the restart)"
	}
	return logInput{name, func(ctx context.Context) (io.ReadCloser, error) { return client.Logs(ctx, t.ref(), o) }}
}
