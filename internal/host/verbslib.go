package host

import (
	"path"
	"slices"
	"strings"
)

// VerbsLibrary is the libibverbs of a container: without it NCCL has no RDMA, and without the provider of a device's
// driver libibverbs does not list the device.
type VerbsLibrary struct {
	Path      string   `json:"path,omitempty"`      // "" when there is none
	RDMACore  string   `json:"rdmaCore,omitempty"`  // version: 48.0
	Providers []string `json:"providers,omitempty"` // files of its folder libibverbs: mlx5, irdma
	Drivers   []string `json:"drivers,omitempty"`   // that /etc/libibverbs.d names; rdma-core loads no others
}

// cLibraries tell that the libraries of an image are to be seen at all.
var cLibraries = []string{"libc.so.6", "libc.so"}

// verbs looks for libibverbs where the dynamic loader looks. Where not even a C library is seen there, nothing can be said.
func (r *reader) verbsLibrary(env map[string]string) *VerbsLibrary {
	var v VerbsLibrary
	seen := false
	for _, dir := range append(r.libraryDirs(env), r.loaderDirs()...) {
		for _, name := range cLibraries {
			seen = seen || r.exists(dir+"/"+name)
		}
		link := r.target(dir + "/libibverbs.so.1")
		if v.Path == "" && (link.IsKnown() || r.exists(dir+"/libibverbs.so.1")) {
			v.Path, v.RDMACore = "/"+dir+"/libibverbs.so.1", rdmaCoreVersion(link.Value)
			v.Providers = providers(r.list(dir + "/libibverbs"))
		}
	}
	if v.Path == "" && !seen {
		return nil
	}
	if v.Path != "" {
		for _, name := range r.list("etc/libibverbs.d") {
			if driver, ok := strings.CutSuffix(name, ".driver"); ok {
				v.Drivers = append(v.Drivers, driver)
			}
		}
	}
	return &v
}

// loaderDirs are the other folders that the dynamic loader may look into.
func (r *reader) loaderDirs() []string {
	dirs := []string{"lib64", "usr/lib", "lib"}
	for _, name := range r.list("etc/ld.so.conf.d") {
		for line := range strings.Lines(r.file("etc/ld.so.conf.d/" + name).Value) {
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
