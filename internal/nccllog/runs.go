package nccllog

import (
	"maps"
	"slices"
	"strings"
)

// Log returns the facts so far. Later lines do not change it.
func (p *Parser) Log() Log {
	generations := p.generations()
	log := Log{Lines: p.seq, Runs: make([]Run, max(slices.Max(append(generations, 0))+1, 1))}
	index := make([]int, len(p.ranks)) // in its run
	sizes := make([]int, len(log.Runs))
	for _, run := range generations {
		sizes[run]++
	}
	for i := range log.Runs {
		log.Runs[i] = Run{Ranks: make([]Rank, 0, sizes[i]), Counts: map[Kind]int{}, Ends: maps.Clone(p.ends),
			Truncated: p.truncated}
	}
	for i, r := range p.ranks {
		run := &log.Runs[generations[i]]
		index[i] = len(run.Ranks)
		run.Ranks = append(run.Ranks, r.copied())
	}
	for _, e := range p.events {
		at := p.runOf(e, generations, log.Runs)
		run := &log.Runs[at]
		if e.Rank >= 0 {
			e.Rank = index[e.Rank]
		}
		run.Events = append(run.Events, e)
		run.Counts[e.Kind]++
	}
	last := &log.Runs[len(log.Runs)-1]
	if len(log.Runs) == 1 {
		for k, n := range p.counts {
			if n > 0 {
				last.Counts[Kind(k)] = n
			}
		}
	}
	for i := range log.Runs {
		p.finish(&log.Runs[i])
	}
	return log
}

// finish adds the facts that belong to no single run.
func (p *Parser) finish(run *Run) {
	run.Tests, run.Trained, run.Ringed = p.tests, p.trained, p.ringed
	run.Tests.Hosts = slices.Clone(p.tests.Hosts)
	run.Env = slices.Clone(p.env)
	for i := range run.Ranks {
		if run.Ranks[i].Version == "" {
			run.Ranks[i].Version = p.plainVersion
		}
	}
	if len(run.Ranks) == 0 && p.plainVersion != "" {
		run.Version = p.plainVersion
	}
	byNumber := map[int]int{}
	for i, r := range run.Ranks {
		if _, ok := byNumber[r.Number]; !ok && r.Number >= 0 && !r.Glued {
			byNumber[r.Number] = i
		}
	}
	for i := range run.Events {
		e := &run.Events[i]
		if at, ok := byNumber[e.Number]; ok && e.Rank < 0 && e.Number >= 0 {
			e.Rank = at
		}
		if e.Rank >= 0 && e.Number < 0 {
			e.Number = run.Ranks[e.Rank].Number
		}
	}
}

// copied returns a copy that shares no slice that is still appended to.
func (r *rank) copied() Rank {
	c := r.Rank
	c.Env, c.Plugins, c.Trail, c.Virtual = slices.Clone(r.Env), slices.Clone(r.Plugins), slices.Clone(r.Trail),
		slices.Clone(r.Virtual)
	c.Channels.Nets = slices.Clone(r.Channels.Nets)
	c.GPUDirect.Enabled, c.GPUDirect.Disabled = slices.Clone(r.GPUDirect.Enabled), slices.Clone(r.GPUDirect.Disabled)
	return c
}

// generations tells of every rank which run it is in. A process that has the same number in the job, on the same GPU
// of the same host, as another one that spoke before it and no more after, belongs to the next run: that is how a
// launcher starts a job again, and how several programs that run one after another write into one file. Where
// processes do not tell their number, all are of one run: with one GPU to a container, all of them call it 0.
func (p *roster) generations() []int {
	type seat struct {
		host           string
		device, number int
	}
	runs := make([]int, len(p.ranks))
	before := map[seat]int{} // the rank that had it last
	for i, r := range p.ranks {
		if r.Host == "" || r.Number < 0 || r.World == 0 || r.Glued {
			continue
		}
		s := seat{r.Host, r.Device, r.Number}
		if last, ok := before[s]; ok {
			old := p.ranks[last]
			if old.Last < r.First && old.PID != r.PID && (old.CommID == "" || old.CommID != r.CommID) {
				runs[i] = min(runs[last]+1, maxRuns-1)
			}
		}
		before[s] = i
	}
	p.settle(runs)
	return runs
}

// settle puts processes that did not tell their number into the run of their process or of the others that began with
// them.
func (p *roster) settle(runs []int) {
	if !slices.ContainsFunc(runs, func(run int) bool { return run > 0 }) {
		return
	}
	first := map[int]int{} // the first line of each run
	for i, r := range p.ranks {
		if at, ok := first[runs[i]]; (!ok || r.First < at) && r.World > 0 && !r.Glued {
			first[runs[i]] = r.First
		}
	}
	for i, r := range p.ranks {
		if r.Host == "" || r.World == 0 || r.Glued {
			runs[i] = runAt(first, r.Last)
		}
	}
}

// runAt is the last run that had begun at a line.
func runAt(first map[int]int, seq int) int {
	best := 0
	for run, at := range first {
		if at <= seq && run > best {
			best = run
		}
	}
	return best
}

// runOf is the run that an event is of.
func (p *roster) runOf(e Event, generations []int, runs []Run) int {
	if e.Rank >= 0 {
		return generations[e.Rank]
	}
	if len(runs) == 1 {
		return 0
	}
	best := 0
	for i := range runs {
		for j := range runs[i].Ranks {
			if r := &runs[i].Ranks[j]; r.First <= e.Seq &&
				(r.File == e.At.File || strings.EqualFold(r.Label, e.At.File)) && i > best {
				best = i
				break
			}
		}
	}
	return best
}
