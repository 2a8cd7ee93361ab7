package host

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// nccl reads the libraries, plugins and configuration files by name; no library is opened.
func (r *reader) nccl(env map[string]string) NCCL {
	n := NCCL{Config: r.ncclConfig(env)}
	for _, dir := range r.libraryDirs(env) {
		if !r.exists(dir) {
			continue
		}
		if lib, ok := r.ncclLibrary(dir); ok && !slices.Contains(n.Libraries, lib) {
			n.Libraries = append(n.Libraries, lib)
		}
		if plugin := dir + "/libnccl-net.so"; r.exists(plugin) {
			n.Plugins = append(n.Plugins, "/"+plugin)
		}
	}
	for _, site := range r.sitePackages(env) {
		n.Libraries = append(n.Libraries, r.pipLibraries(site)...)
	}
	return n
}

// debianTriplet is Debian's folder of libraries on this architecture.
var debianTriplet = map[string]string{"amd64": "usr/lib/x86_64-linux-gnu", "arm64": "usr/lib/aarch64-linux-gnu"}[runtime.GOARCH]

// libraryDirs are the folders in which images keep libnccl and its network plugins: what LD_LIBRARY_PATH names, the
// distributions' own, and where NVIDIA's, AWS's and Google's images put theirs.
func (r *reader) libraryDirs(env map[string]string) []string {
	dirs := []string{}
	for dir := range strings.SplitSeq(env["LD_LIBRARY_PATH"], ":") {
		dir = strings.TrimPrefix(path.Clean(dir), "/")
		if dir != "." && !strings.HasPrefix(dir, "..") && !slices.Contains(dirs, dir) && len(dirs) < 64 {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range []string{
		debianTriplet, "usr/lib64", "usr/local/lib", "opt/hpcx/nccl_rdma_sharp_plugin/lib", "opt/amazon/ofi-nccl/lib",
		"opt/conda/lib",
	} {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// ncclLibrary follows libnccl.so.2 -> libnccl.so.2.21.5, link by link.
func (r *reader) ncclLibrary(dir string) (NCCLLibrary, bool) {
	name := "libnccl.so.2"
	for range 4 {
		if version, ok := libraryVersion(name); ok {
			return NCCLLibrary{Path: "/" + path.Join(dir, name), Version: version}, true
		}
		target := r.target(path.Join(dir, name))
		if !target.IsKnown() {
			return NCCLLibrary{}, false
		}
		name = target.Value
	}
	return NCCLLibrary{}, false
}

// libraryVersion reads "2.21.5" out of libnccl.so.2.21.5.
func libraryVersion(name string) (string, bool) {
	version, ok := strings.CutPrefix(name, "libnccl.so.")
	if _, valid := ParseVersion(version); !ok || !valid {
		return "", false
	}
	return version, true
}

// ParseVersion reads "2.21.5" into its three numbers.
func ParseVersion(s string) (v [3]int, ok bool) {
	parts := strings.SplitN(s, ".", 4)
	if len(parts) < 3 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if i == 2 { // 2.21.5-1, 2.26.2+cuda12.8
			if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end > 0 {
				digits = digits[:end]
			}
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// sitePackages are the folders of Python packages of the usual images: virtual environments, Debian's and Red Hat's
// layout, OpenShift's Python images, Conda.
func (r *reader) sitePackages(env map[string]string) []string {
	sites := []string{"usr/lib/python3/dist-packages"}
	for _, prefix := range []string{env["VIRTUAL_ENV"], env["CONDA_PREFIX"], "usr/local", "opt/app-root", "opt/venv", "opt/conda"} {
		if prefix == "" {
			continue
		}
		lib := strings.TrimPrefix(path.Clean("/"+prefix), "/") + "/lib"
		for _, python := range r.list(lib) {
			if !strings.HasPrefix(python, "python3") {
				continue
			}
			for _, leaf := range []string{"/site-packages", "/dist-packages"} {
				if site := lib + "/" + python + leaf; !slices.Contains(sites, site) {
					sites = append(sites, site)
				}
			}
		}
	}
	return sites
}

// pipLibraries finds NVIDIA's wheels: the library has no version in its name, the folder beside it has:
// nvidia_nccl_cu12-2.21.5.dist-info.
func (r *reader) pipLibraries(site string) []NCCLLibrary {
	lib := path.Join(site, "nvidia/nccl/lib/libnccl.so.2")
	if !r.exists(lib) {
		return nil
	}
	var found []NCCLLibrary
	for _, name := range r.list(site) {
		rest, ok := strings.CutPrefix(name, "nvidia_nccl_cu")
		rest, isInfo := strings.CutSuffix(rest, ".dist-info")
		_, version, _ := strings.Cut(rest, "-")
		if _, valid := ParseVersion(version); ok && isInfo && valid {
			found = append(found, NCCLLibrary{Path: "/" + lib, Version: version})
		}
	}
	return found
}

// ncclConfig reads NCCL's configuration files in NCCL's order (src/misc/param.cc): $NCCL_CONF_FILE, else ~/.nccl.conf,
// then /etc/nccl.conf.
func (r *reader) ncclConfig(env map[string]string) []ConfigVar {
	files := []string{"etc/nccl.conf"}
	if own := env["NCCL_CONF_FILE"]; own != "" {
		files = []string{strings.TrimPrefix(path.Clean("/"+own), "/"), "etc/nccl.conf"}
	} else if home := r.home(); home != "" {
		files = []string{path.Join(strings.TrimPrefix(home, "/"), ".nccl.conf"), "etc/nccl.conf"}
	}
	var vars []ConfigVar
	for _, file := range files {
		vars = append(vars, parseNCCLConfig("/"+file, r.file(file).Value)...)
	}
	return vars
}

// maxConfigValue is where NCCL itself cuts a value.
const maxConfigValue = 1023

// parseNCCLConfig reads NAME=value lines as NCCL does: no trimming, no quotes, '#' only at the start of a line.
func parseNCCLConfig(file, text string) []ConfigVar {
	var vars []ConfigVar
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, "NCCL_") {
			continue
		}
		vars = append(vars, ConfigVar{File: file, Name: name, Value: value[:min(len(value), maxConfigValue)]})
	}
	return vars
}

// home is the home folder that getpwuid gives; with OpenShift's arbitrary users there is none.
func (r *reader) home() string {
	if r.probes.UID == nil {
		return ""
	}
	uid := strconv.Itoa(r.probes.UID())
	for line := range strings.Lines(r.file("etc/passwd").Value) {
		f := strings.Split(strings.TrimSpace(line), ":") // name:password:uid:gid:comment:home:shell
		if len(f) == 7 && f[2] == uid && path.IsAbs(f[5]) {
			return f[5]
		}
	}
	return ""
}
