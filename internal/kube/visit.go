package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/host"
)

// Visit is a container in which railhead-pod is to look around.
type Visit struct {
	Pod       PodRef
	Container string // "": the pod's default
}

// Visited is the result of one visit, or the reason why there is none.
type Visited struct {
	Visit
	Snapshot host.Snapshot
	Err      error
}

// VisitOptions of Visit.
type VisitOptions struct {
	Timeout time.Duration                     // for each pod; 0: one minute
	Program func(arch string) ([]byte, error) // railhead-pod, for pods that do not have it; nil: it is not brought
}

// visitsAtOnce bounds how many pods are visited at the same time: each is a stream through the API server and a
// kubelet.
const visitsAtOnce = 32

const visitTime = time.Minute

// Snapshots lets railhead-pod look around in many pods, and tells of each once, one at a time, as they answer. A pod
// that does not answer is one with an error. The error is that of the context: what has not answered by then is told
// of, too.
func (c *Client) Snapshots(ctx context.Context, visits []Visit, o VisitOptions, tell func(Visited)) error {
	if o.Timeout == 0 {
		o.Timeout = visitTime
	}
	return fanOut(ctx, len(visits), o.Timeout, func(ctx context.Context, i int) Visited {
		return guest{run: c.Exec, visit: visits[i], program: o.Program}.receive(ctx)
	}, tell)
}

// visitTries limits the attempts of a visit whose connection breaks: a stream goes through the API server and a
// kubelet, and either may be busy or restart. To look twice does no harm.
const visitTries = 3

// receive looks, and again where the connection broke.
func (g guest) receive(ctx context.Context) Visited {
	v := Visited{Visit: g.visit}
	for try := range visitTries {
		if v.Snapshot, v.Err = g.look(ctx); v.Err == nil || !errors.As(v.Err, new(streamError)) || pause(ctx, try) != nil {
			break
		}
	}
	return v
}

// streamError is why a stream to a pod broke, or was not begun, in the words of whoever broke it.
type streamError struct{ error }

// Unwrap returns it.
func (s streamError) Unwrap() error { return s.error }

// fanOut does something n times, at most visitsAtOnce at the same time and each for so long at most.
func fanOut(ctx context.Context, n int, each time.Duration, do func(ctx context.Context, i int) Visited, tell func(Visited)) error {
	var g errgroup.Group
	g.SetLimit(visitsAtOnce)
	var telling sync.Mutex
	for i := range n {
		g.Go(func() error {
			once, cancel := context.WithTimeout(ctx, each)
			defer cancel()
			v := do(once, i)
			switch {
			case v.Err == nil:
			case ctx.Err() != nil:
				v.Err = context.Cause(ctx)
			case once.Err() != nil:
				v.Err = fmt.Errorf("no answer within %v", each)
			}
			telling.Lock()
			defer telling.Unlock()
			tell(v)
			return nil
		})
	}
	_ = g.Wait() // every error is in the results
	return ctx.Err()
}

// Where railhead-pod lies in the pods of a job.
const carriedProgram = "/railhead/bin/railhead-pod"

// The scripts of a visit. They run in dash, bash and busybox; $1 is where the pods of a job have
// railhead-pod.
const (
	// lookScript takes a snapshot with the railhead-pod that is there. Without one it ends with notThere, and says what
	// machine this is.
	lookScript = `
for program in "$1" "$(command -v railhead-pod 2>/dev/null)"; do
	[ -x "$program" ] && exec "$program" snapshot
done
uname -m
exit 77
`
	// bringScript takes a snapshot with the railhead-pod on its input, and leaves nothing behind. Folders may be
	// read-only, or mounted without the right to execute.
	bringScript = `
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
	"$have" snapshot
	exit
done
[ -n "$have" ] && { echo "railhead-pod cannot be executed in any folder that can be written: they are mounted noexec" >&2; exit 1; }
echo "no folder can be written, to put railhead-pod there" >&2
exit 1
`
)

// notThere is lookScript's exit code where a pod has no railhead-pod.
const notThere = 77

// guest is railhead-pod in one container.
type guest struct {
	run     func(ctx context.Context, pod PodRef, o ExecOptions) (int, error)
	visit   Visit
	program func(arch string) ([]byte, error)
}

// look takes the snapshot, and brings railhead-pod where it is not there.
func (g guest) look(ctx context.Context) (host.Snapshot, error) {
	out, code, err := g.shell(ctx, lookScript, nil)
	if code == notThere && err == nil {
		if g.program == nil {
			return host.Snapshot{}, errors.New("there is no railhead-pod in it")
		}
		machine := strings.TrimSpace(string(out))
		program, known := g.program(architecture(machine))
		if known != nil {
			return host.Snapshot{}, fmt.Errorf("there is no railhead-pod in it, and none to bring for %s: %w", machine, known)
		}
		out, code, err = g.shell(ctx, bringScript, bytes.NewReader(program))
	}
	var s host.Snapshot
	switch {
	case err != nil:
		return s, err
	case code != 0:
		return s, fmt.Errorf("railhead-pod snapshot ended with exit code %d", code)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, fmt.Errorf("what railhead-pod says cannot be read: %w", err)
	}
	return s, nil
}

// architecture is the machine as Go names it.
func architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return machine
}

// shell runs a script. The error contains its stderr.
func (g guest) shell(ctx context.Context, script string, in io.Reader) (out []byte, code int, err error) {
	const most, mostOfErrors = 32 << 20, 4 << 10
	stdout, stderr := &limited{left: most}, &limited{left: mostOfErrors}
	code, err = g.run(ctx, g.visit.Pod, ExecOptions{
		Container: g.visit.Container, Command: []string{"sh", "-c", strings.TrimSpace(script), "railhead", carriedProgram}, Stdin: in, Stdout: stdout, Stderr: stderr,
	})
	said := strings.TrimSpace(stderr.text.String())
	switch {
	case err != nil:
		if inner := errors.Unwrap(err); inner != nil { // without the command, which is a whole script
			err = inner
		}
		if refused := new(Forbidden); !errors.As(err, &refused) {
			err = streamError{err}
		}
	case stdout.over:
		err = fmt.Errorf("it says more than %d MiB", most>>20)
	case code != 0 && code != notThere && said != "":
		err = errors.New(said)
	}
	return stdout.text.Bytes(), code, err
}

// limited keeps the first bytes that are written to it.
type limited struct {
	text bytes.Buffer
	left int
	over bool
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.over = l.over || n < len(p)
	l.text.Write(p[:n])
	return len(p), nil
}
