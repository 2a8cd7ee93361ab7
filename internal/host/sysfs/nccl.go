package sysfs

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// readNCCL finds libraries and plugins by their names, and reads configuration files. It opens no library.
func readNCCL(in *input, s *host.Snapshot) {
	t, env := in.tree, s.Env
	n := host.NCCL{Config: ncclConfig(in, env)}
	for _, dir := range libraryDirs(env) {
		if !t.exists(dir) {
			continue
		}
		if lib, ok := ncclLibrary(t, dir); ok && !slices.Contains(n.Libraries, lib) {
			n.Libraries = append(n.Libraries, lib)
		}
		if plugin := dir + "/libnccl-net.so"; t.exists(plugin) {
			n.Plugins = append(n.Plugins, "/"+plugin)
		}
	}
	for _, site := range sitePackages(t, env) {
		n.Libraries = append(n.Libraries, pipLibraries(t, site)...)
	}
	s.NCCL = n
}

// debianTriplet is Debian's folder of libraries on this architecture.
var debianTriplet = map[string]string{
	"amd64": "usr/lib/x86_64-linux-gnu",
	"arm64": "usr/lib/aarch64-linux-gnu",
}[runtime.GOARCH]

// libraryDirs returns the folders in which images keep libnccl and its network plugins: the folders in LD_LIBRARY_PATH,
// the folders of distributions, and the folders that images of NVIDIA, AWS and Google use.
func libraryDirs(env map[string]string) []string {
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

func ncclLibrary(t *tree, dir string) (host.NCCLLibrary, bool) {
	name := "libnccl.so.2"
	for range 4 {
		if version, ok := libraryVersion(name); ok {
			return host.NCCLLibrary{Path: "/" + path.Join(dir, name), Version: version}, true
		}
		target := t.target(path.Join(dir, name))
		if !target.IsKnown() {
			return host.NCCLLibrary{}, false
		}
		name = target.Value
	}
	return host.NCCLLibrary{}, false
}

// libraryVersion reads "2.21.5" out of libnccl.so.2.21.5.
func libraryVersion(name string) (string, bool) {
	version, ok := strings.CutPrefix(name, "libnccl.so.")
	if _, valid := host.ParseVersion(version); !ok || !valid {
		return "", false
	}
	return version, true
}

// sitePackages returns the folders of Python packages in virtual environments and Conda environments, which PATH or a
// variable names, and in the usual images: Debian's and Red Hat's layout, OpenShift's Python images, Conda.
func sitePackages(t *tree, env map[string]string) []string {
	sites := []string{"usr/lib/python3/dist-packages"}
	prefixes := []string{
		env["VIRTUAL_ENV"], env["CONDA_PREFIX"], "usr/local", "opt/app-root", "opt/venv", "opt/conda",
	}
	for _, prefix := range append(environments(t, env["PATH"]), prefixes...) {
		if prefix == "" {
			continue
		}
		lib := strings.TrimPrefix(path.Clean("/"+prefix), "/") + "/lib"
		for _, python := range t.list(lib) {
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

// environments returns the folders of the virtual environments and Conda environments whose programs are in PATH.
func environments(t *tree, path string) []string {
	const most = 32
	var found []string
	for dir := range strings.SplitSeq(path, ":") {
		prefix, ok := strings.CutSuffix(strings.Trim(dir, "/"), "/bin")
		if ok && len(found) < most && (t.exists(prefix+"/pyvenv.cfg") || t.exists(prefix+"/conda-meta")) {
			found = append(found, prefix)
		}
	}
	return found
}

// pipLibraries finds NVIDIA's wheels: the version is in the name of a folder next to the library:
// nvidia_nccl_cu12-2.21.5.dist-info.
func pipLibraries(t *tree, site string) []host.NCCLLibrary {
	lib := site + "/nvidia/nccl/lib/libnccl.so.2"
	if !t.exists(lib) {
		return nil
	}
	var found []host.NCCLLibrary
	for _, name := range t.list(site) {
		rest, ok := strings.CutPrefix(name, "nvidia_nccl_cu")
		rest, isInfo := strings.CutSuffix(rest, ".dist-info")
		_, version, _ := strings.Cut(rest, "-")
		if _, valid := host.ParseVersion(version); ok && isInfo && valid {
			found = append(found, host.NCCLLibrary{Path: "/" + lib, Version: version})
		}
	}
	return found
}

// ncclConfig reads NCCL's configuration files in NCCL's order (src/misc/param.cc): $NCCL_CONF_FILE, else ~/.nccl.conf,
// then /etc/nccl.conf. RCCL reads ~/.rccl.conf and /etc/rccl.conf instead.
func ncclConfig(in *input, env map[string]string) []host.ConfigVar {
	var files []string
	home := home(in)
	switch own := env["NCCL_CONF_FILE"]; {
	case own != "":
		files = append(files, own)
	case home != "":
		files = append(files, home+"/.nccl.conf")
	}
	files = append(files, "/etc/nccl.conf")
	if home != "" {
		files = append(files, home+"/.rccl.conf")
	}
	var vars []host.ConfigVar
	for _, file := range append(files, "/etc/rccl.conf") {
		file = path.Clean("/" + file)
		vars = append(vars, parseNCCLConfig(file, in.file(file[1:]).Value)...)
	}
	return vars
}

// maxConfigValue is the length at which NCCL cuts a value.
const maxConfigValue = 1023

// parseNCCLConfig reads NAME=value lines as NCCL does: no trimming, no quotes, '#' only at the start of a line. The
// carriage return of a line of Windows is part of the value.
func parseNCCLConfig(file, text string) []host.ConfigVar {
	var vars []host.ConfigVar
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		name, value, ok := strings.Cut(line, "=")
		if !ok || !strings.HasPrefix(name, "NCCL_") {
			continue
		}
		vars = append(vars, host.ConfigVar{File: file, Name: name, Value: value[:min(len(value), maxConfigValue)]})
	}
	return vars
}

// home returns the home folder of getpwuid. OpenShift's arbitrary users have none.
func home(in *input) string {
	if in.probes.UID == nil {
		return ""
	}
	uid := strconv.Itoa(in.probes.UID())
	for line := range strings.Lines(in.file("etc/passwd").Value) {
		f := strings.Split(strings.TrimSpace(line), ":") // name:password:uid:gid:comment:home:shell
		if len(f) == 7 && f[2] == uid && path.IsAbs(f[5]) {
			return f[5]
		}
	}
	return ""
}
