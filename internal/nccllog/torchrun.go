package nccllog

import (
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
)

// report follows the report that torchrun prints of the processes that failed. Its lines count only where they follow
// one another: two of them may be mixed in one file.
//
//	Root Cause (first observed failure):
//	[0]:
//	  time      : 2026-11-27_11:49:29
//	  host      : gpu-1
//	  rank      : 1 (local_rank: 0)
//	  exitcode  : -9 (pid: 4222)
//	  error_file: <N/A>
//	  traceback : Signal 9 (SIGKILL) received by PID 4222
type report struct {
	others event.Place // the list of the processes that ended after the first
	root   event.Place // the line before the first one
	host   string
	rank   event.Place // the line of the rank
	number int
}

func (r *report) read(at event.Place, text string) {
	switch {
	case strings.Contains(text, "Failures:"):
		*r = report{others: at}
	case strings.Contains(text, "Root Cause (first"):
		*r = report{root: at}
	case after(r.root, at, 3) && strings.Contains(text, "host "):
		r.host = find.WordAfter(text, ": ")
	case strings.Contains(text, localRank):
		if !after(r.root, at, 4) {
			r.host = ""
		}
		before, _, _ := strings.Cut(text, localRank)
		number, err := strconv.Atoi(find.LastPart(before))
		if err == nil && number >= 0 {
			r.rank, r.number = at, number
		}
	}
}

// localRank is in the line of the rank, which no other line is like.
const localRank = " (local_rank: "

// after reports whether line is the given number of lines after first, in the same file.
func after(first, line event.Place, lines int) bool {
	return first.Line > 0 && first.File == line.File && line.Line-first.Line == lines
}

// name adds the process that the report names to the end of a process.
func (r *report) name(e *event.Event, at event.Place) {
	if e.Kind != event.Exit {
		return
	}
	if e.Code == -9 && r.others.Line > 0 && r.others.File == at.File {
		e.Code = -15 // torchrun ends the others when one has failed, by SIGKILL those that do not end
	}
	if e.Number < 0 && (after(r.rank, at, 1) || after(r.rank, at, 3)) {
		e.Number, e.Host = r.number, r.host
	}
}

// nameEnds adds to the end of a process what another line about it names: torchrun's report comes after the first one.
func nameEnds(events []event.Event) {
	type process struct {
		file string
		pid  int
	}
	named := map[process]event.Event{}
	for _, e := range events {
		if e.Kind == event.Exit && e.PID > 0 && e.Number >= 0 {
			named[process{e.At.File, e.PID}] = e
		}
	}
	for i := range events {
		e := &events[i]
		if by, ok := named[process{e.At.File, e.PID}]; ok && e.Kind == event.Exit && e.Number < 0 && e.Host == "" {
			e.Number, e.Host = by.Number, by.Host
		}
	}
}
