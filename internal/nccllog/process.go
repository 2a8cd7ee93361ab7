package nccllog

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
)

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

// attribute adds the rank, or at least the host, that the event's process or its file tells. Processes on different
// hosts or in different containers may have the same process identifier.
func (w writers) attribute(e *event.Event) {
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
func ofProgram(k event.Kind) bool {
	switch k {
	case event.Exception, event.OutOfMemory, event.CUDAError, event.Result:
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

// byProcess returns the ranks with the event's process identifier. If the line or its launcher's prefix names a host,
// only ranks on that host count; otherwise, if any of the ranks are in the same file, only they count.
func (w writers) byProcess(e event.Event) []int {
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
func (w writers) byItsFile(e *event.Event) {
	of := w.byFile[e.At.File]
	switch {
	case len(of) == 0 || len(w.byFile) < 2 || !w.sameHost(of):
	case w.single:
		e.Rank = of[0]
	default:
		e.Host = w.ranks[of[0]].Host
	}
}
