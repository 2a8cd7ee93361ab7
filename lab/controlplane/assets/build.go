package assets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/tools/gobuild"
)

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
	b := builder{
		modules: filepath.Join(root, "modules"), cache: cache, recipes: recipes(testing.Testing()), progress: progress,
	}
	built := Programs{}
	for _, p := range programs {
		if built[p], err = b.build(ctx, p); err != nil {
			return nil, err
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
	p := gobuild.Program{Name: filepath.Base(file), Folder: folder, Package: pkg, Output: file, Env: env}
	return p.Build(ctx, func(string) {})
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
		return "", fmt.Errorf("build %s: no such program", p)
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

// compile builds the program. A name of a program of many names becomes a link to that one.
func (b builder) compile(ctx context.Context, p Program, r recipe, path string) error {
	if r.within == "" {
		return b.compileInto(ctx, string(p), r, path)
	}
	whole := filepath.Join(filepath.Dir(path), r.within)
	if !isFile(whole) {
		if err := b.compileInto(ctx, r.within, r, whole); err != nil {
			return err
		}
	}
	return os.Symlink(r.within, path)
}

func (b builder) compileInto(ctx context.Context, name string, r recipe, path string) error {
	module := filepath.Join(b.modules, r.module)
	version, err := pinned(ctx, module, r.version)
	if err != nil {
		return err
	}
	name = strings.TrimSpace(name + " " + version)
	b.progress(fmt.Sprintf("building %s (about %s the first time)", name, roughly(r.first)))
	start := time.Now()
	program := r.program(module, version)
	program.Name, program.Output = name, path
	if err := program.Build(ctx, b.progress); err != nil {
		return err
	}
	b.progress(fmt.Sprintf("built %s in %s", name, time.Since(start).Round(time.Second)))
	return nil
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
func runGo(ctx context.Context, folder string, args ...string) (string, error) {
	return gobuild.Command{Folder: folder}.Run(ctx, args...)
}
