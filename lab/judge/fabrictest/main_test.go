//go:build vm

package fabrictest

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/controlplane/process"
)

// update records the machines anew, into the recordings that the fast tests read.
var update = flag.Bool("update", false, "record the machines anew into testdata/hosts; then update the golden files of internal/podcli")

// results are printed at the end. They are a variable because tests of one package share nothing else.
var results tally

// TestMain prints what became of the faults, and what it all took, however the tests end.
func TestMain(m *testing.M) {
	flag.Parse()
	begun := time.Now()
	ended, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watchMemory(ended) }()
	tell := func() {
		close(ended)
		results.write(os.Stdout, time.Since(begun), <-peak)
	}
	code := make(chan int)
	go func() { code <- m.Run() }()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGINT, syscall.SIGTERM)
	select {
	case c := <-code:
		tell()
		os.Exit(c)
	case <-stopped: // whatever runs below this process ends with it
		tell()
		os.Exit(130)
	case <-almost():
		tell()
		os.Exit(<-code) // the testing package ends it, and says where it was
	}
}

// The longest time that a part of a test takes on a slow machine.
const (
	clusterPart = 10 * time.Minute
	faultPart   = 5 * time.Minute
)

// part runs a part of a test if enough of the time that the tests have is left. A skipped part was not tried.
func part(t *testing.T, name string, most time.Duration, run func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if end, limited := t.Deadline(); limited && time.Until(end) < most {
			t.Skipf("not tried: less than %v are left", most)
		}
		run(t)
	})
}

// almost is when the time that the tests have is nearly over.
func almost() <-chan time.Time {
	const before = 5 * time.Second
	limit, err := time.ParseDuration(flag.Lookup("test.timeout").Value.String())
	if err != nil || limit <= before {
		return nil
	}
	return time.After(limit - before)
}

// watchMemory returns the most memory that this process and those that lived below it at one time have had.
func watchMemory(ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if now, err := process.PeakMemory(os.Getpid()); err == nil {
			peak = max(peak, now)
		}
		select {
		case <-ended:
			return peak
		case <-tick.C:
		}
	}
}
