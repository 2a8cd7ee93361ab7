package sysfs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
)

// Machine is a source of Snapshots: this machine, a folder, or a recording.
type Machine struct {
	Root   fs.FS
	Probes Probes
	Live   bool // a second Snapshot can differ from the first
}

// newReading returns the files for one more reading of the machine. A device that was made again since, such as a
// virtual function, has its old name and a new folder.
func (m Machine) newReading() fs.FS {
	if opened, ok := m.Root.(interface{ closeDevices() }); ok {
		opened.closeDevices()
	}
	return m.Root
}

// Snapshot reads the machine.
func (m Machine) Snapshot() host.Snapshot { return Read(m.newReading(), m.Probes) }

// Record reads the machine. The recording is the smallest from which Read makes the same Snapshot.
func (m Machine) Record() (host.Snapshot, *replay.Archive) {
	r := &recorder{base: m.newReading(), archive: replay.New()}
	s := Read(r, r.probes(m.Probes))
	r.answers.take(s, m.Probes)
	r.prune(s)
	if data, err := json.MarshalIndent(r.answers, "", "  "); err == nil {
		_ = r.archive.AddFile(probesFile, string(data)+"\n")
	}
	return s, r.archive
}

// recorder is an fs.FS that records everything read through it.
type recorder struct {
	base    fs.FS
	archive *replay.Archive
	answers answers
}

// canonical resolves the links in all but the last element of name, recording those it meets.
func (r *recorder) canonical(name string) string {
	for range replay.MaxLinks {
		dir := path.Dir(name)
		link, target := r.firstLink(dir)
		if link == "" {
			return name
		}
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(link), target)
		}
		name = path.Join(strings.TrimPrefix(target, "/"), strings.TrimPrefix(name, link))
	}
	return name
}

// firstLink returns the first prefix of dir that is a link.
func (r *recorder) firstLink(dir string) (link, target string) {
	for i, c := range dir + "/" {
		if c != '/' || i == 0 {
			continue
		}
		if target, err := fs.ReadLink(r.base, dir[:i]); err == nil {
			_ = r.archive.AddLink(dir[:i], target)
			return dir[:i], target
		}
	}
	return "", ""
}

// fail records an error other than "does not exist", which an absent node says.
func (r *recorder) fail(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	errno, _ := replay.Errno(replay.ErrnoName(err))
	if errno == syscall.ENOTDIR || errno == syscall.ELOOP {
		return
	}
	_ = r.archive.AddError(r.canonical(name), errno)
}

// Open implements fs.FS; the reader of this package never calls it on a recorder.
func (r *recorder) Open(name string) (fs.File, error) { return r.base.Open(name) }

func (r *recorder) readBounded(name string) (string, error) {
	data, err := readBounded(r.base, name)
	switch {
	case err != nil && !errors.Is(err, errTooLong):
		r.fail(name, err)
	case followsLink(r, name):
	default:
		_ = r.archive.AddFile(r.canonical(name), allowed(name, data, r.answers.UID))
	}
	return data, err
}

// followsLink records a file that is reached through a link as the link and its target.
func followsLink(r *recorder, name string) bool {
	target, err := fs.ReadLink(r.base, name)
	if err != nil {
		return false
	}
	at := r.canonical(name)
	_ = r.archive.AddLink(at, target)
	if !strings.HasPrefix(target, "/") {
		target = path.Join(path.Dir(at), target)
	}
	target = strings.TrimPrefix(target, "/")
	if fs.ValidPath(target) {
		_, _ = r.readBounded(target)
	}
	return true
}

// ReadLink implements fs.ReadLinkFS.
func (r *recorder) ReadLink(name string) (string, error) {
	target, err := fs.ReadLink(r.base, name)
	if err == nil {
		_ = r.archive.AddLink(r.canonical(name), target)
	} else if !errors.Is(err, syscall.EINVAL) { // EINVAL: not a link
		r.fail(name, err)
	}
	return target, err
}

// ReadDir implements fs.ReadDirFS.
func (r *recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(r.base, name)
	if err != nil {
		r.fail(name, err)
		return entries, err
	}
	dir := r.canonical(path.Join(name, "x"))
	dir = path.Dir(dir)
	if len(entries) == 0 {
		_ = r.archive.AddDir(dir)
	}
	for _, e := range entries {
		if !worthRecording(name, e.Name()) {
			continue
		}
		at := path.Join(dir, e.Name())
		if r.archive.Has(at) {
			continue
		}
		r.addEntry(path.Join(name, e.Name()), at, e)
	}
	return entries, err
}

func (r *recorder) addEntry(name, at string, e fs.DirEntry) {
	if e.Type()&fs.ModeSymlink != 0 {
		if target, err := fs.ReadLink(r.base, name); err == nil {
			_ = r.archive.AddLink(at, target)
			return
		}
	}
	if e.IsDir() {
		_ = r.archive.AddDir(at)
		return
	}
	_ = r.archive.AddFile(at, "")
}

// Lstat implements fs.ReadLinkFS.
func (r *recorder) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.base, name) }

// Stat implements fs.StatFS: existence is all that the reader asks for.
func (r *recorder) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.base, name)
	if err == nil && !info.IsDir() && !r.archive.Has(r.canonical(name)) {
		_ = r.archive.AddFile(r.canonical(name), "")
	}
	return info, err
}

// probes wraps the probes whose answers the Snapshot does not have in full.
func (r *recorder) probes(p Probes) Probes {
	if p.UID != nil {
		r.answers.UID = p.UID()
	}
	if open := p.OpenDevice; open != nil {
		r.answers.Open = map[string]string{}
		p.OpenDevice = func(name string) error {
			err := open(name)
			r.answers.Open[name] = outcomeName(err)
			return err
		}
	}
	if vfs := p.VFs; vfs != nil {
		p.VFs = func() ([]host.Link, error) {
			found, err := vfs()
			if err != nil {
				r.answers.VFs = host.Unread[[]host.Link](outcomeName(err))
			}
			return found, err
		}
	}
	if route := p.Route; route != nil {
		r.answers.Routes = map[string]string{}
		p.Route = func(from netip.Addr, link int, dest netip.Addr) (netip.Addr, error) {
			gateway, err := route(from, link, dest)
			answer := outcomeName(err)
			switch {
			case err == nil && gateway.IsValid():
				answer = gateway.String()
			case err == nil:
				answer = neighbourRoute
			}
			r.answers.Routes[routeQuestion(from, link, dest)] = answer
			return gateway, err
		}
	}
	return p
}

// take copies the answers of the other probes from the Snapshot. The environment has only the variables of the
// allow-list.
func (a *answers) take(s host.Snapshot, p Probes) {
	a.Taken, a.Environ, a.Earlier = s.Taken, maps.Clone(s.Env), s.Earlier
	a.ShmBytes, a.ShmFree = s.Limits.ShmBytes, s.Limits.ShmFree
	if p.Interfaces != nil {
		a.Addresses = map[int][]netip.Prefix{}
	}
	for _, l := range s.Links {
		if p.Interfaces != nil && len(l.Addresses.Value) > 0 {
			a.Addresses[l.Index.Value] = l.Addresses.Value
		}
		if len(l.VFs) > 0 {
			a.VFs = host.Know(append(a.VFs.Value, host.Link{Name: l.Name, Index: l.Index, VFs: l.VFs}))
		}
	}
	if wire := s.Wire; !wire.IsZero() {
		wire.Value.Links = nil // they are read from the recorded files
		a.Wire = &wire
	}
	if most, tried := s.Limits.Lockable.Get(); tried {
		a.Lock = map[string]string{}
		for _, size := range lockSizes {
			a.Lock[strconv.FormatUint(size, 10)] = "ENOMEM"
			if size <= most {
				a.Lock[strconv.FormatUint(size, 10)] = "ok"
			}
		}
	}
}

func outcomeName(err error) string {
	if err == nil {
		return "ok"
	}
	return replay.ErrnoName(err)
}

// worthRecording leaves the image's other libraries out of a recording.
func worthRecording(dir, name string) bool {
	isEnvironment := strings.HasSuffix(dir, "/lib") || strings.HasSuffix(dir, "-packages")
	if !strings.HasPrefix(dir, "usr/") && !strings.HasPrefix(dir, "opt/") && !isEnvironment {
		return true
	}
	return strings.HasPrefix(name, "python3") || strings.HasPrefix(name, "nvidia_nccl_") ||
		strings.Contains(name, "-rdmav")
}

// prune drops the PCI functions that were only read to find out whether they are GPUs.
func (r *recorder) prune(s host.Snapshot) {
	keep := map[string]bool{}
	note := func(f host.Function) {
		keep[f.Address.String()] = true
		if pf, ok := f.PhysFn.Get(); ok {
			keep[pf.String()] = true
		}
	}
	for _, d := range s.Devices {
		note(d.Function.Value)
	}
	for _, g := range s.GPUs {
		note(g.Function)
	}
	for _, f := range s.Functions {
		note(f)
	}
	for _, f := range s.Bridges {
		note(f)
	}
	for _, name := range r.archive.Names() {
		address, ok := strings.CutPrefix(name, pciDevices+"/")
		if ok && !strings.Contains(address, "/") && !keep[address] {
			r.archive.Remove(name)
			r.archive.Remove(r.canonical(name + "/class"))
		}
	}
}
