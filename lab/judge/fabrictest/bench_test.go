//go:build vm

package fabrictest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/image"
)

// benches wants railhead bench to measure between pods of its own, and between those of a job to blame a rail that is
// slow, as doctor does where it measures. The slow rail is a wire of a known rate, less than what is emulated can do:
// so a bench and perftest typed by hand come to the same on it, however busy the host is.
func (s site) benches(t *testing.T, job, ns string) {
	s.makesItsOwn(t, ns)
	slow, err := fault.Find("slow-rail")
	if err != nil {
		t.Fatal(err)
	}
	broken := fault.On(s.Fabric, s.Machines[0])
	if err := slow.Make(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			_ = slow.Heal(t.Context(), broken) // it may be healed already
		}
	}()
	r := s.bench(t, job, "-n", ns, "--matrix", "--duration=3s")
	from := slices.IndexFunc(r.Pods, func(p bench.Pod) bool { return p.Node == s.Machines[0].Spec.Config.Name })
	s.saysWhatPerftestSays(t, job, ns, from, r.Pods[1-from].IP)
	s.proves(t, perftest(), job, ns, from, r.Pods[1-from].IP)
	found, said := s.doctorMeasures(t, job, ns, slow.Doctor.Check)
	if err := slow.Heal(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	healed, _ := s.doctor(t, job, "-n", ns, "--measure")
	measures(t, slow, fabric.Rails()[0], found, healed, said)
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

// doctorMeasures asks doctor to measure until the check comes first, three times at most: on a busy host the healthy
// rail, which is emulated, may carry no more than the slow wire.
func (s site) doctorMeasures(t *testing.T, job, ns string, first check.ID) (found []finding, r said) {
	t.Helper()
	for range 3 {
		found, r = s.doctor(t, job, "-n", ns, "--measure")
		if len(found) > 0 && found[0].Check == first && strings.Contains(found[0].About, "rail ") {
			break
		}
		t.Logf("doctor measures: %v", found)
	}
	return found, r
}

// makesItsOwn wants a bench of nodes to make pods, in the order of the nodes, to measure between them, and to leave
// none behind.
func (s site) makesItsOwn(t *testing.T, ns string) {
	t.Helper()
	var nodes, on []string
	for _, m := range slices.Backward(s.Machines) {
		nodes = append(nodes, m.Spec.Config.Name)
	}
	r := s.bench(t, "--nodes="+strings.Join(nodes, ","), "-n", ns, "--image="+image.PerfImage, "--pod-binary=amd64="+s.podBinary, "--yes",
		"--matrix", "--quick", "--duration=1s")
	for _, own := range r.Pods {
		on = append(on, own.Node)
		var p corev1.Pod
		if err := s.ControlPlane.Client().Get(t.Context(), client.ObjectKey{Namespace: ns, Name: own.Name}, &p); !apierrors.IsNotFound(err) {
			t.Errorf("the bench leaves its pod %s: %v", own.Name, err)
		}
	}
	if !slices.Equal(on, nodes) {
		t.Errorf("its pods are on %v, and %v was named", on, nodes)
	}
	for l := range r.Matrix.Links() {
		if l.Rate <= 0 {
			t.Errorf("nothing was measured: %+v, %v", l, r.Failures)
		}
	}
}

// messageBytes are so few that what is counted, whole messages, is fine enough on a slow wire: 60 a second. With one
// QP they come one by one. Of up to 8 KiB perftest counts a hundred at a time (perftest_parameters.h,
// MSG_SIZE_CQ_MOD_LIMIT).
const messageBytes = 16384

// saysWhatPerftestSays wants the ladder to say of the first rail, from one rank on, what perftest says that is typed
// by hand, three times at most: on a busy host either of them may be held up.
func (s site) saysWhatPerftestSays(t *testing.T, job, ns string, from int, to string) {
	t.Helper()
	for range 3 {
		reported, typed := s.ladder(t, job, ns, from), s.typed(t, job, ns, from, to)
		t.Logf("railhead bench %.6f Gb/s, perftest by hand %.6f Gb/s", float64(reported), float64(typed))
		if agree(reported, typed) {
			return
		}
	}
	t.Error("railhead bench never says what perftest does")
}

// ladder measures all steps from one rank on, and returns what the first rail carries by RDMA.
func (s site) ladder(t *testing.T, job, ns string, from int) bench.Gbps {
	t.Helper()
	before := s.sent(t)
	r := s.bench(t, job, "-n", ns, "--compare", fmt.Sprintf("--pair=%d,%d", from, 1-from), "--duration=3s",
		fmt.Sprintf("--size=%d", messageBytes), "--qps=1")
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
	return measured(r.Ladders[0], bench.WriteHost)
}

// bench runs a bench, which fails: what is emulated reaches no ceiling.
func (s site) bench(t *testing.T, args ...string) bench.Result {
	t.Helper()
	r := s.railhead(t, append([]string{"bench", "-o", "json"}, args...)...)
	var result bench.Result
	if err := json.Unmarshal([]byte(r.out), &result); err != nil || r.code != 1 {
		t.Fatalf("railhead bench %s ends with %d: %v\n%s%s", strings.Join(args, " "), r.code, err, r.out, r.err)
	}
	return result
}

// typed returns perftest's result on the first rail when somebody types the commands in both pods, from one rank to the
// other's address.
func (s site) typed(t *testing.T, job, ns string, from int, to string) bench.Gbps {
	t.Helper()
	script := fmt.Sprintf(`hca=${NCCL_IB_HCA#=}; hca=${hca%%%%:*}
run() { timeout -s KILL 60 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s %d -q 1 -D 3 -F --report_gbits "$@"; }
if [ $NODE_RANK = %d ]; then until run %s; do sleep 1; done; else run > /dev/null; fi`, messageBytes, from, to)
	best, err := bench.ParsePerftest(s.ranks(t, job, ns, script)[strconv.Itoa(from)]).Best()
	if err != nil {
		t.Fatal(err)
	}
	return best
}

func measured(l bench.PairLadder, name bench.StepName) bench.Gbps {
	at := slices.IndexFunc(l.Steps, func(s bench.Step) bool { return s.Name == name })
	if at < 0 {
		return 0
	}
	return l.Steps[at].Measured.Value
}
