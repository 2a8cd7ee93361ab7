package nccllog

import (
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// Log returns the facts so far. Later lines do not change it.
func (p *Parser) Log() Log {
	runOf := runsOf(p)
	begins := beginningsOf(p, runOf)
	log := Log{Runs: make([]Run, begins.runs)}
	sizes := make([]int, begins.runs)
	for _, run := range runOf {
		sizes[run]++
	}
	for i, ranks := range sizes {
		log.Runs[i].Ranks = make([]Rank, 0, ranks)
	}
	index := make([]int, len(p.ranks.all)) // in its run
	hosts := p.ranks.bareHosts()
	for i, r := range p.ranks.all {
		run := &log.Runs[runOf[i]]
		index[i] = len(run.Ranks)
		c := r.copied()
		if host := hostAtEnd(r, hosts); host != "" {
			c.Host, c.Glued = host, true
		}
		run.Ranks = append(run.Ranks, c)
		run.Ringed = max(run.Ringed, r.ringed)
	}
	for _, e := range p.notes.events {
		of, rank := begins.runAt(e.At.File, e.Seq), e.Rank
		e.Rank = -1
		if rank >= 0 && (p.ranks.all[rank].Host != "" || runOf[rank] == of) {
			of, e.Rank = runOf[rank], index[rank]
		}
		log.Runs[of].Events = append(log.Runs[of].Events, e)
	}
	for i := range log.Runs {
		slices.SortStableFunc(log.Runs[i].Events, func(a, b event.Event) int { return a.Seq - b.Seq })
		complete(p, &log.Runs[i], i, begins)
	}
	return log
}

// complete adds the facts that do not come from the run's own lines.
func complete(p *Parser, run *Run, number int, begins beginnings) {
	run.Trained, run.Truncated, run.Diagnosis = p.trained, p.ranks.truncated, p.diagnosis
	run.Ends = begins.ends(number, p.ends)
	until := p.ranks.seq
	if number+1 < begins.runs && len(run.Ranks) > 0 {
		until = slices.MaxFunc(run.Ranks, func(a, b Rank) int { return a.Last - b.Last }).Last
	}
	run.Env = variablesUntil(p, until)
	if len(run.Ranks) == 0 {
		run.Version = p.plainVersion
	}
	run.Tests = testsOf(p, number)
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
	nameEnds(run.Events)
	writers := writersOf(run.Ranks)
	for i := range run.Events {
		e := &run.Events[i]
		writers.attribute(e)
		if at, ok := byNumber[e.Number]; ok && e.Rank < 0 {
			e.Rank = at
		}
		if e.Rank >= 0 && e.Number < 0 {
			e.Number = run.Ranks[e.Rank].Number
		}
	}
	run.Finished = finishedOf(run.Events)
}

// finishedOf returns the last line with which the program says that it succeeded, rather than words that a script may
// print.
func finishedOf(events []event.Event) (last event.Event) {
	for _, e := range events {
		if e.Kind == event.Finished && (e.Detail != event.Stated || last.Text == "" || last.Detail == event.Stated) {
			last = e
		}
	}
	return last
}

// testsOf returns the tables of a run: each process of a program without MPI writes its own.
func testsOf(p *Parser, run int) Tests {
	var all Tests
	for _, t := range p.tables {
		if t.run == run {
			all.Ranks, all.Listed = max(all.Ranks, t.Ranks), all.Listed+t.Listed
			all.Hosts = append(all.Hosts, t.Hosts...)
		}
	}
	slices.Sort(all.Hosts)
	all.Hosts = slices.Compact(all.Hosts)
	return all
}

// variablesUntil returns the values of variables that were assigned up to a line.
func variablesUntil(p *Parser, until int) []Variable {
	var found []Variable
	for _, v := range p.env {
		i := slices.IndexFunc(found, func(known Variable) bool { return known.Name == v.Name })
		switch {
		case v.Seq > until:
		case i >= 0:
			found[i] = v
		default:
			found = append(found, v)
		}
	}
	return found
}

// copied returns a copy that shares no slice that still grows.
func (r *rank) copied() Rank {
	c := r.Rank
	c.Env, c.Plugins, c.Virtual = slices.Clone(r.Env), slices.Clone(r.Plugins), slices.Clone(r.Virtual)
	c.QueuePair.GIDs = slices.Clone(r.QueuePair.GIDs)
	c.Channels.Nets = slices.Clone(r.Channels.Nets)
	c.GPUDirect.Enabled, c.GPUDirect.Disabled = slices.Clone(r.GPUDirect.Enabled), slices.Clone(r.GPUDirect.Disabled)
	return c
}

// runsOf returns the run of each rank. A process belongs to the next run if another one had the same number in the job
// and the same GPU of the same host, and logged its last line before: a launcher or the kubelet started the job again,
// or several programs wrote into one file in turn. Processes without a number are all of one run: in containers with
// one GPU each, every process calls its GPU 0. In a file of nccl-tests, each table begins a run.
func runsOf(p *Parser) []int {
	type seat struct {
		host           string
		device, number int
	}
	runs := make([]int, len(p.ranks.all))
	latest := map[seat]int{} // rank
	for i, r := range p.ranks.all {
		runs[i] = tableAt(p, r.File, r.first)
		if r.anonymous() || r.Number < 0 {
			continue
		}
		s := seat{r.Host, r.Device, r.Number}
		if j, ok := latest[s]; ok {
			old := p.ranks.all[j]
			another := old.PID != r.PID || r.again
			if another && old.Last < r.first && (old.commID == "" || old.commID != r.commID) {
				runs[i] = min(max(runs[i], runs[j]+1), maxRuns-1)
			}
		}
		latest[s] = i
	}
	p.ranks.placeAnonymous(runs)
	return runs
}

// anonymous reports whether it is unknown which rank of the job the process is.
func (r *rank) anonymous() bool { return r.Host == "" || r.World == 0 || r.Glued }

// placeAnonymous puts each anonymous process into the latest run that had begun when it logged its last line.
func (p *roster) placeAnonymous(runs []int) {
	begin := map[int]int{} // the first line of each run
	for i, r := range p.all {
		if at, ok := begin[runs[i]]; r.World > 0 && !r.Glued && (!ok || r.first < at) {
			begin[runs[i]] = r.first
		}
	}
	for i, r := range p.all {
		if !r.anonymous() {
			continue
		}
		for run, at := range begin {
			if at <= r.Last {
				runs[i] = max(runs[i], run)
			}
		}
	}
}

// beginnings are the first lines of each run in each file.
type beginnings struct {
	runs   int // at least one
	inFile map[string]map[int]beginning
}

type beginning struct{ seq, line int }

func beginningsOf(p *Parser, runOf []int) beginnings {
	b := beginnings{1, map[string]map[int]beginning{}}
	for i, r := range p.ranks.all {
		b.add(runOf[i], r.File, beginning{r.first, r.line})
	}
	for _, t := range p.tables {
		b.add(t.run, t.at.File, beginning{t.seq, t.at.Line})
	}
	return b
}

func (b *beginnings) add(run int, file string, at beginning) {
	b.runs = max(b.runs, run+1)
	if b.inFile[file] == nil {
		b.inFile[file] = map[int]beginning{}
	}
	if old, ok := b.inFile[file][run]; !ok || at.seq < old.seq {
		b.inFile[file][run] = at
	}
}

// runAt returns the last run that had begun in a file.
func (b *beginnings) runAt(file string, seq int) int {
	last := 0
	for run, at := range b.inFile[file] {
		if at.seq <= seq {
			last = max(last, run)
		}
	}
	return last
}

// ends returns the last lines of a run by file: the last lines of the file, or the lines before the next run.
func (b *beginnings) ends(run int, ends map[string]scan.Ending) map[string]scan.Ending {
	found := maps.Clone(ends)
	for file, begun := range b.inFile {
		for later, at := range begun {
			if later > run && found[file].Line >= at.line {
				found[file] = scan.Ending{Line: at.line - 1, Own: at.line - 1}
			}
		}
	}
	return found
}
