package wire

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkLargeJob: the time to judge a job does not grow with the square of its pods: that of eight times as many would
// be 64 times as long. The fastest of each counts.
func BenchmarkLargeJob(b *testing.B) {
	const fewer = 8
	small, large := ring(largeJob/fewer), ring(largeJob)
	ofSmall, ofLarge := time.Hour, time.Hour
	for b.Loop() {
		for members, best := range map[*[]Member]*time.Duration{&small: &ofSmall, &large: &ofLarge} {
			runtime.GC() // the garbage of the others
			begun := cpuTime(b)
			Together(*members, true)
			*best = min(*best, cpuTime(b)-begun)
		}
	}
	ratio := float64(ofLarge) / float64(ofSmall)
	b.ReportMetric(ratio, "large/small")
	if ratio > fewer*fewer/2 {
		b.Errorf("%v for %d pods, and %v for %d", ofLarge, largeJob, ofSmall, largeJob/fewer)
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
