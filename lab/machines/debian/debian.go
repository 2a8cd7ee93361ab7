// Package debian unpacks Debian packages and runs programs out of them, on any Linux with apt-get and without any
// rights: nothing is installed, and the host's own packages and lists are not touched.
package debian

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/controlplane/assets"
)

// suite is the release of Debian that everything comes from.
const suite = "trixie"

// Set is a set of packages.
type Set struct {
	Name     string   // of its folder in the cache
	What     string   // it is, for people
	Packages []string // whose dependencies come along
	Without  []string // patterns (path.Match) of packages that nothing of it needs to work
	Drop     []string // patterns of files and folders that are not unpacked: usr/share/doc
	First    time.Duration
}

// Tree is a folder with the files of a set.
type Tree struct {
	Dir string
	// Versions are the packages in it, in the order of their names: bash_5.2.37-2_amd64.
	Versions []string
}

// versionsFile names the packages of a tree. It is next to the folder with their files, within the folder of the cache.
const (
	versionsFile = "packages.txt"
	filesFolder  = "files"
)

// Tree returns the files of the set; they are downloaded first if they are not in the cache.
func (s Set) Tree(ctx context.Context, progress func(line string)) (Tree, error) {
	key := append([]string{suite, s.Name}, s.Packages...)
	key = append(append(key, "without"), s.Without...)
	key = append(append(key, "drop"), s.Drop...)
	folder, err := assets.Folder{
		Name: filepath.Join("debian", s.Name), Key: key, What: s.What + " from Debian packages", First: s.First,
		Make: func(ctx context.Context, folder string) error { return s.make(ctx, folder, progress) },
	}.Path(ctx, progress)
	if err != nil {
		return Tree{}, err
	}
	text, err := os.ReadFile(filepath.Join(folder, versionsFile))
	return Tree{Dir: filepath.Join(folder, filesFolder), Versions: strings.Fields(string(text))}, err
}

// Version is the version of a package of the tree, without Debian's revision: 10.0.13. It is "" where
// the package is not in the tree.
func (t Tree) Version(name string) string {
	for _, v := range t.Versions {
		if rest, ok := strings.CutPrefix(v, name+"_"); ok {
			version, _, _ := strings.Cut(rest, "_")
			if _, after, epoch := strings.Cut(version, "%3a"); epoch {
				version = after
			}
			return version[:len(version)-len(strings.TrimLeft(version, "0123456789."))]
		}
	}
	return ""
}

// make downloads and unpacks the set. Only one process at a time downloads: apt-get's lists and downloads are shared,
// and a later run uses the files that an interrupted one has downloaded.
func (s Set) make(ctx context.Context, folder string, progress func(string)) error {
	cache, err := assets.Cache()
	if err != nil {
		return err
	}
	unlock, err := assets.Lock(ctx, "debian/apt", progress,
		"waiting for another process that downloads Debian packages")
	if err != nil {
		return err
	}
	defer unlock()
	if err := room(cache); err != nil {
		return err
	}
	from, err := hostSource(ctx)
	if err != nil {
		return err
	}
	a, err := newApt(filepath.Join(cache, "debian", "apt"), from)
	if err != nil {
		return err
	}
	archives, err := a.fetch(ctx, s, progress)
	if err != nil {
		return err
	}
	if err := Unpack(ctx, archives, filepath.Join(folder, filesFolder), s.keeps); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, versionsFile), versions(archives), 0o644); err != nil {
		return err
	}
	return a.clean()
}

func (s Set) keeps(name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if matches(s.Drop, at) {
			return false
		}
	}
	return true
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// versions are the names of the packages' archives, one a line.
func versions(archives []string) []byte {
	var names []string
	for _, a := range archives {
		names = append(names, strings.TrimSuffix(filepath.Base(a), ".deb"))
	}
	slices.Sort(names)
	return []byte(strings.Join(names, "\n") + "\n")
}

// wanted is the disk space of the largest set, for its archives and its files, and some to spare.
const wanted = 1_200_000_000

// room returns an error where the cache has too little room.
func room(cache string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(cache, &fs); err != nil {
		return fmt.Errorf("read the free space of %s: %w", cache, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < wanted {
		return fmt.Errorf(
			"%s has %.1f GB free, %.1f GB are wanted: make room, or set XDG_CACHE_HOME to a folder that has it",
			cache,
			float64(free)/1e9,
			float64(wanted)/1e9,
		)
	}
	return nil
}

// lastLines returns the end of a program's output, for an error.
func lastLines(text []byte, n int) string {
	var kept []string
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-n):], "\n")
}
