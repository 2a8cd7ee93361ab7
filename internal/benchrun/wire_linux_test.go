package benchrun

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/wire"
)

// standInMoving is a railhead-pod that shows a queue pair of the command, once it runs. Every third reading ends the
// command.
const standInMoving = `#!/bin/sh
dir=${0%/*}
[ "$1 $2" != "snapshot " ] || exec cat "$dir/snapshot.json"
if [ "$1" != snapshot ]; then shift 2; exec "$@"; fi
until [ -e "$dir/running" ]; do sleep 0.02; done
echo >> "$dir/readings"
if [ "$(grep -c "" "$dir/readings")" = 3 ]; then
	rm "$dir/readings"
	exec sleep 600
fi
pid=$(cat "$dir"/shm/railhead-*.pid)
sed "s/4242/$pid/g" "$dir/moving.json"
`

// moving returns a machine with a queue pair that sends packets over its first rail.
func moving(t *testing.T, recording string, number, remote, packets uint32) host.Snapshot {
	t.Helper()
	s := rulestest.Recorded(t, recording)
	then, now := launchtest.Moving(s.Taken, wire.Of(s).Rails[0], number, remote, 4242, packets)
	s.Earlier, s.Wire = &host.Snapshot{Wire: then}, now
	return s
}

// TestBenchByQueuePairs: the name of a plugin does not say whether it uses RDMA. The queue pairs do.
func TestBenchByQueuePairs(t *testing.T) {
	t.Parallel()
	b := newAllReduceTrial(t, "gIB")
	b.firstReading = 50 * time.Millisecond
	b.options.Plan = AllReduce
	b.link(t, "sed")
	b.lacks(t, "torchrun")
	b.tool(t, "torchrun", `#!/bin/sh
cd "$TMPDIR/.."
: > running
while [ ! -e readings ]; do sleep 0.02; done
while [ -e readings ]; do sleep 0.02; done
rm running
`+strings.NewReplacer("0.005720", "0.057200", "174.83", "17.48").Replace(standInTorchrun))
	const packets = 1 << 23 // of 4096 bytes
	for i, s := range []host.Snapshot{
		moving(t, "pod-roce-4vf", 17, 42, packets), moving(t, "pod-roce-4vf-node-b", 42, 17, packets),
	} {
		dir := b.local.Pods[b.targets[i].Pod.Name].Dir
		launchtest.WriteJSON(t, filepath.Join(dir, "moving.json"), s)
		launchtest.Executable(t, filepath.Join(dir, "railhead-pod"), standInMoving)
	}
	r, text, _ := b.carry(t)
	for _, run := range r.AllReduces {
		if run.Failed != "" || len(run.Sizes) == 0 {
			t.Errorf("%+v", run)
		}
	}
	launchtest.Has(t, text, "Network: plugin gIB", "Proof: RDMA: 2 processes on 2 rails of 2 pods, 68.7 GB/s",
		"by the kernel's queue pairs in", "of 2 readings")
}

// TestKernelProof: what queue pairs send must be as much as the rate of the run needs.
func TestKernelProof(t *testing.T) {
	for name, c := range map[string]struct {
		busbw bench.GBps
		rate  float64
		quiet int
		want  bool
	}{
		"as much as the run needs": {90, 91e9, 0, true},
		"control traffic":          {90, 1e9, 0, false},
		"one pod sends nothing":    {90, 91e9, 1, false},
		"nothing was measured":     {0, 91e9, 0, false},
	} {
		best := wire.Job{Proof: wire.RDMA, Sent: wire.Amount{Packets: 1, Rate: c.rate}}
		r := launch.Readings{Taken: 2, Moving: 1, Quiet: c.quiet, Best: best}
		run := bench.AllReduceRun{Nodes: 2, Sizes: []bench.SizedRate{{Bytes: 1 << 30, Busbw: c.busbw}}}
		if got := kernelProof(run, r); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
