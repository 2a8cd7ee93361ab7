package nccllog

import (
	"maps"
	"slices"
	"strings"
)

// Log returns the facts so far. Later lines do not change it.
func (p *Parser) Log() Log {
	runOf := p.runs()
	log := Log{Runs: make([]Run, max(slices.Max(append(runOf, 0))+1, 1))}
	index := make([]int, len(p.ranks)) // in its run
	for i, r := range p.ranks {
		run := &log.Runs[runOf[i]]
		index[i] = len(run.Ranks)
		run.Ranks = append(run.Ranks, r.copied())
	}
	for _, e := range p.events {
		run := p.runOfEvent(e, runOf, log.Runs)
		if e.Rank >= 0 {
			e.Rank = index[e.Rank]
		}
		run.Events = append(run.Events, e)
	}
	for i := range log.Runs {
		p.complete(&log.Runs[i])
	}
	return log
}

// complete adds the facts that do not depend on the run.
func (p *Parser) complete(run *Run) {
	run.Tests, run.Trained, run.Ringed = p.tests, p.trained, p.ringed
	run.Tests.Hosts = slices.Clone(p.tests.Hosts)
	run.Env, run.Ends, run.Truncated = slices.Clone(p.env), maps.Clone(p.ends), p.truncated
	if len(run.Ranks) == 0 {
		run.Version = p.plainVersion
	}
	byNumber := map[int]int{}
	for i := range run.Ranks {
		r := &run.Ranks[i]
		if r.Version == "" {
			r.Version = p.plainVersion
		}
		if _, ok := byNumber[r.Number]; !ok && r.Number >= 0 && !r.Glued {
			byNumber[r.Number] = i
		}
	}
	for i := range run.Events {
		e := &run.Events[i]
		if at, ok := byNumber[e.Number]; ok && e.Rank < 0 {
			e.Rank = at
		}
		if e.Rank >= 0 && e.Number < 0 {
			e.Number = run.Ranks[e.Rank].Number
		}
	}
}

// copied returns a copy that shares no slice that still grows.
func (r *rank) copied() Rank {
	c := r.Rank
	c.Env, c.Plugins, c.Virtual = slices.Clone(r.Env), slices.Clone(r.Plugins), slices.Clone(r.Virtual)
	c.Channels.Nets = slices.Clone(r.Channels.Nets)
	c.GPUDirect.Enabled, c.GPUDirect.Disabled = slices.Clone(r.GPUDirect.Enabled), slices.Clone(r.GPUDirect.Disabled)
	return c
}

// runs returns the run of each rank. A process belongs to the next run if another one had the same number in the job
// and the same GPU of the same host, and logged its last line before: a launcher started the job again, or several
// programs wrote into one file in turn. Processes without a number are all of one run: in containers with one GPU
// each, every process calls its GPU 0.
func (p *roster) runs() []int {
	type seat struct {
		host           string
		device, number int
	}
	runs := make([]int, len(p.ranks))
	latest := map[seat]int{} // rank
	for i, r := range p.ranks {
		if r.anonymous() || r.Number < 0 {
			continue
		}
		s := seat{r.Host, r.Device, r.Number}
		if j, ok := latest[s]; ok {
			old := p.ranks[j]
			if old.Last < r.first && old.PID != r.PID && (old.commID == "" || old.commID != r.commID) {
				runs[i] = min(runs[j]+1, maxRuns-1)
			}
		}
		latest[s] = i
	}
	p.placeAnonymous(runs)
	return runs
}

// anonymous reports whether it is unknown which rank of the job the process is.
func (r *rank) anonymous() bool { return r.Host == "" || r.World == 0 || r.Glued }

// placeAnonymous puts each anonymous process into the latest run that had begun when it logged its last line.
func (p *roster) placeAnonymous(runs []int) {
	begin := map[int]int{} // the first line of each run
	for i, r := range p.ranks {
		if at, ok := begin[runs[i]]; r.World > 0 && !r.Glued && (!ok || r.first < at) {
			begin[runs[i]] = r.first
		}
	}
	for i, r := range p.ranks {
		if !r.anonymous() {
			continue
		}
		runs[i] = 0
		for run, at := range begin {
			if at <= r.Last {
				runs[i] = max(runs[i], run)
			}
		}
	}
}

// runOfEvent returns the run of an event: that of its rank, or the last one that had begun in the same file.
func (p *roster) runOfEvent(e Event, runOf []int, runs []Run) *Run {
	if e.Rank >= 0 {
		return &runs[runOf[e.Rank]]
	}
	best := 0
	if len(runs) > 1 {
		for i, r := range p.ranks {
			if r.first <= e.Seq && (r.File == e.At.File || strings.EqualFold(r.Label, e.At.File)) {
				best = max(best, runOf[i])
			}
		}
	}
	return &runs[best]
}
