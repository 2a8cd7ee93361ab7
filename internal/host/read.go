package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Read takes the Snapshot of the machine below root. It never fails as a whole: what could not be read is a Problem,
// so that one broken HCA does not hide the other seven.
func Read(root fs.FS, p Probes) Snapshot {
	return newReader(root, p).snapshot()
}

type reader struct {
	root     fs.FS
	probes   Probes
	brief    bool // for a launch: of GID tables and devices only what the environment depends on
	problems []Problem

	functions map[PCIAddress]Function
	netns     []Link // interfaces of this namespace, for a launch
	everyGID  bool   // a launch needs the whole table
}

func newReader(root fs.FS, p Probes) *reader {
	return &reader{root: root, probes: p, functions: map[PCIAddress]Function{}}
}

func (r *reader) snapshot() Snapshot {
	s := Snapshot{SchemaVersion: SchemaVersion}
	if r.probes.Now != nil {
		s.Taken = r.probes.Now().UTC()
	}
	s.Env = r.environment()
	s.Links, s.Routes = r.links(), r.defaultRoutes()
	s.Limits = r.limits()
	s.NCCL = r.nccl(s.Env)
	s.NetworkStatus = r.networkStatus()
	s.Claims = r.claims()
	s.Uverbs, s.VerbsNodes = r.uverbs()
	s.Devices = r.devices(func(string) bool { return true })
	s.Functions = r.namedFunctions(s)
	s.RDMANetns = r.rdmaNetns()
	s.GPUs = r.gpus()
	s.GPUDirect = r.gpuDirect()
	s.IOMMU = r.iommu()
	s.NUMANodes = r.numaNodes()
	s.Kernel = r.text("proc/sys/kernel/osrelease")
	s.Cmdline = r.text("proc/cmdline")
	r.identity(&s)
	r.moreForPeople(&s)
	s.Problems = r.problems
	return s
}

// moreForPeople reads what only findings depend on.
func (r *reader) moreForPeople(s *Snapshot) {
	r.virtualFunctions(s.Links)
	r.railNetwork(s)
	r.configs(s)
	s.Modules = r.modules()
	s.Verbs = r.verbsLibrary(s.Env)
	s.Runtime = r.runtime()
	var pid string
	s.Launched, pid = r.launched()
	s.Limits.ShmFree = r.shmFree()
	s.Limits.Lockable = r.lockable()
	r.command(pid, &s.Limits)
}

// identity fills in where the snapshot was taken.
func (r *reader) identity(s *Snapshot) {
	s.Pod = r.text("proc/sys/kernel/hostname")
	if name := s.Env["HOSTNAME"]; name != "" {
		s.Pod = Know(name)
	}
	s.Namespace = r.text("var/run/secrets/kubernetes.io/serviceaccount/namespace")
	for _, name := range []string{"NODE_NAME", "KUBERNETES_NODE_NAME"} {
		if node := s.Env[name]; node != "" {
			s.Node = Know(node)
		}
	}
}

// problem notes what could not be read and returns the reason in words.
func (r *reader) problem(name, op string, err error) string {
	why := reason(err)
	r.problems = append(r.problems, Problem{Path: "/" + name, Op: op, Err: why})
	return why
}

// reason is the innermost error: the path is said elsewhere.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// file reads a file; absent is not a problem.
func (r *reader) file(name string) Fact[string] {
	data, err := readBounded(r.root, name)
	switch {
	case err == nil:
		return Know(data)
	case isAbsent(err):
		return Fact[string]{}
	case errors.Is(err, errTooLong):
		r.problem(name, "read", err)
		return Know(data) // the beginning of a long table is still worth reading
	default:
		return Unread[string](r.problem(name, "read", err))
	}
}

func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxAttribute bounds a one-line attribute: a sysfs one is at most a page.
const maxAttribute = 4096

// text reads a one-line attribute, trimmed; an empty one is absent.
func (r *reader) text(name string) Fact[string] {
	f := r.file(name)
	if !f.IsKnown() {
		return f
	}
	if len(f.Value) > maxAttribute || strings.ContainsRune(f.Value, 0) {
		return Unread[string](r.problem(name, "parse", errors.New("not a line of text")))
	}
	if f.Value = strings.TrimSpace(f.Value); f.Value == "" {
		return Fact[string]{}
	}
	return f
}

// parsed reads an attribute and parses it; what does not parse is a Problem.
func parsed[T any](r *reader, name string, parse func(string) (T, error)) Fact[T] {
	f := r.text(name)
	if !f.IsKnown() {
		return Fact[T]{State: f.State, Why: f.Why}
	}
	v, err := parse(f.Value)
	if err != nil {
		return Unread[T](r.problem(name, "parse", err))
	}
	return Know(v)
}

// list returns the names in a directory, sorted; absent is not a problem.
func (r *reader) list(dir string) []string {
	names, err := listNames(r.root, dir)
	if err != nil && !isAbsent(err) {
		r.problem(dir, "list", err)
	}
	slices.Sort(names)
	return names
}

func listNames(root fs.FS, dir string) ([]string, error) {
	if f, ok := root.(finder); ok {
		return f.names(dir)
	}
	entries, err := fs.ReadDir(root, dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// target returns the last element of a link's target: how sysfs names a driver, a group, a parent.
func (r *reader) target(name string) Fact[string] {
	target, err := fs.ReadLink(r.root, name)
	switch {
	case err == nil:
		return Know(path.Base(target))
	case isAbsent(err), errors.Is(err, syscall.EINVAL): // EINVAL: a folder in place of the link
		return Fact[string]{}
	default:
		return Unread[string](r.problem(name, "readlink", err))
	}
}

func (r *reader) exists(name string) bool {
	if f, ok := r.root.(finder); ok {
		return f.exists(name)
	}
	_, err := fs.Stat(r.root, name)
	return err == nil
}

// parseInt reads decimal, or hexadecimal after 0x.
func parseInt(s string) (int, error) {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	return int(n), nil
}

// convert maps a known text to another type; what does not convert is unreadable.
func convert[T any](f Fact[string], parse func(string) (T, error)) Fact[T] {
	if !f.IsKnown() {
		return Fact[T]{State: f.State, Why: f.Why}
	}
	v, err := parse(f.Value)
	if err != nil {
		return Unread[T](err.Error())
	}
	return Know(v)
}
