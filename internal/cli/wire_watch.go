package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// wireFlags are the flags of wire that do not select what to read.
type wireFlags struct {
	format, save string
	watch        bool
}

// wireReader reads a job once, or again and again, and saves the readings.
type wireReader struct {
	wireFlags
	collect.Options
	read func(ctx context.Context, o collect.Options) (wire.Job, error)
	Streams

	begun    time.Time
	series   wire.Series
	nextSave time.Time
	trouble  string // the last error that did not end the series
}

// run ends with the exit code of the last reading, also by Ctrl-C.
func (r *wireReader) run(ctx context.Context) error {
	if err := checkWritable("--save", r.save); err != nil {
		return err
	}
	r.begun = time.Now()
	var last error
	for {
		next := time.After(r.Every)
		job, err := r.once(ctx)
		if err == nil {
			last = exitOfWire(job)
			err = r.showWire(r.format, job, r.watch, r.Live)
		}
		if err != nil || !r.watch {
			failed := r.finish() // whatever the error is
			if ctx.Err() == nil || r.series.Readings == 0 {
				return cmp.Or(err, failed, last)
			}
			if result := cmp.Or(failed, last); result != nil {
				return ended{result}
			}
			return nil
		}
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}

// once takes a reading and saves it, with --save. A series goes on when the API server does not answer for some time.
func (r *wireReader) once(ctx context.Context) (wire.Job, error) {
	job, err := r.read(ctx, r.Options)
	switch {
	case ctx.Err() != nil:
		return job, ctx.Err()
	case err != nil && (r.series.Readings == 0 || errors.Is(err, collect.ErrNoJob)):
		return job, err
	case err != nil:
		if job = wire.Together(nil, false); err.Error() != r.trouble {
			r.trouble = err.Error()
			r.say("Not read: %v; trying again", err)
		}
	}
	r.series.Subject = cmp.Or(r.series.Subject, r.title(job))
	r.series.Add(time.Now().UTC(), job)
	if r.save == "" {
		return job, nil
	}
	const part = 20 // saving takes at most a twentieth of the time
	begun := time.Now()
	if begun.Before(r.nextSave) {
		return job, nil
	}
	err = r.keep()
	r.nextSave = begun.Add(part * time.Since(begun))
	return job, err
}

func (r *wireReader) keep() error {
	if err := saveJSON(r.save, r.series); err != nil {
		return unknown(fmt.Errorf("--save: %w", err))
	}
	return nil
}

// title names what is read: "Job h-kim in namespace train".
func (r *wireReader) title(j wire.Job) string {
	s := r.Subject
	for _, m := range j.Members {
		s.Namespace = cmp.Or(s.Namespace, m.Ref.Namespace)
	}
	return rules.Verdict{Subject: s}.Title()
}

// finish sums up the readings of --watch and saves them.
func (r *wireReader) finish() error {
	if r.watch && r.series.Readings > 0 {
		r.Live.Leave()
		report.OverTime(r.Err, &r.series, time.Since(r.begun))
	}
	if r.save == "" || r.series.Readings == 0 {
		return nil
	}
	if err := r.keep(); err != nil {
		return err
	}
	r.say("%s in %s. To draw them: railhead report %s -o wire.html",
		words.Count(r.series.Readings, "reading"), r.save, r.save)
	return nil
}
