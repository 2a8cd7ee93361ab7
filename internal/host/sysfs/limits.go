package sysfs

import (
	"errors"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

func readLimits(in *input, s *host.Snapshot) { s.Limits = limits(in.tree, in.probes.ShmBytes) }

func readShmSize(in *input, s *host.Snapshot) {
	s.Limits.ShmBytes = shmSize(in.tree, in.probes.ShmBytes)
}

// Limits reads the limits that the kernel sets this process.
func (m Machine) Limits() host.Limits { return limits(&tree{root: m.Root}, m.Probes.ShmBytes) }

// Privileges reads the part of Limits that lets this process exceed them.
func (m Machine) Privileges() host.Limits { return privileges(&tree{root: m.Root}) }

func limits(t *tree, askShm func() (uint64, error)) host.Limits {
	l := privileges(t)
	l.MemlockSoft, l.MemlockHard = memlockOf(t, "proc/self/limits")
	l.MemTotal = parsed(t, "proc/meminfo", parseMemTotal)
	l.ShmBytes = shmSize(t, askShm)
	return l
}

func privileges(t *tree) host.Limits {
	l := processStatus(t)
	l.InitialUserNS = parsed(t, "proc/self/uid_map", func(s string) (bool, error) {
		// The initial user namespace maps all ids onto themselves (user_namespaces(7)).
		return strings.Join(strings.Fields(s), " ") == "0 0 4294967295", nil
	})
	return l
}

// memlockOf reads "Max locked memory  8388608  8388608  bytes" of /proc/PID/limits.
func memlockOf(t *tree, name string) (soft, hard host.Fact[host.Limit]) {
	table := t.file(name)
	if !table.IsKnown() {
		unknown := host.Fact[host.Limit]{State: table.State, Why: table.Why}
		return unknown, unknown
	}
	for line := range strings.Lines(table.Value) {
		rest, ok := strings.CutPrefix(line, "Max locked memory")
		f := strings.Fields(rest)
		if !ok || len(f) < 2 {
			continue
		}
		s, err1 := host.ParseLimit(f[0])
		h, err2 := host.ParseLimit(f[1])
		if err := errors.Join(err1, err2); err == nil {
			return host.Know(s), host.Know(h)
		}
	}
	bad := host.Unread[host.Limit](t.problem(name, "parse", errors.New(`no line "Max locked memory"`)))
	return bad, bad
}

// processStatus reads capabilities, no_new_privs and the effective user of /proc/self/status.
func processStatus(t *tree) host.Limits {
	const name = "proc/self/status"
	var l host.Limits
	caps := map[string]*host.Fact[host.Caps]{
		"CapInh": &l.CapInh, "CapPrm": &l.CapPrm, "CapEff": &l.CapEff, "CapBnd": &l.CapBnd, "CapAmb": &l.CapAmb,
	}
	for line := range strings.Lines(t.file(name).Value) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if fact, ok := caps[key]; ok {
			if c, err := host.ParseCaps(value); err == nil {
				*fact = host.Know(c)
			} else {
				*fact = host.Unread[host.Caps](t.problem(name, "parse", err))
			}
		}
		switch f := strings.Fields(value); {
		case key == "NoNewPrivs":
			l.NoNewPrivs = host.Know(value == "1")
		case key == "Uid" && len(f) == 4: // real, effective, saved, file system
			l.UID = host.Convert(host.Know(f[1]), parseInt)
		}
	}
	return l
}

// parseMemTotal reads "MemTotal:  2113437368 kB".
func parseMemTotal(s string) (uint64, error) {
	for line := range strings.Lines(s) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54)
			return kib << 10, err
		}
	}
	return 0, errors.New("no line MemTotal")
}

// shmSize returns the size of /dev/shm in bytes: from statfs, otherwise from the mount's size option.
func shmSize(t *tree, ask func() (uint64, error)) host.Fact[uint64] {
	if ask != nil {
		size, err := ask()
		if err != nil {
			return host.Unread[uint64](t.problem("dev/shm", "statfs", err))
		}
		return host.Know(size)
	}
	for line := range strings.Lines(t.file("proc/self/mountinfo").Value) {
		if f := strings.Fields(line); len(f) < 5 || f[4] != "/dev/shm" {
			continue
		}
		_, options, _ := strings.Cut(line, "size=")
		digits, _, _ := strings.Cut(options, "k") // of KiB (mm/shmem.c shmem_show_options)
		if kib, err := strconv.ParseUint(digits, 10, 54); err == nil {
			return host.Know(kib << 10)
		}
	}
	return host.Fact[uint64]{}
}
