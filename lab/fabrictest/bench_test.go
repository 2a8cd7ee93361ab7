//go:build vm

package fabrictest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/lab/fault"
)

// asTyped is how far a number of railhead may be from those of perftest typed by hand before and after it: machines that are
// emulated have what the host leaves them from one second to the next.
const asTyped = 0.3

// benches wants railhead bench to measure RDMA and TCP between the pods of a job, RDMA as perftest typed by hand does, and to
// blame a rail that is slow.
func (s site) benches(t *testing.T, job, ns string) {
	byHand := s.typed(t, job, ns)
	before := s.sent(t)
	r := s.bench(t, job, ns, "--ladder", "--duration=3s")
	if len(r.Ladders) != 2 {
		t.Fatalf("%d ladders, want one for each rail", len(r.Ladders))
	}
	for _, step := range []bench.StepName{bench.WriteHost, bench.AllRails, bench.TCPPod, bench.TCPRail} {
		if got := measured(r.Ladders[0], step); got <= 0 {
			t.Errorf("%s: nothing was measured: %+v", step, r.Ladders[0].Steps)
		}
	}
	own := measured(r.Ladders[0], bench.WriteHost)
	again := s.typed(t, job, ns)
	t.Logf("perftest by hand %v and %v, railhead bench %v", byHand, again, own)
	if own < min(byHand, again)*(1-asTyped) || own > max(byHand, again)*(1+asTyped) {
		t.Error("railhead bench has another number")
	}
	const least = 1000 // packets: a second of what is emulated, on a host that is busy
	if packets := s.sent(t) - before; packets < least {
		t.Errorf("the HCAs counted %d packets", packets)
	}

	s.findsTheSlow(t, job, ns)
}

// findsTheSlow wants a bench to blame the rail that a fault makes slow, and no other.
func (s site) findsTheSlow(t *testing.T, job, ns string) {
	t.Helper()
	slow, err := fault.Find("slow-rail")
	if err != nil {
		t.Fatal(err)
	}
	broken := fault.On(s.Fabric, s.Machines[0])
	if err := slow.Make(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	r := s.bench(t, job, ns, "--matrix", "--duration=3s")
	if err := slow.Heal(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	var blamed []int
	for _, c := range r.Attribution.Culprits {
		if c.Kind != bench.FabricFault { // all of it is below its ceiling
			blamed = append(blamed, c.Rail)
		}
	}
	if !slices.Equal(blamed, []int{0}) {
		t.Errorf("rails %v are blamed: %+v", blamed, r.Attribution)
	}
	t.Logf("with %s: %v", slow.Name, r.Matrix.Values)
}

// bench runs a bench, which fails: what is emulated reaches no ceiling.
func (s site) bench(t *testing.T, job, ns string, args ...string) bench.Result {
	t.Helper()
	r := s.railhead(t, append([]string{"bench", job, "-n", ns, "-o", "json"}, args...)...)
	var result bench.Result
	if err := json.Unmarshal([]byte(r.out), &result); err != nil || r.code != 1 {
		t.Fatalf("railhead bench %s ends with %d: %v\n%s%s", strings.Join(args, " "), r.code, err, r.out, r.err)
	}
	return result
}

// typed is what perftest measures on the first rail where somebody types it in both pods.
func (s site) typed(t *testing.T, job, ns string) bench.Gbps {
	t.Helper()
	const script = `hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}
run() { timeout -s KILL 60 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -q 4 -D 3 -F --report_gbits "$@"; }
if [ $NODE_RANK = 0 ]; then run > /dev/null; else until run $MASTER_ADDR; do sleep 1; done; fi`
	best, err := bench.ParsePerftest(s.ranks(t, job, ns, script)["1"]).Best()
	if err != nil {
		t.Fatal(err)
	}
	return best.Average
}

func measured(l bench.PairLadder, name bench.StepName) bench.Gbps {
	at := slices.IndexFunc(l.Steps, func(s bench.Step) bool { return s.Name == name })
	if at < 0 {
		return 0
	}
	return l.Steps[at].Measured.Value
}
