package causes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// hung: collectives that did not end, or a job that its scheduler ended.
func hung(in *input) []candidate {
	var found []candidate
	if events := failures.Seen(in.seq, event.Watchdog); len(events) > 0 {
		if found = missing(in, events); len(found) > 0 {
			return append(found, otherEnds(in)...)
		}
		text := words.Count(len(events), "line") + " of the watchdog, with no failure before them"
		confidence := story.Likely
		if i := slices.IndexFunc(events, isWaiting); i >= 0 {
			text = waits(in.run, events[i]) + elsewhere(in.run, events, events[i])
		} else if !slices.ContainsFunc(events, func(e event.Event) bool { return e.Detail != event.Unspecified }) {
			if len(failures.Seen(in.seq, event.Result)) > 0 {
				return returned(in)
			}
			text = "the watchdog ended the process for a timeout or an error, and does not say which"
			confidence = story.Possible
		}
		found = one(story.HangTimeout, confidence, text, events...)
	} else if events := failures.Seen(in.seq, event.TimeLimit); len(events) > 0 {
		if slices.ContainsFunc(failures.Seen(in.seq, event.Result), func(e event.Event) bool {
			return failures.Earlier(e, events[0])
		}) {
			return returned(in)
		}
		found = outOfTime(in.run, events)
	} else {
		return nil
	}
	return slices.Concat(found, retrying(in), otherEnds(in))
}

// outOfTime judges a job that its scheduler ended at its time limit. If the last step is as old as a few steps take, it
// ran until then.
func outOfTime(run *facts.Run, events []event.Event) []candidate {
	const ended = "the scheduler ended the job at its time limit"
	end := run.Log.Ends[events[0].At.File]
	since, known := end.SinceStep(events[0].Time)
	switch known = known && end.Progress > 0 && end.Progress < events[0].At.Line && since >= 0; {
	case known && since <= end.Usual():
		return advised(shortLimitAdvice, possible(story.UnknownCause,
			fmt.Sprintf("%s, %s after its last step: it did not hang", ended, seconds(since)), events...))
	case known:
		return likely(story.HangTimeout, fmt.Sprintf("%s, %s after its last step", ended, seconds(since)), events...)
	case end.Progress == 0 && len(run.Log.Ranks) == 0:
		quiet := events[0].Time.Sub(end.Said)
		if end.Said.Year() > 0 && events[0].Time.Year() > 0 && quiet >= 0 && quiet <= end.Usual() {
			return advised(shortLimitAdvice, possible(story.UnknownCause,
				fmt.Sprintf("%s, %s after its last line: it did not hang", ended, seconds(quiet)), events...))
		}
		return possible(story.UnknownCause, ended+"; no line is of NCCL or counts a step, so it may have hung, or "+
			"needed more time", events...)
	case end.Progress == 0:
		return likely(story.HangTimeout, ended+"; no failure was logged before", events...)
	}
	return possible(story.HangTimeout, ended+", and the last lines before count its steps: it hung after them, or "+
		"needed more time", events...)
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// isWaiting reports whether a line of the watchdog names a collective that the rank started.
func isWaiting(e event.Event) bool { return e.Name != "" && e.Code > 0 }

// awaited returns the number of the collective that a rank started and waits for, or 0. A rank also reports the number
// that others wait for, which it did not start.
func awaited(e event.Event) int {
	if isWaiting(e) || e.Code <= e.Enqueued {
		return e.Code
	}
	return 0
}

func waits(run *facts.Run, e event.Event) string {
	return fmt.Sprintf("%s waited for %s number %d", run.Who(e), e.Name, e.Code) + ofGroup(e.Group)
}

func ofGroup(group string) string {
	if group == "" {
		return ""
	}
	return " of group " + group
}

// elsewhere says which rank of the same group waits for another collective, or has another one with the same number.
func elsewhere(run *facts.Run, events []event.Event, e event.Event) string {
	for _, o := range events {
		if isWaiting(o) && o.Group == e.Group && o.Number != e.Number && (o.Code != e.Code || o.Name != e.Name) {
			return fmt.Sprintf(", %s for %s number %d: the ranks are not at the same collective", run.Who(o), o.Name,
				o.Code)
		}
	}
	return ""
}

// otherCollective says which ranks ran different collectives at the same time, or of different sizes, where NCCL found
// that sizes differ. It compares the operations to which all ranks give as many elements. Alone it proves nothing:
// PyTorch may not name the group, and groups have numbers of their own.
func otherCollective(run *facts.Run) string {
	first := map[int]event.Event{}
	for _, e := range run.Log.Events {
		c := e.Collective
		if c == nil || e.Number < 0 || !isDefaultGroup(e.Group) ||
			!slices.Contains([]string{"ALLREDUCE", "BROADCAST", "REDUCE"}, c.Operation) {
			continue
		}
		o, known := first[c.Number]
		if !known {
			first[c.Number] = e
			continue
		}
		if e.Number != o.Number && (*c != *o.Collective) {
			return fmt.Sprintf("%s ran %s, %s ran %s: the ranks are not at the same collective", run.Who(o),
				collective(o), run.Who(e), collective(e))
		}
	}
	return ""
}

func collective(e event.Event) string {
	return fmt.Sprintf("%s number %d of %s", e.Collective.Operation, e.Collective.Number,
		words.Count(e.Collective.Elements, "element"))
}

// place is a rank in a process group.
type place struct {
	group  string
	number int
}

func placeOf(e event.Event) place {
	if isDefaultGroup(e.Group) {
		return place{"", e.Number}
	}
	return place{e.Group, e.Number}
}

// isDefaultGroup reports the group of all ranks, which PyTorch calls 0 and default_pg; older versions print no group.
func isDefaultGroup(group string) bool {
	return group == "" || group == "0" || strings.Contains(group, "default_pg")
}

// missing finds the ranks that did not start a collective that others of their group wait for. Ranks start collectives
// without waiting for one another, so the one that started fewest is not missing if it waits, too.
func missing(in *input, events []event.Event) []candidate {
	waits, groups, last := map[place]bool{}, map[int]int{}, map[string]int{}
	for _, e := range events {
		at, number := placeOf(e), awaited(e)
		if number == 0 {
			continue
		}
		if !waits[at] {
			waits[at] = true
			groups[e.Number]++
		}
		last[at.group] = max(last[at.group], number)
	}
	late := slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool {
		at := placeOf(e)
		return e.Enqueued == 0 || e.Number < 0 || e.Enqueued >= last[at.group] || waits[at]
	})
	atFault := slices.DeleteFunc(slices.Clone(late), func(e event.Event) bool { return groups[e.Number] > 0 })
	switch {
	case len(late) == 0:
		return silent(in, events)
	case len(atFault) > 0: // a rank that waits in another group is not at fault, unless all do
		late = atFault
	}
	first := late[0]
	late = slices.DeleteFunc(late, func(e event.Event) bool { return placeOf(e).group != placeOf(first).group })
	var names []string
	for _, e := range late {
		if !slices.Contains(names, in.run.Who(e)) {
			names = append(names, in.run.Who(e))
		}
	}
	return likely(story.HangTimeout, fmt.Sprintf("%s did not start collective %d%s, which others wait for",
		words.Few(names, facts.MostNames), last[placeOf(first).group], ofGroup(first.Group)), late...)
}

// silent finds the ranks that the watchdog does not mention while most ranks wait for one collective of all ranks. It
// finds none if the log may lack the lines of these ranks: the log must have other lines of them, or they must be few.
func silent(in *input, events []event.Event) []candidate {
	const few = 4 // of so many ranks one
	waiting, speaking, number := map[int]bool{}, map[int]bool{}, 0
	for _, e := range events {
		speaking[e.Number] = true
		switch n := awaited(e); {
		case n == 0:
		case !isDefaultGroup(e.Group) || number > 0 && n != number:
			return nil
		default:
			waiting[e.Number], number = true, n
		}
	}
	delete(waiting, -1)
	names, seen, all := []string{}, 0, in.run.Size
	byNumber := byNumber(in.run)
	for rank := range all {
		if speaking[rank] {
			continue
		}
		name := fmt.Sprintf("rank %d", rank)
		if r, ok := byNumber[rank]; ok {
			name, seen = facts.RankName(r, rank), seen+1
		}
		names = append(names, name)
	}
	if len(names) == 0 || 2*len(waiting) <= all || seen < len(names) && few*len(names) > all {
		return nil
	}
	return likely(story.HangTimeout, fmt.Sprintf("%s did not report that it waits for collective %d, as %d others do: "+
		"it may not have started it", words.Few(names, facts.MostNames), number, len(waiting)), events...)
}

// byNumber returns the processes by the numbers of their ranks.
func byNumber(run *facts.Run) map[int]nccllog.Rank {
	found := map[int]nccllog.Rank{}
	for _, r := range run.Log.Ranks {
		if _, known := found[r.Number]; !known && !r.Glued {
			found[r.Number] = r
		}
	}
	return found
}
