//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/vm"
)

// wireCosts measures what readings cost. The machines are emulated and Soft-RoCE answers without firmware, so only
// ratios are asserted: time grows no faster than the number of queue pairs, and a running program keeps its rate.
func (p pair) wireCosts(t *testing.T) {
	t.Run("readings", func(t *testing.T) {
		cost := map[int]time.Duration{}
		sizes := []int{64, 256, 1024}
		for _, n := range sizes {
			end := p.connects(t, n)
			cost[n] = p.timesReadings(t)
			end()
			t.Logf("%d queue pairs: %v a reading, %v each", n, cost[n], cost[n]/time.Duration(n))
		}
		if most, some := cost[1024], cost[256]; most > 2*4*some {
			t.Errorf("1024 queue pairs take %v, 256 of them %v", most, some)
		}
	})
	t.Run("next to perftest", func(t *testing.T) {
		script(t, p.broken, slowsRail)
		defer script(t, p.broken, healsRail)
		var alone, watched bench.Gbps
		for range 2 { // in turn
			alone = max(alone, p.measures(t, ""))
			watched = max(watched, p.measures(t, program+" wire --watch --every 1s > /dev/null & "))
		}
		t.Logf("ib_write_bw on a wire of 8 Mbit/s: %.5f Gb/s alone, %.5f Gb/s with a reading each second", alone, watched)
		if watched < 0.99*alone {
			t.Errorf("a reading each second takes %.1f %% of the rate", 100*(1-float64(watched/alone)))
		}
	})
}

// connects connects n queue pairs over the first rail and stops both programs, so that nothing but a reading needs the
// processors. It returns what ends them.
func (p pair) connects(t *testing.T, n int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, side := range []struct {
		v    *vm.VM
		more string
	}{{p.other, ""}, {p.broken, p.meetingPlace()}} {
		const lines = "until ib_write_bw -d %s -x 1 -q %d -t 1 -s 64 -D 300 -F %s; do sleep 0.3; done"
		text := fmt.Sprintf(lines, side.v.Spec.Config.Cards[0].VFs[0].HCA, n, side.more)
		running.Go(func() { _, _ = fault.In(side.v)(ctx, "bash", "-c", text) }) // it ends when it is killed
	}
	const connected = `for try in $(seq 120); do
%s wire --every 500ms | awk '$3 ~ /^ib_/ && $4 == %d { n++ } END { exit !n }' && exit
done; exit 1`
	script(t, p.broken, fmt.Sprintf(connected, program, n))
	both := []*vm.VM{p.broken, p.other}
	for _, v := range both {
		script(t, v, signals("STOP", "ib_write_bw"))
	}
	return func() {
		cancel()
		for _, v := range both {
			script(t, v, signals("KILL", "ib_write_bw"))
		}
		running.Wait()
	}
}

// timesReadings returns the mean time of a reading, by the meter's own account. The first reading is left out: it is of
// the whole machine.
func (p pair) timesReadings(t *testing.T) time.Duration {
	t.Helper()
	const lines = "timeout 8 %s wire --watch --every 1s -o prometheus | grep -E '^railhead_wire_reading(s|_seconds)_total '"
	r, err := fault.In(p.broken)(t.Context(), "bash", "-c", fmt.Sprintf(lines, program))
	if err != nil {
		t.Fatal(err)
	}
	var count, seconds []float64
	for line := range strings.Lines(r.Stdout) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%v in %q", err, r.Stdout)
		}
		if name == "railhead_wire_readings_total" {
			count = append(count, value)
		} else {
			seconds = append(seconds, value)
		}
	}
	last := len(seconds) - 1
	if last < 4 || len(count) != len(seconds) {
		t.Fatalf("too few readings: %s%s", r.Stdout, r.Stderr)
	}
	return time.Duration((seconds[last] - seconds[0]) / (count[last] - count[0]) * float64(time.Second))
}

// measures returns the rate of ib_write_bw over the first rail, while a command of the sender runs.
func (p pair) measures(t *testing.T, beside string) bench.Gbps {
	t.Helper()
	const lines = "%suntil out=$(ib_write_bw -d %s -x 1 -s 16384 -t 16 -D 12 -F --report_gbits %s); do sleep 0.3; done; " +
		`kill %%1 2> /dev/null; echo "$out"`
	command := func(v *vm.VM, beside, address string) string {
		return fmt.Sprintf(lines, beside, v.Spec.Config.Cards[0].VFs[0].HCA, address)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var served sync.WaitGroup
	served.Go(func() { _, _ = fault.In(p.other)(ctx, "bash", "-c", command(p.other, "", "")) }) // the client fails, too
	defer served.Wait()
	out := output(t, fault.In(p.broken), "bash", "-c", command(p.broken, beside, p.meetingPlace()))
	rate, err := bench.ParsePerftest(out).Best()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return rate
}
