package podcli

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/scrape"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/wire/metrics"
)

// refresh is the time after which a meter reads the whole machine again: its devices and their MTU may change.
const refresh = time.Minute

// meter reads the queue pairs of a machine again and again, and adds up what moved.
type meter struct {
	here  sysfs.Machine
	every time.Duration
	last  host.Snapshot

	mu     sync.Mutex // of totals
	totals metrics.Totals
}

func newMeter(here sysfs.Machine, every time.Duration) *meter {
	m := &meter{here: here, every: every}
	begun := time.Now()
	m.last = here.Snapshot()
	m.totals.Add(m.last.Wire, nil, time.Since(begun))
	return m
}

// read takes the next reading.
func (m *meter) read() wire.Motion {
	before, begun := m.last.Wire, time.Now()
	if begun.Sub(m.last.Taken) < refresh {
		m.last.Wire = m.here.Wire(m.last)
	} else {
		m.last = m.here.Snapshot()
	}
	motion := wire.Between(before, m.last)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.totals.Add(m.last.Wire, motion.Usages, time.Since(begun))
	return motion
}

// once prints a reading.
func (m *meter) once(streams Streams, format string) error {
	<-time.After(m.every)
	motion := m.read()
	return errors.Join(m.write(streams, motion, format), exitOf(motion))
}

// watch prints a reading after each interval until it is interrupted, then sums them up. It returns the error of the
// last reading.
func (m *meter) watch(interrupted <-chan os.Signal, streams Streams, format string) error {
	series := wire.Series{Proofs: map[wire.Proof]int{}}
	begun, last := time.Now(), error(exit.Error{Code: exit.Interrupted})
	for {
		select {
		case <-interrupted:
			if series.Readings > 0 {
				report.OverTime(streams.Err, &series, time.Since(begun))
			}
			return last
		case <-time.After(m.every):
		}
		motion := m.read()
		if err := m.write(streams, motion, format); err != nil {
			return err
		}
		last = exitOf(motion)
		series.Readings++
		series.Proofs[motion.Proof]++
	}
}

func (m *meter) page() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.totals.Text()
}

func (m *meter) write(streams Streams, motion wire.Motion, format string) error {
	if format == "prometheus" {
		_, err := streams.Out.Write(m.page())
		return err
	}
	return writeMotion(streams, motion, format)
}

func writeMotion(streams Streams, motion wire.Motion, format string) error {
	if format == "text" {
		return report.Motion(streams.Out, motion)
	}
	return report.Encode(streams.Out, format, motion)
}

// serve answers scrapes with the sums. A scrape takes no reading.
func (m *meter) serve(address string, streams Streams) error {
	parsed, err := scrape.ParseAddress(address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	listener, err := scrape.Listen(parsed)
	if err != nil {
		return exit.Failed(err)
	}
	defer listener.Close()
	fmt.Fprintf(streams.Err, "Listening on %v\n", listener.Address)
	var reader sync.WaitGroup
	ended := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(m.every):
				m.read()
			}
		}
	})
	err = listener.Serve(m.page)
	close(ended)
	reader.Wait()
	return exit.Failed(err)
}
