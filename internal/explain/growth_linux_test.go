package explain

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkEveryRankFails: thousands of ranks fail at once, and each failure asks about the whole run. If each of them
// looked for the answer, eight times as many ranks would take 64 times as long. The fastest of each counts.
func BenchmarkEveryRankFails(b *testing.B) {
	const ranks, fewer = 4096, 8
	for _, warning := range everyRank {
		name, _, _ := strings.Cut(strings.TrimPrefix(warning, "NCCL WARN "), ":")
		b.Run(name, func(b *testing.B) {
			small, large := failing(ranks/fewer, warning), failing(ranks, warning)
			ofSmall, ofLarge := time.Hour, time.Hour
			for b.Loop() {
				begun := cpuTime(b)
				Log(small)
				between := cpuTime(b)
				Log(large)
				ofSmall, ofLarge = min(ofSmall, between-begun), min(ofLarge, cpuTime(b)-between)
			}
			ratio := float64(ofLarge) / float64(ofSmall)
			b.ReportMetric(ratio, "large/small")
			if ratio > fewer*fewer/2 {
				b.Errorf("%v for %d ranks, and %v for %d", ofLarge, ranks, ofSmall, ranks/fewer)
			}
		})
	}
}

// cpuTime returns the CPU time of this process: unlike the clock, it leaves out the time that other processes take.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
