//go:build vm

package fabrictest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/machines/image"
)

// measuring is a program that sends over the first rail and says what it sent. It runs for three minutes, in which
// pods that read the nodes start, which takes up to two on emulated machines of a busy host.
type measuring struct {
	name string // of the process
	run  string // its command, to which the sender adds the address of the receiver
	rate func(output string) (bench.Gbps, error)
}

func perftest() measuring {
	return measuring{
		name: "ib_write_bw",
		run: fmt.Sprintf(`ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s %d -q 1 -D 180 -F --report_gbits`,
			messageBytes),
		rate: func(output string) (bench.Gbps, error) { return bench.ParsePerftest(output).Best() },
	}
}

// ucxBytes are the bytes of a message of ucx_perftest, so many that UCX does not copy them piece by piece.
const ucxBytes = 65536

// ucxPerftest returns the measuring program of UCX, over its transport rc_verbs. UCX's own choice between transports takes
// TCP on the pod network, whose veth claims 10 Gb/s, before a virtual function of 1 Gb/s. A short queue of messages keeps
// each from waiting longer on the slow rail than the timeout of its acknowledgement.
func ucxPerftest() measuring {
	return measuring{
		name: "ucx_perftest",
		run: fmt.Sprintf(`UCX_RC_VERBS_TX_QUEUE_LEN=16 UCX_RC_VERBS_TIMEOUT=10s `+
			`ucx_perftest -P 0 -x rc_verbs -d $hca:1 -t put_bw -D zcopy -s %d -w 1 -n 2600 -f`, ucxBytes),
		rate: ucxRate,
	}
}

// ucxRate reads the bandwidth of the whole run, in 2^20 bytes per second with two decimals. The messages per second, in
// the last column, are whole numbers.
func ucxRate(output string) (bench.Gbps, error) {
	for line := range strings.Lines(output) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "Final:")) // without MPI the word is missing
		if len(words) == 8 {
			if rate, err := strconv.ParseFloat(words[5], 64); err == nil {
				return bench.Gbps(rate * (1 << 20) * 8 / 1e9), nil
			}
		}
	}
	return 0, fmt.Errorf("no result in %q", output)
}

// proves wants `railhead-pod wire`, as the unprivileged user of a pod, and `railhead wire node/...`, to prove from the
// kernel that a program uses the first rail, at the rate that the program itself measures on a wire of a known rate, and
// that nothing does afterwards.
func (s site) proves(t *testing.T, x measuring, job, ns string, from int, to string) {
	t.Helper()
	const script = `hca=${NCCL_IB_HCA#=}; hca=${hca%%%%:*}
run() { timeout -s KILL 300 env %s "$@"; }
if [ $NODE_RANK != %d ]; then run >&2; exit; fi
until run %s; do sleep 1; done > /tmp/measured 2>&1 &
for try in $(seq 60); do /railhead/bin/railhead-pod wire --every 300ms > /dev/null && break; done
/railhead/bin/railhead-pod wire --every 10s -o json > /tmp/moving
wait
/railhead/bin/railhead-pod wire -o json > /tmp/after
echo $hca; echo PART; cat /tmp/measured; echo PART; cat /tmp/moving; echo PART; cat /tmp/after`
	pod := func(rank int) check.Ref { return check.PodRef(ns, fmt.Sprintf("%s-%d", job, rank)) }
	onNodes := s.readingNodes(t, ns, pod(from), pod(1-from))
	parts := strings.Split(s.ranks(t, job, ns, fmt.Sprintf(script, x.run, from, to))[strconv.Itoa(from)], "PART\n")
	nodes := onNodes()
	if len(parts) != 4 {
		t.Fatalf("the sender prints %q", parts)
	}
	var moving, after wire.Motion
	for i, m := range []*wire.Motion{&moving, &after} {
		if err := json.Unmarshal([]byte(parts[2+i]), m); err != nil {
			t.Fatalf("%v in %s", err, parts[2+i])
		}
	}
	if after.Proof != wire.NoConnection {
		t.Errorf("after the end: %+v", after)
	}
	measured, err := x.rate(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	if moving.Proof != wire.RDMA || len(moving.Usages) != 1 {
		t.Fatalf("while %s sends: %+v; it prints %s", x.name, moving, parts[1])
	}
	u := moving.Usages[0]
	if u.Device != strings.TrimSpace(parts[0]) || !strings.HasPrefix(u.Program, x.name) || u.Active != 1 {
		t.Errorf("%+v", u)
	}
	agrees(t, "railhead-pod wire", u.Sent, x.name, measured)
	agrees(t, "railhead wire node/..., sent", sent(nodes[pod(from)]), x.name, measured)
	agrees(t, "railhead wire node/..., received", received(nodes[pod(1-from)]), x.name, measured)
}

func sent(m wire.Motion) (sum wire.Amount) {
	for _, u := range m.Usages {
		sum = sum.Plus(u.Sent)
	}
	return sum
}

func received(m wire.Motion) (sum wire.Amount) {
	for _, u := range m.Usages {
		sum = sum.Plus(u.Got)
	}
	return sum
}

// agrees wants the bytes that were seen on a device to be those that a program says that it moved, within 5 %.
func agrees(t *testing.T, who string, seen wire.Amount, program string, measured bench.Gbps) {
	t.Helper()
	rate := bench.Gbps(seen.Rate * 8 / 1e9)
	t.Logf("%s: %.6f Gb/s; %s: %.6f Gb/s", who, float64(rate), program, float64(measured))
	if ratio := float64(rate / measured); ratio < 1/1.05 || ratio > 1.05 {
		t.Errorf("%s says %.3f of what %s does: %+v", who, ratio, program, seen)
	}
}

// readingNodes begins to read the nodes, again and again until pods moved data by RDMA. The function that it returns ends
// this when the program has ended, and returns what the pods did.
func (s site) readingNodes(t *testing.T, ns string, moving ...check.Ref) (end func() map[check.Ref]wire.Motion) {
	t.Helper()
	args := []string{
		"wire", "-n", ns, "--every=12s", "--timeout=2m", "--probe-image=" + image.PerfImage,
		"--pod-binary=amd64=" + s.podBinary, "-o", "json",
	}
	for _, m := range s.Machines {
		args = append(args, "node/"+m.Spec.Config.Name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	pods := map[check.Ref]wire.Motion{}
	still := func(pod check.Ref) bool { return pods[pod].Proof != wire.RDMA }
	reading.Go(func() {
		for ctx.Err() == nil && slices.ContainsFunc(moving, still) {
			for _, m := range s.readsJob(t, args...).Members {
				if still(m.Ref) {
					pods[m.Ref] = m.Motion
				}
			}
		}
	})
	end = func() map[check.Ref]wire.Motion {
		cancel()
		reading.Wait()
		return pods
	}
	t.Cleanup(func() { end() })
	return end
}

// readsJob returns what railhead wire says in JSON, nothing if it fails.
func (s site) readsJob(t *testing.T, args ...string) (job wire.Job) {
	t.Helper()
	r := s.railhead(t, args...)
	if err := json.Unmarshal([]byte(r.out), &job); err != nil {
		t.Logf("%q: %v: %s%s", args, err, r.out, r.err)
		return job
	}
	var text strings.Builder
	if err := report.Wire(&text, job); err != nil {
		t.Error(err)
	}
	t.Logf("%q: %s%s", args, text.String(), r.err)
	return job
}
