package benchrun

import (
	"context"
	"fmt"

	"github.com/railhead/railhead/internal/bench"
)

// survey measures all pairs on all rails, rails across, and every HCA against itself.
func (b *Bench) survey(ctx context.Context) error {
	n := len(b.fleet.Pods)
	if b.fleet.Rails() == 0 {
		return nil
	}
	b.placeLeaves()
	s := b.fleet.NewSurvey()
	loops, across := b.fleet.Loopbacks(), b.fleet.Crossings(bench.Round(n, 0))
	b.total = 2*bench.RoundCount(n)*b.options.Runs + len(loops) + len(across) // rounds go both ways
	for _, stage := range loops {
		if err := b.try(ctx, stage, func(readings []bench.Reading) {
			b.result.Loopbacks = append(b.result.Loopbacks, bench.Looped(stage, readings)...)
		}); err != nil {
			return err
		}
		b.soFar()
	}
	if n < 2 {
		b.skip("the matrix: there is one pod")
		return nil
	}
	for range b.options.Runs {
		for r := range bench.RoundCount(n) {
			name := fmt.Sprintf("round %d of %d", r+1, bench.RoundCount(n))
			if err := b.round(ctx, s, s.Round(name, bench.Round(n, r))); err != nil {
				return err
			}
		}
	}
	for _, stage := range across {
		if err := b.try(ctx, stage, func(readings []bench.Reading) {
			b.result.CrossRails = append(b.result.CrossRails, bench.Crossed(stage, readings)...)
		}); err != nil {
			return err
		}
	}
	b.surveyed(s)
	return nil
}

// search finds bad pods without measuring every pair.
func (b *Bench) search(ctx context.Context) error {
	n := len(b.fleet.Pods)
	if b.fleet.Rails() == 0 || n < 2 {
		b.skip("the matrix: it needs two pods with rails")
		return nil
	}
	b.placeLeaves()
	s := b.fleet.NewSurvey()
	rounds := bench.Quick(n)
	b.total = 2 * bench.QuickLimit(n)
	for i, pairs := range rounds {
		if err := b.round(ctx, s, s.Round(fmt.Sprintf("search, round %d", i+1), pairs)); err != nil {
			return err
		}
	}
	for i := len(rounds); i < bench.QuickLimit(n); i++ {
		pairs := s.Confirm()
		if len(pairs) == 0 {
			break
		}
		if err := b.round(ctx, s, s.Round(fmt.Sprintf("search, round %d: confirming", i+1), pairs)); err != nil {
			return err
		}
	}
	b.surveyed(s)
	return nil
}

// round runs the stages of one round.
func (b *Bench) round(ctx context.Context, s *bench.Survey, stages []bench.Stage) error {
	for _, stage := range stages {
		take := func(readings []bench.Reading) { s.Take(stage, readings, b.options.Gate) }
		if err := b.try(ctx, stage, take); err != nil {
			return err
		}
	}
	b.soFar(func() { b.judgeSurvey(s) })
	return nil
}

// try measures a stage, or records why it is skipped.
func (b *Bench) try(ctx context.Context, stage bench.Stage, take func([]bench.Reading)) error {
	readings, err := b.stage(ctx, stage)
	switch {
	case err != nil:
		return err
	case stage.Skipped != "":
		b.skip("the matrix: " + stage.Skipped)
	default:
		take(readings)
	}
	return nil
}

func (b *Bench) surveyed(s *bench.Survey) {
	b.judgeSurvey(s)
	b.result.Series = bench.Merge(b.result.Series, s.Series())
}

func (b *Bench) judgeSurvey(s *bench.Survey) {
	b.result.Matrix = s.Matrix()
	part := b.options.Gate.Efficiency
	if b.options.Gate.Gbps > 0 {
		part = 0 // the gate alone judges the fabric as a whole
	}
	attribution := s.Matrix().Attribute(part)
	b.result.Attribution = &attribution
	b.result.Failures = s.Failures()
}
