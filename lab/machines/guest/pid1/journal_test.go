package pid1

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/guest"
)

func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var console bytes.Buffer
		start := time.Now()
		j := newJournal(&console, func() time.Duration { return time.Since(start) })
		answers := make(chan guest.Status)
		ask := func(seen int) { go func() { answers <- j.Status(t.Context(), seen) }() }

		ask(0)
		synctest.Wait()
		<-time.After(1500 * time.Millisecond) // of the bubble
		j.stage("kernel")
		kernel := guest.Stage{Name: "kernel", At: 1500 * time.Millisecond}
		if diff := cmp.Diff(guest.Status{Stages: []guest.Stage{kernel}}, <-answers); diff != "" {
			t.Error(diff)
		}
		ask(1)
		synctest.Wait()
		j.fail(errors.New("no carrier"))
		want := guest.Status{Failed: "no carrier", Stages: []guest.Stage{kernel}}
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Error(diff)
		}
		ask(7) // nothing more will come
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff("  1.50 s  kernelFAILED: no carrier", console.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestJournalNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(&bytes.Buffer{}, func() time.Duration { return 0 })
		j.stage("kernel")
		ctx, cancel := context.WithTimeout(t.Context(), guest.StatusPatience)
		defer cancel()
		if got := j.Status(ctx, 1); len(got.Stages) != 1 || got.Ready || ctx.Err() == nil {
			t.Errorf("status %+v, context %v", got, ctx.Err())
		}
		j.ready()
		if got := j.Status(t.Context(), 1); !got.Ready {
			t.Errorf("status %+v", got)
		}
	})
}
