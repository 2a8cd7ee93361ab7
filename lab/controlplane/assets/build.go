package assets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grace is the time that an interrupted go command gets before it is killed.
const grace = 10 * time.Second

// Programs are the paths of built programs.
type Programs map[Program]string

// Build returns the paths of the programs, and builds those first that are not in the cache: from nothing that takes
// minutes, afterwards milliseconds. It gives progress a line before and after every build; progress may be nil.
//
// The cache is in $XDG_CACHE_HOME/railhead/lab, else ~/.cache/railhead/lab, a folder per module and hash of its
// sources. Several processes may build at once: one builds, the others wait for it. A build that is interrupted
// leaves nothing that looks like a program.
func Build(ctx context.Context, progress func(line string), programs ...Program) (Programs, error) {
	if progress == nil {
		progress = func(string) {}
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	if err := Use(ctx, progress); err != nil {
		return nil, err
	}
	b := builder{modules: filepath.Join(root, "modules"), cache: cache, recipes: recipes(), progress: progress}
	built := Programs{}
	for _, p := range programs {
		if built[p], err = b.build(ctx, p); err != nil {
			return nil, fmt.Errorf("build %s: %w", p, err)
		}
	}
	return built, nil
}

// BuildOwn builds a package of this module into a file. The go command's own cache makes that quick.
func BuildOwn(ctx context.Context, pkg, file string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, root, pkg, file)
}

// BuildPod builds railhead-pod for linux/amd64, which the lab's nodes are, from the main module: this one does not
// import it.
func BuildPod(ctx context.Context, file string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return build(ctx, filepath.Dir(root), "./cmd/railhead-pod", file, "GOOS=linux", "GOARCH=amd64")
}

func build(ctx context.Context, folder, pkg, file string, env ...string) error {
	_, err := runGoIn(ctx, env, folder, "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	return err
}

// builder builds programs of the modules into the cache.
type builder struct {
	modules, cache string
	recipes        map[Program]recipe
	progress       func(string)
}

func (b builder) build(ctx context.Context, p Program) (string, error) {
	r, ok := b.recipes[p]
	if !ok {
		return "", fmt.Errorf("no such program")
	}
	folder, err := b.folder(r.module)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, string(p))
	if isFile(path) {
		return path, nil
	}
	unlock, err := lock(ctx, folder+".lock", func() {
		b.progress(fmt.Sprintf("waiting for another process that builds programs of lab/modules/%s", r.module))
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(path) {
		return path, nil // the other process built it
	}
	return path, b.compile(ctx, p, r, path)
}

// compile builds the program next to its place and moves it there when it is whole.
func (b builder) compile(ctx context.Context, p Program, r recipe, path string) error {
	module := filepath.Join(b.modules, r.module)
	version, err := pinned(ctx, module, r.version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	name := strings.TrimSpace(string(p) + " " + version)
	b.progress(fmt.Sprintf("building %s (about %s the first time)", name, roughly(r.first)))
	start := time.Now()
	part := path + ".part" // the holder of the lock owns it
	defer os.Remove(part)
	quiet := patiently(start, func(so time.Duration) { b.progress(fmt.Sprintf("building %s for %s", name, so)) })
	_, err = runGo(ctx, module, append(r.arguments(version), "-o", part, r.pkg)...)
	if quiet(); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	b.progress(fmt.Sprintf("built %s in %s", name, time.Since(start).Round(time.Second)))
	return nil
}

// patiently says every minute that something takes its time, until quiet is called.
func patiently(start time.Time, say func(so time.Duration)) (quiet func()) {
	minutes, done := time.NewTicker(time.Minute), make(chan struct{})
	go func() {
		for {
			select {
			case <-minutes.C:
				say(time.Since(start).Round(time.Minute))
			case <-done:
				return
			}
		}
	}()
	return func() {
		minutes.Stop()
		close(done)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// roughly writes a duration as people say it: "4 min", "90 s".
func roughly(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// runGo runs the go command in a module's folder and returns its standard output.
func runGo(ctx context.Context, folder string, args ...string) ([]byte, error) {
	return runGoIn(ctx, nil, folder, args...)
}

// runGoIn is runGo with more in its environment.
func runGoIn(ctx context.Context, env []string, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	// A workspace or flags of the user's own would build something else than the module pins.
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("go %s in %s: %w%s\n%s", args[0], folder, err, hint(stderr.String()),
			tail(stderr.String(), 20))
	}
	return stdout.Bytes(), nil
}

// hint returns advice for errors of the go command that are not about the program.
func hint(stderr string) string {
	switch {
	case strings.Contains(stderr, "no space left on device"):
		return ": no space is left: make room, or let GOCACHE, GOMODCACHE and TMPDIR be folders that have it"
	case strings.Contains(stderr, "dial tcp"):
		return ": is there a network, and do the Go modules need a proxy (GOPROXY)?"
	}
	return ""
}

// tail returns the last lines of a text, without the go command's lines about downloads.
func tail(text string, lines int) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "go: downloading ") {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept[max(0, len(kept)-lines):], ""), "\n")
}
