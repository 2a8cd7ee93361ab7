package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// kernelModules are those that RDMA is helped or hindered by.
var kernelModules = []string{
	"ib_core", "ib_uverbs", "mlx5_ib", "mlx4_ib", "irdma", "i40iw", "rdma_rxe", "nvidia", "nvidia_peermem", "nv_peer_mem",
}

// modules are the loaded ones of kernelModules; what is built into the kernel has no initstate.
func (r *reader) modules() []string {
	var loaded []string
	for _, name := range kernelModules {
		if r.exists("sys/module/" + name + "/initstate") {
			loaded = append(loaded, name)
		}
	}
	return loaded
}

// peerClients are the modules that registered for peer memory with MOFED's ib_core.
func (r *reader) peerClients() []string { return r.list("sys/kernel/mm/memory_peers") }

// Runtime is what a node's container runtime is told about locked memory.
type Runtime struct {
	Name    string `json:"name"`              // CRI-O, containerd
	File    string `json:"file,omitempty"`    // that sets it
	Memlock string `json:"memlock,omitempty"` // as written: "-1:-1", "infinity"; "" when nothing sets it
}

// Unlimited reports whether containers may lock all memory.
func (r Runtime) Unlimited() bool {
	soft, _, _ := strings.Cut(r.Memlock, ":")
	return soft == "-1" || soft == "infinity" || soft == "unlimited"
}

// runtime reads the configuration of CRI-O, else containerd's unit. Both take the last file that says something.
func (r *reader) runtime() *Runtime {
	// CRI-O takes all files of its folder: OpenShift's own is 00-default (cri-o pkg/config UpdateFromPath).
	if files := r.configFiles("etc/crio/crio.conf", "etc/crio/crio.conf.d", ""); len(files) > 0 {
		found := Runtime{Name: "CRI-O"}
		for _, name := range files {
			if list := crioUlimits(r.file(name).Value); list != "" {
				found.File, found.Memlock = "/"+name, crioMemlock(list)
			}
		}
		return &found
	}
	for _, unit := range []string{"usr/lib/systemd/system/containerd.service", "lib/systemd/system/containerd.service", "etc/systemd/system/containerd.service"} {
		if !r.exists(unit) {
			continue
		}
		found := Runtime{Name: "containerd"}
		for _, name := range r.configFiles(unit, "etc/systemd/system/containerd.service.d", ".conf") {
			for line := range strings.Lines(r.file(name).Value) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(line), unitMemlock); ok {
					found.File, found.Memlock = "/"+name, value
				}
			}
		}
		return &found
	}
	return nil
}

const unitMemlock = "LimitMEMLOCK="

// configFiles are a file and the drop-ins of a folder that end so, in the order in which they are read.
func (r *reader) configFiles(file, dropIns, suffix string) []string {
	var files []string
	if r.exists(file) {
		files = append(files, file)
	}
	for _, name := range r.list(dropIns) {
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
		if b.Len() == 0 && !strings.HasPrefix(bare, "default_ulimits") {
			continue
		}
		if b.WriteString(bare + "\n"); strings.Contains(bare, "]") {
			break
		}
	}
	return b.String()
}

// crioMemlock finds "-1:-1" in a list of name=soft:hard.
func crioMemlock(list string) string {
	_, rest, _ := strings.Cut(list, `"memlock=`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// launched reads what `railhead-pod run` left for other shells of the container, and the number of the process that is
// the command now. A run that has ended left nothing that counts.
func (r *reader) launched() (env map[string]string, pid string) {
	process := r.text("run/railhead/process").Value
	pid, _, _ = strings.Cut(process, " ")
	if process == "" || identity(r.text("proc/"+pid+"/stat").Value) != process {
		return nil, ""
	}
	var vars []struct{ Name, Value, Source string }
	if err := json.Unmarshal([]byte(r.file("run/railhead/env.json").Value), &vars); err != nil {
		return nil, ""
	}
	env = map[string]string{}
	for _, v := range vars {
		if v.Source != "left unset" && allowedName(v.Name) {
			env[v.Name] = v.Value
		}
	}
	return env, pid
}

// Process names the process that asks in such a way that nobody who reads it later takes another process for it.
func (m Machine) Process() string {
	return identity(newReader(m.Root, m.Probes).text("proc/self/stat").Value)
}

// startField is where a process' start is among what follows its command in /proc/PID/stat.
const startField = 19

// identity is the number of a process and when it started, which execve(2) leaves alone (proc_pid_stat(5)); nothing of one that
// has ended.
func identity(stat string) string {
	command := strings.LastIndexByte(stat, ')') // it may have blanks and parentheses in it
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[command+1:])
	if command < 0 || len(fields) <= startField || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return pid + " " + fields[startField]
}

// identityOnly is what identity reads of a line of /proc/PID/stat, without the command's name.
func identityOnly(stat string) string {
	pid, _, _ := strings.Cut(stat, " ")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return pid + " () " + strings.Join(fields[:min(len(fields), startField+1)], " ") + "\n"
}

// command reads the limit and the capabilities of the command that was launched, or else of this container's first process.
func (r *reader) command(pid string, l *Limits) {
	dir := "proc/" + cmp.Or(pid, "1")
	l.MainMemlock, _ = r.memlockOf(dir + "/limits")
	for line := range strings.Lines(r.file(dir + "/status").Value) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			l.MainCapEff = convert(Know(strings.TrimSpace(value)), parseCaps)
		}
	}
}

// MaxLocked is the largest mapping whose locking is tried: no job registers more in one process.
const MaxLocked = 64 << 30

// lockSizes are the mappings that are tried, largest first: what a large job registers, what a small one does, the
// defaults of systemd and of the kernel.
var lockSizes = []uint64{MaxLocked, 1 << 30, 64 << 20, 8 << 20, 1 << 20, 64 << 10}

// lockable tries how much memory this process can lock.
func (r *reader) lockable() Fact[uint64] {
	if r.probes.LockMemory == nil {
		return Fact[uint64]{}
	}
	for _, size := range lockSizes {
		switch err := r.probes.LockMemory(size); {
		case err == nil:
			return Know(size)
		case errors.Is(err, errNotProbed):
			return Fact[uint64]{}
		}
	}
	return Know[uint64](0)
}

func (r *reader) shmFree() Fact[uint64] {
	if r.probes.ShmFree == nil {
		return Fact[uint64]{}
	}
	free, err := r.probes.ShmFree()
	if err != nil {
		return Unread[uint64](r.problem("dev/shm", "statfs", err))
	}
	return Know(free)
}

// virtualFunctions puts the settings of VFs at their PFs' interfaces: the probe may be about another namespace than the
// files, whose interfaces have other indices or names.
func (r *reader) virtualFunctions(links []Link) {
	if r.probes.VFs == nil {
		return
	}
	told, err := r.probes.VFs()
	if err != nil {
		r.problem("proc/net", "netlink", err)
	}
	for i := range links {
		same := func(l Link) bool { return l.Name == links[i].Name && l.Index == links[i].Index }
		if k := slices.IndexFunc(told, same); k >= 0 {
			links[i].VFs = told[k].VFs
		}
	}
}
