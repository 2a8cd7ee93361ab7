package kube

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/plan/delivery"
)

// Visit is a container to take a snapshot in.
type Visit struct {
	Pod       PodRef
	Container string // empty: the pod's default
}

// Visited is the snapshot of a container, or the reason why there is none.
type Visited struct {
	Visit
	Snapshot host.Snapshot
	Err      error
}

// VisitOptions are the options of Snapshots.
type VisitOptions struct {
	Timeout time.Duration // for each pod; 0: one minute
	Watch   time.Duration // between two readings of a pod; 0: one reading
	// Program returns railhead-pod for an architecture, to copy it into containers without it; nil: it is not copied.
	Program func(arch string) ([]byte, error)
}

const (
	// maxVisits bounds the concurrent visits: each is a stream through the API server and a kubelet. Those of pods that
	// are read twice wait most of the time.
	maxVisits, maxWatches = 32, 128
	// visitTries limits the attempts of a visit whose stream breaks: the API server or the kubelet may be restarting.
	visitTries = 3
)

// Snapshots runs railhead-pod in many pods and reports each result when it arrives, one at a time. The result of a pod
// that does not answer has an error. Snapshots returns the error of the context; it reports unfinished visits too.
func (c *Client) Snapshots(ctx context.Context, visits []Visit, o VisitOptions, report func(Visited)) error {
	timeout := cmp.Or(o.Timeout, time.Minute)
	atOnce := maxVisits
	if o.Watch > 0 {
		atOnce = maxWatches
	}
	return fanOut(ctx, len(visits), atOnce, timeout, func(ctx context.Context, i int) Visited {
		return snapshotter{c.Exec, visits[i], o}.snapshot(ctx)
	}, report)
}

// fanOut calls do n times, some at once, and limits the duration of each call.
func fanOut(
	ctx context.Context, n, atOnce int, timeout time.Duration,
	do func(ctx context.Context, i int) Visited, report func(Visited),
) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	var reporting sync.Mutex
	for i := range n {
		g.Go(func() error {
			once, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			v := do(once, i)
			switch {
			case v.Err == nil:
			case ctx.Err() != nil:
				v.Err = context.Cause(ctx)
			case once.Err() != nil:
				v.Err = fmt.Errorf("no answer within %v", timeout)
			}
			reporting.Lock()
			defer reporting.Unlock()
			report(v)
			return nil
		})
	}
	_ = g.Wait() // every error is in the results
	return ctx.Err()
}

// The scripts of a visit, for dash, bash and busybox. $1 is delivery.Path, $2 the flag of two readings.
const (
	// lookScript takes a snapshot with the railhead-pod in the container. Without one it prints the architecture and
	// exits with notThere.
	lookScript = `
for program in "$1" "$(command -v railhead-pod 2>/dev/null)"; do
	[ -x "$program" ] && exec "$program" snapshot $2
done
uname -m
exit 77
`
	// copyScript takes a snapshot with the railhead-pod on its stdin, and removes the copy. Directories may be
	// read-only or mounted noexec.
	copyScript = `
for base in "${TMPDIR:-/tmp}" /dev/shm /var/tmp /run .; do
	dir=$base/railhead-doctor-$$
	mkdir -m 700 "$dir" 2>/dev/null || continue
	if [ -z "$have" ]; then
		cat > "$dir/railhead-pod" || { rm -rf "$dir"; continue; }
	else
		cp "$have" "$dir/railhead-pod" || { rm -rf "$dir"; continue; }
		rm -rf "${have%/*}"
	fi
	have=$dir/railhead-pod
	trap 'rm -rf "${have%/*}"' EXIT HUP INT TERM
	chmod 755 "$have"
	"$have" --version > /dev/null 2>&1 || continue
	"$have" snapshot $2
	exit
done
[ -n "$have" ] && { echo "railhead-pod cannot be executed: all writable directories are mounted noexec" >&2; exit 1; }
echo "railhead-pod cannot be copied: no directory is writable" >&2
exit 1
`
)

// notThere is lookScript's exit code if the container has no railhead-pod.
const notThere = 77

// streamError means that the stream to a pod broke or did not start.
type streamError struct{ error }

// Unwrap returns the reason.
func (s streamError) Unwrap() error { return s.error }

// snapshotter takes the snapshot of one container.
type snapshotter struct {
	exec  func(ctx context.Context, pod PodRef, o ExecOptions) (int, error)
	visit Visit
	VisitOptions
}

// snapshot takes the snapshot, and tries again if the stream breaks or the output is cut short.
func (s snapshotter) snapshot(ctx context.Context) Visited {
	v := Visited{Visit: s.visit}
	for try := range visitTries {
		v.Snapshot, v.Err = AskAgain(func() (host.Snapshot, error) { return s.snapshotOnce(ctx) })
		if !errors.As(v.Err, new(streamError)) || pause(ctx, try) != nil {
			break
		}
	}
	return v
}

// snapshotOnce takes the snapshot. It copies railhead-pod into a container without it.
func (s snapshotter) snapshotOnce(ctx context.Context) (snapshot host.Snapshot, err error) {
	out, code, err := s.script(ctx, lookScript, nil)
	if code == notThere && err == nil {
		if s.Program == nil {
			return snapshot, errors.New("the container has no railhead-pod")
		}
		machine := strings.TrimSpace(out)
		program, missing := s.Program(architecture(machine))
		if missing != nil {
			return snapshot, fmt.Errorf("the container has no railhead-pod, and there is none to copy for %s: %w",
				machine, missing)
		}
		out, code, err = s.script(ctx, copyScript, bytes.NewReader(program))
	}
	switch {
	case err != nil:
		return snapshot, err
	case code != 0:
		return snapshot, fmt.Errorf("railhead-pod snapshot ended with exit code %d", code)
	}
	if err := DecodeSnapshot(strings.NewReader(out), &snapshot); err != nil {
		return snapshot, fmt.Errorf("the output of railhead-pod snapshot cannot be read: %w", err)
	}
	return snapshot, nil
}

// architecture converts the output of uname -m to Go's name.
func architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}

// script runs a script and returns its stdout. The error has its stderr.
func (s snapshotter) script(ctx context.Context, script string, in io.Reader) (out string, code int, err error) {
	const most = 32 << 20
	stdout, stderr := &Capture{Limit: most}, &Capture{Limit: 4 << 10}
	watch := ""
	if s.Watch > 0 {
		watch = "--watch=" + s.Watch.String()
	}
	code, err = s.exec(ctx, s.visit.Pod, ExecOptions{
		Container: s.visit.Container,
		Command:   []string{"sh", "-c", strings.TrimSpace(script), "railhead", delivery.Path, watch},
		Stdin:     in,
		Stdout:    stdout,
		Stderr:    stderr,
	})
	message := strings.TrimSpace(stderr.String())
	switch {
	case err != nil && !errors.As(err, new(*Forbidden)):
		err = streamError{err}
	case err != nil:
	case stdout.truncated():
		err = fmt.Errorf("railhead-pod printed more than %d MiB", most>>20)
	case code != 0 && code != notThere && message != "":
		err = errors.New(message)
	}
	return stdout.String(), code, err
}
