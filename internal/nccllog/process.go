package nccllog

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// These are the forms in which a line names a process that ended, and its host:
//
//	failed (exitcode: -9) local_rank: 3 (pid: 41)               torchrun
//	Out of memory: Killed process 41 (python)                   the kernel
//	Process 41 got signal: 15                                   torchrun
//	train.sh: line 12: 41 Killed                                bash
//	[gpu-a:41:0:41] Caught signal 11, [gpu-a:41] Signal: ...    UCX, Open MPI
//	srun: error: gpu-a: task 2: Killed                          Slurm
//	PID 41 RUNNING AT gpu-a                                     MPICH
var (
	namedPID = regexp.MustCompile(`(?i)\bpid[ :=]+(\d{1,9})\b|\bKilled process (\d{1,9})\b|` +
		`\bProcess (\d{1,9}) got signal|: line \d+: +(\d{1,9}) `)
	namedProcess = regexp.MustCompile(`\[([\w.-]+):(\d{1,9})(?::\d+:\d+)?\] .*[Ss]ignal`)
	namedHost    = regexp.MustCompile(`srun: error: ([\w.-]+): |RUNNING AT ([\w.-]+)|([\w.-]+) kernel: `)
)

// readProcess reads which process ended, of which a launcher, a shell or the kernel reports it.
func (e *Event) readProcess(text string) {
	switch e.Kind {
	case Exit, OOMKill, Xid:
	default:
		return
	}
	if m := namedProcess.FindStringSubmatch(text); m != nil {
		e.Host = cmp.Or(e.Host, m[1])
		e.PID, _ = strconv.Atoi(m[2])
		return
	}
	if m := namedPID.FindStringSubmatch(text); m != nil {
		e.PID, _ = strconv.Atoi(cmp.Or(m[1:]...))
	}
	if m := namedHost.FindStringSubmatch(text); m != nil {
		e.Host = cmp.Or(e.Host, cmp.Or(m[1:]...))
	}
}

// writers finds the rank that a line of another program is about.
type writers struct {
	ranks  []Rank
	byPID  map[int][]int
	byFile map[string][]int
	single bool // several files, each of one rank
}

func writersOf(ranks []Rank) writers {
	w := writers{ranks: ranks, byPID: map[int][]int{}, byFile: map[string][]int{}}
	for i, r := range ranks {
		if r.Host == "" || r.Glued {
			continue
		}
		w.byPID[r.PID] = append(w.byPID[r.PID], i)
		w.byFile[r.File] = append(w.byFile[r.File], i)
	}
	w.single = len(w.byFile) > 1
	for _, of := range w.byFile {
		w.single = w.single && len(of) == 1
	}
	return w
}

// attribute adds the rank, or at least the host, that the event's process or its file tells. A process identifier may
// be that of several processes: on other hosts, in other containers.
func (w writers) attribute(e *Event) {
	e.Host = w.knownHost(e.Host)
	switch of := w.byProcess(*e); {
	case len(of) == 1:
		e.Rank = of[0]
		if number := w.ranks[of[0]].Number; number >= 0 {
			e.Number = number
		}
	case len(of) > 1 && w.sameHost(of): // one process on several GPUs
		e.Host = w.ranks[of[0]].Host
	case e.Rank < 0 && e.Number < 0 && e.Host == "" && ofProgram(e.Kind):
		w.byItsFile(e)
	}
}

// ofProgram reports whether the process itself prints an event of the kind, not its launcher.
func ofProgram(k Kind) bool {
	switch k {
	case Exception, OutOfMemory, CUDAError, Result:
		return true
	default:
		return false
	}
}

// knownHost returns the name of a host as NCCL writes it, which cuts it at the first dot.
func (w writers) knownHost(host string) string {
	short, _, _ := strings.Cut(host, ".")
	if short != host && slices.ContainsFunc(w.ranks, func(r Rank) bool { return r.Host == short }) {
		return short
	}
	return host
}

// byProcess returns the ranks with the event's process identifier: those of the host that the line or its launcher's
// prefix tells; without a host those of the same file, if there are any.
func (w writers) byProcess(e Event) []int {
	if e.PID == 0 {
		return nil
	}
	of, host := w.byPID[e.PID], e.Host
	if host == "" && e.Rank >= 0 {
		host = w.ranks[e.Rank].Host
	}
	only := func(fits func(Rank) bool) []int {
		return slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !fits(w.ranks[i]) })
	}
	if host != "" {
		return only(func(r Rank) bool { return r.Host == host })
	}
	if here := only(func(r Rank) bool { return r.File == e.At.File }); len(here) > 0 {
		return here
	}
	return of
}

func (w writers) sameHost(of []int) bool {
	return !slices.ContainsFunc(of, func(i int) bool { return w.ranks[i].Host != w.ranks[of[0]].Host })
}

// byItsFile adds the rank of a line in a file that only one rank wrote, where every file is such a file; and the host
// where all ranks of the file are on one.
func (w writers) byItsFile(e *Event) {
	of := w.byFile[e.At.File]
	switch {
	case len(of) == 0 || len(w.byFile) < 2 || !w.sameHost(of):
	case w.single:
		e.Rank = of[0]
	default:
		e.Host = w.ranks[of[0]].Host
	}
}
