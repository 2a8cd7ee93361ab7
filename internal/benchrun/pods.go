package benchrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
)

// visitTime bounds one visit of a pod.
const visitTime = time.Minute

// snapshot runs railhead-pod snapshot in a pod, a second time if the stream broke or the output was cut short.
func (s *session) snapshot(ctx context.Context, i int) (host.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	snapshot, err := kube.AskAgain(func() (snapshot host.Snapshot, err error) {
		text, err := s.shell(ctx, i, `exec "$1" snapshot`, launch.PodProgram)
		if err != nil && ctx.Err() == nil {
			text, err = s.shell(ctx, i, `exec "$1" snapshot`, launch.PodProgram)
		}
		if err != nil {
			return snapshot, err
		}
		err = kube.DecodeSnapshot(strings.NewReader(text), &snapshot)
		return snapshot, err
	})
	if err != nil {
		return snapshot, fmt.Errorf("railhead-pod snapshot: %w", err)
	}
	return snapshot, nil
}

// tools returns the tools in the image of a pod.
func (s *session) tools(ctx context.Context, i int) (bench.Tools, error) {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	text, err := s.read(ctx, i, bench.ProbeScript)
	if err != nil {
		return nil, fmt.Errorf("look for tools: %w", err)
	}
	return bench.ParseTools(text), nil
}

// errLaunchRuns is the error of a pod in use by a launch.
var errLaunchRuns = errors.New("a launch is running there")

// free returns an error if a launch runs in a pod: measuring would slow down both.
func (s *session) free(ctx context.Context, i int) error {
	text, err := s.read(ctx, i, runningScript, launch.SharedDir)
	if err != nil {
		return fmt.Errorf("look for running launches: %w", err)
	}
	if pids := strings.TrimSpace(text); pids != "" {
		return fmt.Errorf("%w (processes %s), and a bench would slow down both: wait for it, or use --force",
			errLaunchRuns, pids)
	}
	return nil
}

// enter returns a pod, from its snapshot and its tools. The error says why it cannot be used.
func (s *session) enter(ctx context.Context, i int, snapshot host.Snapshot, force bool) (bench.Pod, error) {
	tools, err := s.tools(ctx, i)
	if err == nil && !force {
		err = s.free(ctx, i)
	}
	p := s.targets[i].Pod
	if len(snapshot.NetworkStatus) == 0 { // pods see their own annotations only in a downward API volume
		snapshot.NetworkStatus, _ = host.ParseNetworkStatus(p.Annotations[host.NetworkStatusAnnotation])
	}
	return bench.PodOf(p.Name, p.Node, p.IP, tools, snapshot), err
}

// meetAll visits every pod and sets up the fleet. left names the rails that are left out.
func (s *session) meetAll(ctx context.Context, force bool) (machines []host.Snapshot, left []string, err error) {
	pods := make([]bench.Pod, len(s.targets))
	machines = make([]host.Snapshot, len(s.targets))
	failed := make([]error, len(s.targets))
	s.each(func(i int) {
		if machines[i], failed[i] = s.snapshot(ctx, i); failed[i] == nil {
			pods[i], failed[i] = s.enter(ctx, i, machines[i], force)
		}
		if failed[i] != nil {
			failed[i] = fmt.Errorf("%s: %w", s.targets[i], failed[i])
		}
	})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err := launch.FirstErrors(failed, "pod"); err != nil {
		return nil, nil, err
	}
	s.fleet.Pods, left = bench.Align(pods)
	return machines, left, nil
}
