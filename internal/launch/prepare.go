package launch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/words"
)

// Pods runs commands in pods and watches them.
type Pods interface {
	Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (exitCode int, err error)
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// Streams receive the output of all ranks. Messages of the launch go to Err.
type Streams struct {
	Out, Err io.Writer
	Color    bool
}

// Session runs one command in the pods of a job.
type Session struct {
	pods    Pods
	console *console
	color   bool
	ID      string
	ranks   []*rank
	Command []string
	Env     []string // NAME=VALUE
	Files   []file
	Force   bool
	Limit   time.Duration // of the command; 0: no limit
	Logs    *Folder       // nil: none
	Job     string        // its name and namespace, as in a command line: h-kim -n train

	worldSize func() int

	attached *Attached // nil: the command runs as long as the launch
	begun    time.Time // when the attached run was started

	Patience patience
	Evidence *Evidence

	FirstReading time.Duration // of the queue pairs; each later one comes after a longer time. 0: none is taken
	readings     Readings
}

// rank is one pod of a running launch.
type rank struct {
	Target
	dir       string    // working directory; empty: the image's
	settings  Settings  // of its command
	errors    lastLines // the end of its stderr
	warnings  []string
	logErr    error // of reading NCCL's log in the pod
	started   bool  // detached
	refused   bool  // railhead-pod wrote a message of its own
	unstarted bool  // the command was not started

	lost         chan string // why the pod is lost
	podLost      bool
	disconnected bool // the streams broke before the command exited
	ctx          context.Context
	cancel       context.CancelCauseFunc
}

// New returns a launch of argv in pods.
func New(p Pods, streams Streams, targets []Target, argv []string) *Session {
	l := &Session{
		pods:     p,
		console:  NewConsole(streams.Out, streams.Err),
		color:    streams.Color,
		ID:       NewID(),
		Command:  argv,
		Patience: NewPatience(30 * time.Second),
		Evidence: &Evidence{},

		FirstReading: 5 * time.Second,
	}
	for _, t := range targets {
		l.ranks = append(l.ranks, &rank{Target: t, lost: make(chan string, 1)})
	}
	l.worldSize = sync.OnceValue(l.countProcesses)
	return l
}

// NewID returns a random name, by which a launch or a bench finds its own files and processes in a pod.
func NewID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// mark returns the value of RAILHEAD_LAUNCH in a pod. The final dot tells rank 1 from rank 10.
func (l *Session) mark(r *rank) string { return fmt.Sprintf("%s.%d.", l.ID, r.Rank) }

// PodsAtOnce bounds how many pods are prepared at the same time.
const PodsAtOnce = 16

// forEach calls do for every rank and joins the first errors.
func (l *Session) forEach(do func(r *rank) error) error {
	var g errgroup.Group
	g.SetLimit(PodsAtOnce)
	errs := make([]error, len(l.ranks))
	for i, r := range l.ranks {
		g.Go(func() error {
			if err := do(r); err != nil {
				errs[i] = fmt.Errorf("%s: %w", r, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return FirstErrors(errs, "rank")
}

// FirstErrors joins the first errors about ranks or pods: the others are usually alike.
func FirstErrors(errs []error, noun string) error {
	const shown = 3
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - shown; more > 0 {
		errs = append(errs[:shown], fmt.Errorf("and %s", words.Count(more, "more "+noun)))
	}
	return errors.Join(errs...)
}

// Read runs a script that changes nothing in a pod and returns its output, also with an error. It runs the script again
// if the output was cut short.
func Read(ctx context.Context, p Pods, t Target, most int, script string, args ...string) (string, error) {
	command := reading(script, args...)
	return kube.AskAgain(func() (string, error) {
		text, err := Output(ctx, p, t, kube.ExecOptions{Command: command}, most)
		switch {
		case err != nil:
			return text, err
		case len(text) == most:
			return text, fmt.Errorf("the output has more than %d bytes", most)
		}
		return kube.Unframed(text)
	})
}

// reading returns the command that Read runs.
func reading(script string, args ...string) []string {
	return append([]string{"sh", "-c", kube.Framed(script), "railhead"}, args...)
}

// runScript runs a script in a rank's pod and returns its output, up to a limit.
func (l *Session) runScript(ctx context.Context, r *rank, stdin io.Reader, command []string) (string, error) {
	return Output(ctx, l.pods, r.Target, kube.ExecOptions{Command: command, Stdin: stdin}, 64<<10)
}

// Output runs a command in a pod and returns the first bytes of its stdout, also with an error, which has its stderr.
func Output(ctx context.Context, p Pods, t Target, o kube.ExecOptions, most int) (string, error) {
	stdout, stderr := &kube.Capture{Limit: most}, &kube.Capture{Limit: 4 << 10}
	o.Container, o.Stdout, o.Stderr = t.Container, stdout, stderr
	code, err := p.Exec(ctx, t.Ref(), o)
	switch text := strings.TrimSpace(stderr.String()); {
	case err != nil:
	case code != 0 && text == "":
		err = fmt.Errorf("exit code %d without a message", code)
	case code != 0:
		err = errors.New(text)
	}
	return stdout.String(), err
}

// Prepare makes all pods ready to start together, or returns an error.
func (l *Session) Prepare(ctx context.Context) error {
	copying := ""
	if len(l.Files) > 0 {
		copying = "copy"
	}
	err := l.forEach(func(r *rank) error {
		text, err := l.runScript(ctx, r, nil, l.script(r, kube.Framed(prepareScript), PodProgram, copying))
		if err == nil {
			text, err = kube.Unframed(text) // without its end it may hide a running launch
		}
		if err != nil {
			return fmt.Errorf("the command cannot start: %w", err)
		}
		answer := parseAnswers(text)
		r.dir, r.settings = answer["dir"], settingsOf(l, answer)
		switch pids := answer["running"]; {
		case pids == "" || l.Force:
		case answer["detached"] != "":
			return fmt.Errorf("a detached run is still running here and uses the same GPUs. "+
				"See it with 'railhead launch %s --attach', stop it with 'railhead launch %s --stop', or use --force",
				l.Job, l.Job)
		default:
			return fmt.Errorf("an earlier launch is still running here and uses the same GPUs. "+
				"Stop it with 'kubectl exec -n %s %s -c %s -- sh -c \"kill %s\"', or use --force",
				r.Pod.Namespace, r.Pod.Name, r.Container, pids)
		}
		return nil
	})
	if err != nil || len(l.Files) == 0 {
		return err
	}
	return l.forEach(func(r *rank) error {
		for _, f := range l.Files {
			if err := l.copy(ctx, r, f); err != nil {
				return fmt.Errorf("copy %s: %w", f.path, err)
			}
		}
		return nil
	})
}

// Afterwards returns a context for cleaning up, also after Ctrl-C, in bounded time.
func Afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	const limit = 30 * time.Second
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// clear removes the files of a launch that did not start.
func (l *Session) clear(ctx context.Context) {
	ctx, cancel := Afterwards(ctx)
	defer cancel()
	_ = l.forEach(func(r *rank) error { // the error that prevented the start was reported
		_, err := l.runScript(ctx, r, nil, l.script(r, clearScript, r.dir))
		return err
	})
}
