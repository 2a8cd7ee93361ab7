package cli

import (
	"context"
	"fmt"

	"github.com/railhead/railhead/internal/bench"
)

// survey measures all pairs on all rails, rails across, and every HCA against itself.
func (m *measuring) survey(ctx context.Context) error {
	n := len(m.fleet.Pods)
	if m.fleet.Rails() == 0 {
		return nil
	}
	m.knowLeaves()
	s := m.fleet.NewSurvey()
	loops, across := m.fleet.Loopbacks(), m.fleet.Crossings(bench.Round(n, 0))
	m.total = 2*bench.RoundCount(n)*m.flags.runs + len(loops) + len(across) // rounds go both ways
	for _, stage := range loops {
		if err := m.try(ctx, stage, func(readings []bench.Reading) {
			m.result.Loopbacks = append(m.result.Loopbacks, bench.Looped(stage, readings)...)
		}); err != nil {
			return err
		}
		m.soFar()
	}
	if n < 2 {
		m.skip("the matrix: there is one pod")
		return nil
	}
	for range m.flags.runs {
		for r := range bench.RoundCount(n) {
			if err := m.round(ctx, s, s.Round(fmt.Sprintf("round %d of %d", r+1, bench.RoundCount(n)), bench.Round(n, r))); err != nil {
				return err
			}
		}
	}
	for _, stage := range across {
		if err := m.try(ctx, stage, func(readings []bench.Reading) {
			m.result.CrossRails = append(m.result.CrossRails, bench.Crossed(stage, readings)...)
		}); err != nil {
			return err
		}
	}
	m.surveyed(s)
	return nil
}

// search finds bad pods without measuring every pair.
func (m *measuring) search(ctx context.Context) error {
	n := len(m.fleet.Pods)
	if m.fleet.Rails() == 0 || n < 2 {
		m.skip("the matrix: it takes two pods with rails")
		return nil
	}
	m.knowLeaves()
	s := m.fleet.NewSurvey()
	rounds := bench.Quick(n)
	m.total = 2 * bench.QuickLimit(n)
	for i, pairs := range rounds {
		if err := m.round(ctx, s, s.Round(fmt.Sprintf("search, round %d", i+1), pairs)); err != nil {
			return err
		}
	}
	for i := len(rounds); i < bench.QuickLimit(n); i++ {
		pairs := s.Suspects().Confirm
		if len(pairs) == 0 {
			break
		}
		if err := m.round(ctx, s, s.Round(fmt.Sprintf("search, round %d: confirming", i+1), pairs)); err != nil {
			return err
		}
	}
	m.surveyed(s)
	return nil
}

// round runs one round of a survey, both ways.
func (m *measuring) round(ctx context.Context, s *bench.Survey, stages []bench.Stage) error {
	for _, stage := range stages {
		if err := m.try(ctx, stage, func(readings []bench.Reading) { s.Take(stage, readings, m.gate) }); err != nil {
			return err
		}
	}
	m.soFar(func() { m.judgeSurvey(s) })
	return nil
}

// try measures a stage, unless there is a reason not to, which is noted.
func (m *measuring) try(ctx context.Context, stage bench.Stage, take func([]bench.Reading)) error {
	readings, err := m.stage(ctx, stage)
	switch {
	case err != nil:
		return err
	case stage.Skipped != "":
		m.skip("the matrix: " + stage.Skipped)
	default:
		take(readings)
	}
	return nil
}

// surveyed takes a survey into the result.
func (m *measuring) surveyed(s *bench.Survey) {
	m.judgeSurvey(s)
	m.result.Series = bench.Merge(m.result.Series, s.Series())
}

func (m *measuring) judgeSurvey(s *bench.Survey) {
	m.result.Matrix = s.Matrix()
	part := m.gate.Efficiency
	if m.gate.Gbps > 0 {
		part = 0 // the whole fabric is judged by the gate alone
	}
	attribution := s.Matrix().Attribute(part)
	m.result.Attribution = &attribution
	m.result.Failures = s.Failures()
}
