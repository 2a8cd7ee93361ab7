package sysfs

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// kernelModules help or hinder RDMA.
var kernelModules = []string{
	"ib_core", "ib_uverbs", "mlx5_ib", "mlx4_ib", "irdma", "i40iw", "rdma_rxe",
	"nvidia", "nvidia_peermem", "nv_peer_mem",
}

// readModules finds the loaded kernelModules. A module built into the kernel has no initstate.
func readModules(in *input, s *host.Snapshot) {
	for _, name := range kernelModules {
		if in.exists("sys/module/" + name + "/initstate") {
			s.Modules = append(s.Modules, name)
		}
	}
}

// readRuntime reads the configuration of CRI-O, otherwise the unit of containerd.
func readRuntime(in *input, s *host.Snapshot) {
	// CRI-O takes all files of its folder: OpenShift's own is 00-default (cri-o pkg/config UpdateFromPath).
	if files := configFiles(in.tree, "etc/crio/crio.conf", "etc/crio/crio.conf.d", ""); len(files) > 0 {
		s.Runtime = runtimeOf(in.tree, "CRI-O", files, crioMemlock)
		return
	}
	for _, dir := range []string{"etc", "usr/lib", "lib"} { // a unit in /etc replaces the others (systemd.unit(5))
		if unit := dir + "/systemd/system/containerd.service"; in.exists(unit) {
			files := configFiles(in.tree, unit, "etc/systemd/system/containerd.service.d", ".conf")
			s.Runtime = runtimeOf(in.tree, "containerd", files, unitLimit)
			return
		}
	}
}

// runtimeOf takes the last setting of the files.
func runtimeOf(t *tree, name string, files []string, memlock func(text string) memlockSetting) *host.Runtime {
	found := host.Runtime{Name: name}
	for _, file := range files {
		setting := memlock(t.file(file).Value)
		if setting.sets {
			found.File, found.Memlock = "/"+file, setting.value
		}
		if setting.refused != "" {
			found.Refused = setting.refused + " in /" + file
		}
	}
	return &found
}

// memlockSetting is the limit that one file sets.
type memlockSetting struct {
	value   string
	sets    bool
	refused string // what the runtime does not accept
}

// configFiles returns a file and the drop-ins with that suffix, in the order in which they are read.
func configFiles(t *tree, file, dropIns, suffix string) []string {
	var files []string
	if t.exists(file) {
		files = append(files, file)
	}
	for _, name := range t.list(dropIns) {
		if strings.HasSuffix(name, suffix) {
			files = append(files, dropIns+"/"+name)
		}
	}
	return files
}

// crioUlimits cuts `default_ulimits = [ ... ]` out of a configuration of CRI-O; "" when it has none. A later file's
// list replaces an earlier one (cri-o docs/crio.conf.5.md).
func crioUlimits(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if b.Len() == 0 && !strings.HasPrefix(bare, "default_ulimits") || strings.HasPrefix(bare, "#") {
			continue
		}
		if b.WriteString(bare + "\n"); strings.Contains(bare, "]") {
			break
		}
	}
	return b.String()
}

// crioMemlock finds "-1:-1" in a list of name=soft:hard. A list without it removes the limit of earlier files.
func crioMemlock(text string) (m memlockSetting) {
	list := strings.ReplaceAll(crioUlimits(text), "'", `"`) // TOML has both quotes
	m.sets = list != ""
	for i, entry := range strings.Split(list, `"`) {
		if i%2 == 0 { // between the entries
			continue
		}
		name, limit, _ := strings.Cut(entry, "=")
		switch {
		case !host.IsUlimit(entry):
			m.refused = entry
		case name == "memlock":
			m.value = limit
		}
	}
	return m
}

const unitMemlock = "LimitMEMLOCK"

// unitLimit finds LimitMEMLOCK in the section Service of a unit. systemd strips blanks around the value, and ignores
// one that it cannot read: an earlier one holds then. Older recordings have the setting without its section.
func unitLimit(text string) (m memlockSetting) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, _ := strings.Cut(line, "=")
		if section != "" && section != "[Service]" || strings.TrimSpace(key) != unitMemlock {
			continue
		}
		if value = strings.TrimSpace(value); host.IsSystemdLimit(value) {
			m.value, m.sets = value, true
		} else {
			m.refused = line
		}
	}
	return m
}

// readLaunched reads the environment that `railhead-pod run` set, and the limits of its command. If it has ended, or
// did not run, these are the limits of the container's first process.
func readLaunched(in *input, s *host.Snapshot) {
	env, pid := launched(in.tree)
	s.Launched = env
	dir := "proc/" + cmp.Or(pid, "1")
	s.Limits.MainMemlock, _ = memlockOf(in.tree, dir+"/limits")
	for line := range strings.Lines(in.file(dir + "/status").Value) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			s.Limits.MainCapEff = host.Convert(host.Know(strings.TrimSpace(value)), host.ParseCaps)
		}
	}
}

// launched returns the environment and the process number of a command that `railhead-pod run` started and that runs.
// A variable that run left unset is empty, which NCCL takes for unset: other processes of the container may have it.
func launched(t *tree) (env map[string]string, pid string) {
	process := t.text("run/railhead/process").Value
	pid, _, _ = strings.Cut(process, " ")
	if process == "" || identity(t.text("proc/"+pid+"/stat").Value) != process {
		return nil, ""
	}
	var vars []struct{ Name, Value string }
	if err := json.Unmarshal([]byte(t.file("run/railhead/env.json").Value), &vars); err != nil {
		return nil, ""
	}
	env = map[string]string{}
	for _, v := range vars {
		if allowedName(v.Name) {
			env[v.Name] = v.Value
		}
	}
	return env, pid
}

// Process identifies the calling process, also after its number was given to another one.
func (m Machine) Process() string {
	t := &tree{root: m.Root}
	return identity(t.text("proc/self/stat").Value)
}

// startField is the index of the start time among the fields after the command in /proc/PID/stat.
const startField = 19

// identity returns the number of a process and its start time, which execve(2) keeps (proc_pid_stat(5)). It is empty
// for a process that has ended.
func identity(stat string) string {
	command := strings.LastIndexByte(stat, ')') // it may have blanks and parentheses in it
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[command+1:])
	if command < 0 || len(fields) <= startField || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return pid + " " + fields[startField]
}

// identityOnly reduces a line of /proc/PID/stat to the fields that identity reads, without the command's name.
func identityOnly(stat string) string {
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return pid + " () " + strings.Join(fields[:min(len(fields), startField+1)], " ") + "\n"
}

// lockSizes are tried in this order: registrations of a large and a small job, defaults of systemd and of the kernel.
var lockSizes = []uint64{host.MaxLocked, 1 << 30, 64 << 20, 8 << 20, 1 << 20, 64 << 10}

// readLockable finds out how much memory this process can lock, and how much of /dev/shm is free.
func readLockable(in *input, s *host.Snapshot) {
	if in.probes.LockMemory != nil {
		s.Limits.Lockable = lockable(in.probes.LockMemory)
	}
	if in.probes.ShmFree == nil {
		return
	}
	free, err := in.probes.ShmFree()
	if err != nil {
		s.Limits.ShmFree = host.Unread[uint64](in.problem("dev/shm", "statfs", err))
		return
	}
	s.Limits.ShmFree = host.Know(free)
}

func lockable(lock func(bytes uint64) error) host.Fact[uint64] {
	for _, size := range lockSizes {
		switch err := lock(size); {
		case err == nil:
			return host.Know(size)
		case errors.Is(err, errNotProbed):
			return host.Fact[uint64]{}
		}
	}
	return host.Know[uint64](0)
}

// readVirtualFunctions adds the settings of VFs to their PFs' interfaces. The probe may see another namespace than the
// files do, with other indices and names.
func readVirtualFunctions(in *input, s *host.Snapshot) {
	if in.probes.VFs == nil {
		return
	}
	found, err := in.probes.VFs()
	if err != nil {
		in.problem("proc/net", "netlink", err)
	}
	for i := range s.Links {
		same := func(l host.Link) bool { return l.Name == s.Links[i].Name && l.Index == s.Links[i].Index }
		if k := slices.IndexFunc(found, same); k >= 0 {
			s.Links[i].VFs = found[k].VFs
		}
	}
}
