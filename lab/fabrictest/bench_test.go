//go:build vm

package fabrictest

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/lab/fault"
)

// turns is how often a bench and perftest typed by hand measure, one after the other, so that both have the same host, whose
// speed changes from one minute to the next; the median of the ratios counts. Few turns tell a wrong unit or column from a right
// one; many, whether both come to the same: what is emulated is half as fast again from one run to the next.
var turns = flag.Int("turns", 1, "how often railhead bench and perftest by hand measure in turn; from 50 on they must agree within 5 %")

const seconds = 3 // that each of them measures

// asTyped is the factor that the two may differ by.
func asTyped() float64 {
	if *turns >= 50 {
		return 1.05
	}
	return 3
}

// benches wants railhead bench to measure RDMA and TCP between the pods of a job, RDMA as perftest typed by hand does, and to
// blame a rail that is slow.
func (s site) benches(t *testing.T, job, ns string) {
	before := s.sent(t)
	r := s.ladder(t, job, ns)
	if len(r.Ladders) != 2 {
		t.Fatalf("%d ladders, want one for each rail", len(r.Ladders))
	}
	for _, step := range []bench.StepName{bench.WriteHost, bench.AllRails, bench.TCPPod, bench.TCPRail} {
		if got := measured(r.Ladders[0], step); got <= 0 {
			t.Errorf("%s: nothing was measured: %+v", step, r.Ladders[0].Steps)
		}
	}
	const least = 1000 // packets: a second of what is emulated, on a host that is busy
	if packets := s.sent(t) - before; packets < least {
		t.Errorf("the HCAs counted %d packets", packets)
	}

	s.saysWhatPerftestSays(t, job, ns, measured(r.Ladders[0], bench.WriteHost))
	s.findsTheSlow(t, job, ns)
}

// saysWhatPerftestSays wants a bench, which has measured already, and somebody who types to come to the same.
func (s site) saysWhatPerftestSays(t *testing.T, job, ns string, own ...bench.Gbps) {
	t.Helper()
	var ratios []float64
	for turn := range *turns {
		if turn > 0 {
			own = append(own, measured(s.ladder(t, job, ns).Ladders[0], bench.WriteHost))
		}
		typed := s.typed(t, job, ns)
		ratios = append(ratios, float64(own[turn]/typed))
		t.Logf("railhead bench %.4f Gb/s, perftest by hand %.4f Gb/s: %+.1f %%", float64(own[turn]), float64(typed), 100*(ratios[turn]-1))
	}
	if ratio := bench.Summarise(ratios).Median; ratio > asTyped() || ratio < 1/asTyped() {
		t.Errorf("railhead bench says %.2f of what perftest does, in the median", ratio)
	}
}

// ladder is that from rank 1 to rank 0, the way in which typed sends.
func (s site) ladder(t *testing.T, job, ns string) bench.Result {
	t.Helper()
	return s.bench(t, job, ns, "--ladder", "--pair=1,0", fmt.Sprintf("--duration=%ds", seconds))
}

// findsTheSlow wants a bench to blame the rail that a fault makes slow, and no other, and so does doctor where it measures.
func (s site) findsTheSlow(t *testing.T, job, ns string) {
	t.Helper()
	slow, err := fault.Find("slow-rail")
	if err != nil {
		t.Fatal(err)
	}
	looking := []string{job, "-n", ns, "--measure"}
	before, _ := s.doctor(t, looking...)
	broken := fault.On(s.Fabric, s.Machines[0])
	if err := slow.Make(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	r := s.bench(t, job, ns, "--matrix", "--duration=3s")
	s.measures(t, slow, r.Matrix.Rails[0].Name, before, looking...)
	if err := slow.Heal(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	s.calm(t, before, looking...)
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
	script := fmt.Sprintf(`hca=${NCCL_IB_HCA#=}; hca=${hca%%%%:*}
run() { timeout -s KILL 60 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -q 4 -D %d -F --report_gbits "$@"; }
if [ $NODE_RANK = 0 ]; then run > /dev/null; else until run $MASTER_ADDR; do sleep 1; done; fi`, seconds)
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
