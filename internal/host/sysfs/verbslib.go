package sysfs

import (
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// cLibraries show that the libraries of an image are visible at all.
var cLibraries = []string{"libc.so.6", "libc.so"}

// readVerbsLibrary looks for libibverbs where the dynamic loader does. If not even a C library is there, the libraries
// of the image are not visible and nothing is known.
func readVerbsLibrary(in *input, s *host.Snapshot) {
	var v host.VerbsLibrary
	t, seen := in.tree, false
	for _, dir := range append(libraryDirs(s.Env), loaderDirs(t)...) {
		for _, name := range cLibraries {
			seen = seen || t.exists(dir+"/"+name)
		}
		link := t.target(dir + "/libibverbs.so.1")
		if v.Path == "" && (link.IsKnown() || t.exists(dir+"/libibverbs.so.1")) {
			v.Path, v.RDMACore = "/"+dir+"/libibverbs.so.1", rdmaCoreVersion(link.Value)
			v.Providers = providers(t.list(dir + "/libibverbs"))
		}
	}
	if v.Path == "" && !seen {
		return
	}
	if v.Path != "" {
		v.Drivers = verbsDrivers(t.list("etc/libibverbs.d"))
	}
	s.Verbs = &v
}

func verbsDrivers(names []string) []string {
	var drivers []string
	for _, name := range names {
		if driver, ok := strings.CutSuffix(name, ".driver"); ok {
			drivers = append(drivers, driver)
		}
	}
	return drivers
}

// loaderDirs are the other folders that the dynamic loader may look into.
func loaderDirs(t *tree) []string {
	dirs := []string{"lib64", "usr/lib", "lib"}
	for _, name := range t.list("etc/ld.so.conf.d") {
		for line := range strings.Lines(t.file("etc/ld.so.conf.d/" + name).Value) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && len(dirs) < 64 {
				dirs = append(dirs, strings.TrimPrefix(path.Clean(line), "/"))
			}
		}
	}
	return dirs
}

// rdmaCoreVersion reads "48.0" out of libibverbs.so.1.14.48.0: the library's ABI, then the package's version
// (rdma-core CMakeLists.txt, rdma_library).
func rdmaCoreVersion(file string) string {
	parts := strings.SplitN(strings.TrimPrefix(file, "libibverbs.so."), ".", 3)
	if len(parts) < 3 || !strings.HasPrefix(file, "libibverbs.so.") {
		return ""
	}
	return parts[2]
}

// providers reads "mlx5" out of libmlx5-rdmav34.so.
func providers(names []string) []string {
	var all []string
	for _, name := range names {
		before, _, ok := strings.Cut(name, "-rdmav")
		if provider, is := strings.CutPrefix(before, "lib"); ok && is && !slices.Contains(all, provider) {
			all = append(all, provider)
		}
	}
	return all
}
