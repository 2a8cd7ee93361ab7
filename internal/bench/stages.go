package bench

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/host"
)

// Stage is a set of tests that run at the same time.
type Stage struct {
	Name    string // such as "RDMA write, host memory, rail eno5np0"
	Measure Measure
	Links   []Link
	Skipped string // why they cannot run
}

// rung is a stage that is a step of the ladder of a rail.
type rung struct {
	Stage
	step StepName
	rail int
}

// Climb holds the stages of the ladder between two pods, in order.
type Climb struct {
	fleet    Fleet
	from, to int
	rungs    []rung
}

// Ladder returns the climb from one pod to another: every rail alone, all rails, and TCP, which belongs to the first
// rail.
func (f Fleet) Ladder(from, to int) Climb {
	c := Climb{fleet: f, from: from, to: to}
	link := func(r int) Link { return Link{End{from, r}, End{to, r}} }
	for r := range f.Rails() {
		c.add(WriteHost, Write, r, link(r))
		c.add(WriteGPU, WriteOfGPU, r, link(r))
	}
	if f.Rails() > 1 {
		c.add(AllRails, Write, 0, SameRail([]Pair{{from, to}}, f.Rails())...)
	}
	c.add(TCPPod, TCPOfPod, 0, link(0))
	c.add(TCPRail, TCPOfRail, 0, link(0))
	for r := range f.Rails() {
		c.add(WriteLatency, Latency, r, link(r))
	}
	return c
}

func (c *Climb) add(step StepName, m Measure, rail int, links ...Link) {
	s := Stage{Name: string(step), Measure: m, Links: links, Skipped: c.fleet.Missing(m, c.from, c.to)}
	switch {
	case c.fleet.Rails() == 0 && m != TCPOfPod:
		return
	case step == WriteGPU && s.Skipped == "" && !c.gpus(rail):
		s.Skipped = "no GPU is known to be near the rail"
	case m == TCPOfRail && c.fleet.at(links[0].To).Address == "":
		s.Skipped = "the rail has no address"
	}
	if len(links) == 1 && step != TCPPod {
		s.Name += ", rail " + c.fleet.Pods[c.from].Rails[rail].Name
	}
	c.rungs = append(c.rungs, rung{s, step, rail})
}

func (c *Climb) gpus(rail int) bool {
	return c.fleet.Pods[c.from].Rails[rail].GPU.IsKnown() && c.fleet.Pods[c.to].Rails[rail].GPU.IsKnown()
}

// Stages returns the stages to run.
func (c Climb) Stages() []Stage {
	stages := make([]Stage, len(c.rungs))
	for i, r := range c.rungs {
		stages[i] = r.Stage
	}
	return stages
}

// Ladders returns a ladder for each rail. The first has also the steps that all rails share. readings are by run,
// stage and link.
func (c Climb) Ladders(readings [][][]Reading) []PairLadder {
	ladders := make([]PairLadder, max(c.fleet.Rails(), 1))
	for r := range ladders {
		ladders[r].From, ladders[r].To = End{c.from, r}, End{c.to, r}
	}
	for i, r := range c.rungs {
		ladders[r.rail].Steps = append(ladders[r.rail].Steps, c.step(r, ofStage(readings, i)))
	}
	return ladders
}

func ofStage(readings [][][]Reading, stage int) [][]Reading {
	var all [][]Reading
	for _, run := range readings {
		if stage < len(run) {
			all = append(all, run[stage])
		}
	}
	return all
}

// step returns the median of the runs of a stage. If one run fails the step fails: an intermittent fault ends
// training too.
func (c Climb) step(r rung, runs [][]Reading) Step {
	s := Step{Name: r.step, Skipped: r.Skipped}
	for _, l := range r.Links {
		if r.Measure == Write || r.Measure == WriteOfGPU {
			ceiling := c.fleet.Ceiling(l)
			if len(r.Links) > 1 {
				ceiling = c.fleet.CeilingOfAll(l)
			}
			if ceiling.Rate <= 0 { // unknown: the sum of the others would be too low
				s.Ceiling, s.By = 0, ""
				break
			}
			s.Ceiling, s.By = s.Ceiling+ceiling.Rate, ceiling.By
		}
	}
	if len(r.Links) > 1 {
		s.Rails = len(r.Links)
	}
	if s.Skipped != "" {
		return s
	}
	s.Tool = c.fleet.tool(r.Measure, r.Links[0])
	var rates, micros []float64
	for _, run := range runs {
		rate, us, failed := c.sum(run)
		if failed != "" {
			s.Failed = failed
			return s
		}
		rates, micros = append(rates, float64(rate)), append(micros, us)
	}
	switch {
	case len(runs) == 0:
		s.Skipped = "not started"
	case r.Measure == Latency:
		s.Micros = host.Know(Summarise(micros).Median)
	default:
		s.Measured = host.Know(Gbps(Summarise(rates).Median))
	}
	return s
}

// Only returns the climb with only the given steps.
func (c Climb) Only(steps ...StepName) Climb {
	c.rungs = slices.DeleteFunc(slices.Clone(c.rungs), func(r rung) bool { return !slices.Contains(steps, r.step) })
	return c
}

// sum adds up the rates of the links of one run.
func (c Climb) sum(run []Reading) (rate Gbps, micros float64, failed string) {
	for i, r := range run {
		if r.Failed != "" {
			if len(run) > 1 {
				return 0, 0, fmt.Sprintf("rail %s: %s", c.fleet.Pods[c.from].Rails[i].Name, r.Failed)
			}
			return 0, 0, r.Failed
		}
		rate += r.Rate
		micros = r.Micros
	}
	return rate, micros, ""
}

// Series returns the numbers of all runs.
func (c Climb) Series(readings [][][]Reading) []Series {
	var all []Series
	pair := c.fleet.Pods[c.from].Place() + " > " + c.fleet.Pods[c.to].Place() + ": "
	for i, r := range c.rungs {
		s := Series{Name: pair + r.Name + unitOf(r.Measure)}
		for _, run := range ofStage(readings, i) {
			rate, micros, failed := c.sum(run)
			switch {
			case failed != "":
				s.Values = append(s.Values, 0)
			case r.Measure == Latency && micros > 0:
				s.Values = append(s.Values, 1/micros)
			default:
				s.Values = append(s.Values, float64(rate))
			}
		}
		if len(s.Values) > 0 && r.Skipped == "" {
			all = append(all, s)
		}
	}
	return all
}

// unitOf returns the unit of a series, in which higher is better.
func unitOf(m Measure) string {
	if m == Latency {
		return ", 1/us"
	}
	return ", Gb/s"
}

// Judged returns the ladders with their status and gap.
func Judged(ladders []PairLadder, g Gate) []PairLadder {
	ladders = slices.Clone(ladders)
	for i := range ladders {
		ladders[i].State, ladders[i].Gap = ladders[i].Steps.Judge(g)
	}
	return ladders
}

// Tests returns the tests of a stage. Servers listen on ports from first on.
func (f Fleet) Tests(s Stage, first int) ([]Test, error) {
	ports, err := Ports(s.Links, first)
	if err != nil {
		return nil, err
	}
	tests := make([]Test, len(s.Links))
	for i, l := range s.Links {
		tests[i] = f.Test(s.Measure, l, ports[i])
	}
	return tests, nil
}
