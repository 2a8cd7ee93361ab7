package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/host"
)

// lookTime bounds one look into a pod.
const lookTime = time.Minute

// snapshot is what railhead-pod sees in a pod. To look twice, where a stream broke, does no harm.
func (b *bencher) snapshot(ctx context.Context, i int) (host.Snapshot, error) {
	var s host.Snapshot
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	text, err := b.shell(ctx, i, `exec "$1" snapshot`, podProgram)
	if err != nil && ctx.Err() == nil {
		text, err = b.shell(ctx, i, `exec "$1" snapshot`, podProgram)
	}
	if err != nil {
		return s, fmt.Errorf("railhead-pod snapshot: %w", err)
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&s); err != nil {
		return s, fmt.Errorf("what railhead-pod says cannot be read: %w", err)
	}
	return s, nil
}

// tools are those that the image of a pod has.
func (b *bencher) tools(ctx context.Context, i int) (bench.Tools, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	text, err := b.shell(ctx, i, strings.TrimSpace(bench.ProbeScript))
	if err != nil {
		return nil, fmt.Errorf("look for tools: %w", err)
	}
	return bench.ParseTools(text), nil
}

// errLaunchRuns is that a pod trains by a launch.
var errLaunchRuns = errors.New("a launch runs there")

// free returns an error where a launch runs in a pod: a bench beside it would hurt both.
func (b *bencher) free(ctx context.Context, i int) error {
	text, err := b.shell(ctx, i, strings.TrimSpace(runningScript), sharedDir)
	if err != nil {
		return fmt.Errorf("see whether something runs: %w", err)
	}
	if pids := strings.TrimSpace(text); pids != "" {
		return fmt.Errorf("%w (processes %s), and a bench beside it would hurt both: wait for it, or say --force", errLaunchRuns, pids)
	}
	return nil
}

// enter is a pod with its tools, as its snapshot shows it; an error where it cannot be asked, or is not free.
func (b *bencher) enter(ctx context.Context, i int, s host.Snapshot, force bool) (bench.Pod, error) {
	tools, err := b.tools(ctx, i)
	if err == nil && !force {
		err = b.free(ctx, i)
	}
	p := b.targets[i].pod
	if len(s.NetworkStatus) == 0 { // pods see their own annotations only where they are mounted
		s.NetworkStatus, _ = host.ParseNetworkStatus(p.Annotations[host.NetworkStatusAnnotation]) // without it rails have the names of interfaces
	}
	return bench.PodOf(p.Name, p.Node, p.IP, tools, s), err
}

// meetAll looks into every pod and sets up the fleet; the error names the pods that could not be looked at, or are not free.
func (b *bencher) meetAll(ctx context.Context, force bool) (machines []host.Snapshot, left []string, err error) {
	pods := make([]bench.Pod, len(b.targets))
	machines = make([]host.Snapshot, len(b.targets))
	wrong := make([]error, len(b.targets))
	b.each(func(i int) {
		if machines[i], wrong[i] = b.snapshot(ctx, i); wrong[i] == nil {
			pods[i], wrong[i] = b.enter(ctx, i, machines[i], force)
		}
		if wrong[i] != nil {
			wrong[i] = fmt.Errorf("%s: %w", b.targets[i], wrong[i])
		}
	})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err := someOf(wrong); err != nil {
		return nil, nil, err
	}
	b.fleet.Pods, left = bench.Align(pods)
	return machines, left, nil
}

// someOf joins the first few errors: mostly the others have the same to say.
func someOf(wrong []error) error {
	const shown = 3
	wrong = slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
	if more := len(wrong) - shown; more > 0 {
		wrong = append(wrong[:shown], fmt.Errorf("and %s", count(more, "more pod")))
	}
	return errors.Join(wrong...)
}
