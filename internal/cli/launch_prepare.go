package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// pods are where the ranks run.
type pods interface {
	Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (exitCode int, err error)
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// launch runs one command in the pods of a job.
type launch struct {
	pods    pods
	streams Streams
	screen  *screen
	id      string
	ranks   []*rank
	argv    []string
	env     []string // NAME=VALUE
	files   []file
	force   bool
	limit   time.Duration // of the command; 0: none

	patience patience
	seen     *evidence
}

// rank is one pod of the job while a launch is under way.
type rank struct {
	target
	dir              string // where the command starts; "": where the image says
	debug, debugFile string // NCCL_DEBUG and NCCL_DEBUG_FILE of the container
	mode             string // RAILHEAD_MODE of the container
	errors           tail   // the end of its stderr
	warnings         []string
	unread           error // why NCCL's log of the pod could not be read

	lost   chan string // why the pod is lost, once it is
	gone   bool        // the pod is lost
	cut    bool        // the streams broke before the command's end was seen
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newLaunch(p pods, streams Streams, targets []target, argv []string) *launch {
	l := &launch{pods: p, streams: streams, screen: newScreen(streams.Out, streams.Err), id: newID(), argv: argv, patience: newPatience(30 * time.Second), seen: &evidence{}}
	for _, t := range targets {
		l.ranks = append(l.ranks, &rank{target: t, lost: make(chan string, 1)})
	}
	return l
}

// mark is the value of RAILHEAD_LAUNCH in a pod. The dot at its end keeps rank 1 from being taken for rank 10.
func (l *launch) mark(r *rank) string { return fmt.Sprintf("%s.%d.", l.id, r.rank) }

// podsAtOnce bounds how many pods are prepared at the same time.
const podsAtOnce = 16

// each does something for every rank, and returns what went wrong with each.
func (l *launch) each(do func(r *rank) error) error {
	var g errgroup.Group
	g.SetLimit(podsAtOnce)
	wrong := make([]error, len(l.ranks))
	for i, r := range l.ranks {
		g.Go(func() error {
			if err := do(r); err != nil {
				wrong[i] = fmt.Errorf("%s: %w", r, err)
			}
			return nil
		})
	}
	_ = g.Wait() // what went wrong is gathered by rank
	wrong = slices.DeleteFunc(wrong, func(err error) bool { return err == nil })
	const shown = 3 // mostly the others have the same to say
	if more := len(wrong) - shown; more > 0 {
		wrong = append(wrong[:shown], fmt.Errorf("and %s", count(more, "more rank")))
	}
	return errors.Join(wrong...)
}

// bare leaves the command out of an error of Exec, which is a whole script.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// ask runs a script in a rank's pod and returns what it wrote, at most a little.
func (l *launch) ask(ctx context.Context, r *rank, stdin io.Reader, command []string) (string, error) {
	const most = 64 << 10
	stdout, stderr := &bounded{limit: most}, &bounded{limit: most}
	code, err := l.pods.Exec(ctx, r.ref(), kube.ExecOptions{
		Container: r.container, Command: command, Stdin: stdin, Stdout: stdout, Stderr: stderr,
	})
	switch text := strings.TrimSpace(stderr.String()); {
	case err != nil:
		return "", bare(err)
	case code != 0 && text == "":
		return "", fmt.Errorf("exit code %d, and no word why", code)
	case code != 0:
		return "", errors.New(text)
	}
	return stdout.String(), nil
}

// prepare makes all pods ready to start at the same time, or none.
func (l *launch) prepare(ctx context.Context) error {
	copying := ""
	if len(l.files) > 0 {
		copying = "copy"
	}
	err := l.each(func(r *rank) error {
		text, err := l.ask(ctx, r, nil, l.script(r, prepareScript, podProgram, copying))
		if err != nil {
			return fmt.Errorf("the command cannot start there: %w", err)
		}
		answer := answers(text)
		r.dir, r.debug, r.debugFile, r.mode = answer["dir"], answer["debug"], answer["file"], answer["mode"]
		if pids := answer["running"]; pids != "" && !l.force {
			return fmt.Errorf("an earlier launch still runs there, and a second one on the same GPUs would hurt both: end it with 'kubectl exec -n %s %s -c %s -- sh -c \"kill %s\"', or say --force",
				r.pod.Namespace, r.pod.Name, trainContainer, pids)
		}
		return nil
	})
	if err != nil || len(l.files) == 0 {
		return err
	}
	return l.each(func(r *rank) error {
		for _, f := range l.files {
			if err := l.copy(ctx, r, f); err != nil {
				return fmt.Errorf("copy %s: %w", f.path, err)
			}
		}
		return nil
	})
}

// file is a local file that every pod gets a copy of.
type file struct {
	path, name string
	mode       string // of the copy
	size       int64
	sha256     string
}

// openFiles looks at the files that are to be copied.
func openFiles(paths []string) ([]file, error) {
	var files []file
	from := map[string]string{}
	for _, path := range paths {
		f, err := lookAtFile(path)
		if err != nil {
			return nil, fmt.Errorf("--copy: %w", err)
		}
		if other, twice := from[f.name]; twice {
			return nil, fmt.Errorf("--copy: %s and %s would both be %s in the pods", other, path, f.name)
		}
		from[f.name] = path
		files = append(files, f)
	}
	return files, nil
}

func lookAtFile(path string) (file, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return file{}, err
	case info.IsDir():
		return file{}, fmt.Errorf("%s is a directory: name its files, each with --copy; a whole tree is better in the image or on a volume", path)
	case !info.Mode().IsRegular():
		return file{}, fmt.Errorf("%s is no regular file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer in.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, in)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", path, err)
	}
	f := file{path: path, name: filepath.Base(path), mode: "644", size: size, sha256: hex.EncodeToString(sum.Sum(nil))}
	if info.Mode().Perm()&0o111 != 0 {
		f.mode = "755"
	}
	return f, nil
}

// copy puts a file into a rank's directory and compares what arrived.
func (l *launch) copy(ctx context.Context, r *rank, f file) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := f.name
	if strings.HasPrefix(name, "-") {
		name = "./" + name // else it is an option of the commands of the script
	}
	text, err := l.ask(ctx, r, in, l.script(r, copyScript, r.dir, name, f.mode))
	if err != nil {
		return err
	}
	return f.arrived(text)
}

// arrived judges what copyScript says of the copy: its size, and its hash where the image has sha256sum.
func (f file) arrived(text string) error {
	words := strings.Fields(text)
	if len(words) == 0 {
		return errors.New("the pod does not say what arrived")
	}
	if words[0] != strconv.FormatInt(f.size, 10) {
		return fmt.Errorf("%s bytes arrived of %d", words[0], f.size)
	}
	if len(words) > 1 && words[1] != f.sha256 {
		return fmt.Errorf("the copy is damaged, or the file changed meanwhile: its SHA-256 is %s, not %s", words[1], f.sha256)
	}
	return nil
}

// afterwards is a context for what must be done also after Ctrl-C, in bounded time.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	const limit = 30 * time.Second
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// clear removes from all pods what a launch that does not start has made there.
func (l *launch) clear(ctx context.Context) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	_ = l.each(func(r *rank) error { // a pod that cannot be reached has been named already
		_, err := l.ask(ctx, r, nil, l.script(r, clearScript, r.dir))
		return err
	})
}
