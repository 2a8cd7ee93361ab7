package job

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// injecting returns a function that reads, injects and edits the text of a manifest, given the State of a cluster of
// 1,000 nodes.
func injecting(tb testing.TB) func() {
	s := plantest.Training()
	for i := len(s.Nodes); i < 1000; i++ {
		node := s.Nodes[0]
		node.Name = fmt.Sprintf("gpu-%d", i)
		s.Nodes = append(s.Nodes, node)
	}
	states := map[string]cluster.State{"train": s}
	text := []byte(rayManifest)
	return func() {
		before, err := manifests.Read(text)
		if err != nil {
			tb.Fatal(err)
		}
		out, _ := InjectAll(before, states, Options{Namespace: "train", Programs: programs()})
		if _, rewritten := manifests.Edit(text, before, out[len(out)-len(before):]); len(rewritten) > 0 {
			tb.Fatal("not edited")
		}
	}
}

// cpuTime returns the CPU time of this process: unlike the clock, it leaves out the time that other processes take.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkInject wants an injection to take less than 20 ms of CPU time, on a core of a server of 2023: the fastest
// counts.
func BenchmarkInject(b *testing.B) {
	const limit = 20 * time.Millisecond
	inject, best := injecting(b), time.Hour
	for b.Loop() {
		begun := cpuTime(b)
		inject()
		best = min(best, cpuTime(b)-begun)
	}
	b.ReportMetric(best.Seconds()*1000, "cpu-ms-best")
	if b.N > 1 && best > limit {
		b.Errorf("the fastest of %d injections took %s of CPU time, want less than %s", b.N, best, limit)
	}
}

// TestInjectAllocates bounds the work of an injection where its time depends on the machine. It allocates 48,000 times.
func TestInjectAllocates(t *testing.T) {
	const limit = 60_000
	if n := testing.AllocsPerRun(3, injecting(t)); n > limit {
		t.Errorf("%.0f allocations, want at most %d", n, limit)
	}
}
