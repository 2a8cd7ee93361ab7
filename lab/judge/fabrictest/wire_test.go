//go:build vm

package fabrictest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/vm"
)

// measuring is a program that sends over the first rail and says what it sent.
type measuring struct {
	name string // of the process
	run  string // its command, to which the sender adds the address of the receiver
	rate func(output string) (bench.Gbps, error)
}

func perftest() measuring {
	return measuring{
		name: "ib_write_bw",
		run:  fmt.Sprintf(`ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s %d -q 1 -D 40 -F --report_gbits`, messageBytes),
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
			`ucx_perftest -P 0 -x rc_verbs -d $hca:1 -t put_bw -D zcopy -s %d -w 1 -n 500 -f`, ucxBytes),
		rate: ucxRate,
	}
}

// ucxRate reads the last column of ucx_perftest: messages per second, of the whole run.
func ucxRate(output string) (bench.Gbps, error) {
	for line := range strings.Lines(output) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "Final:")) // without MPI the word is missing
		if len(words) == 8 {
			if rate, err := strconv.ParseFloat(words[7], 64); err == nil {
				return bench.Gbps(rate * ucxBytes * 8 / 1e9), nil
			}
		}
	}
	return 0, fmt.Errorf("no result in %q", output)
}

// proves wants `railhead-pod wire`, as the unprivileged user of a pod, to prove from the kernel that a program uses the
// first rail, at the rate that the program itself measures on a wire of a known rate, and that nothing does afterwards.
// Three commands must fit into the time of the program, each of which may take some seconds on an emulated machine.
func (s site) proves(t *testing.T, x measuring, job, ns string, from int, to string) {
	t.Helper()
	const script = `hca=${NCCL_IB_HCA#=}; hca=${hca%%%%:*}
run() { timeout -s KILL 120 env %s "$@"; }
if [ $NODE_RANK != %d ]; then run >&2; exit; fi
until run %s; do sleep 1; done > /tmp/measured 2>&1 &
for try in $(seq 60); do /railhead/bin/railhead-pod wire --every 300ms > /dev/null && break; done
/railhead/bin/railhead-pod wire --every 4s -o json > /tmp/moving
wait
/railhead/bin/railhead-pod wire -o json > /tmp/after
echo $hca; echo PART; cat /tmp/measured; echo PART; cat /tmp/moving; echo PART; cat /tmp/after`
	parts := strings.Split(s.ranks(t, job, ns, fmt.Sprintf(script, x.run, from, to))[strconv.Itoa(from)], "PART\n")
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
	seen := bench.Gbps(u.Sent.Rate * 8 / 1e9)
	t.Logf("railhead-pod wire %.6f Gb/s, %s %.6f Gb/s", float64(seen), x.name, float64(measured))
	if !agree(seen, measured) {
		t.Errorf("wire says %.3f of what %s does", float64(seen/measured), x.name)
	}
}

// reads runs railhead wire, five times at most, until it ends well and enough accepts what it says, and returns what it
// said last.
func (s site) reads(t *testing.T, ns string, enough func(wire.Job) bool, names ...string) (job wire.Job) {
	t.Helper()
	args := append([]string{"wire", "-n", ns, "--every=5s", "--timeout=1m", "-o", "json"}, names...)
	for range 5 {
		r := s.railhead(t, args...)
		job = wire.Job{}
		err := json.Unmarshal([]byte(r.out), &job)
		t.Logf("%v end with %d: %s: %v; %s", names, r.code, report.Verdict(job), job.Connections, r.err)
		if err == nil && r.code == int(exit.OK) && enough(job) {
			break
		}
	}
	return job
}

// ofNodes are the arguments of railhead wire that read all nodes.
func (s site) ofNodes() []string {
	args := []string{"--probe-image=" + image.PerfImage, "--pod-binary=amd64=" + s.podBinary}
	for _, m := range s.Machines {
		args = append(args, "node/"+m.Spec.Config.Name)
	}
	return args
}

// agree reports whether two rates differ by 5 % at most.
func agree(a, b bench.Gbps) bool { return a <= b*1.05 && b <= a*1.05 }

// provesUCX wants the same of a program that knows UCX only, and the program that is forced to TCP to be called TCP. The
// rail is slow, so that it carries the same however busy the host is.
func (s site) provesUCX(t *testing.T, ns string) {
	t.Helper()
	defer s.does(t, "delete", "ucx", "-n", ns, "--yes")
	s.deploys(t, "ucx", ns, "--mode=rdma", "--image="+image.MPIImage)
	var pods [2]corev1.Pod
	for rank := range pods {
		key := client.ObjectKey{Namespace: ns, Name: fmt.Sprintf("ucx-%d", rank)}
		if err := s.ControlPlane.Client().Get(t.Context(), key, &pods[rank]); err != nil {
			t.Fatal(err)
		}
	}
	const from = 0
	to := pods[1-from].Status.PodIP
	defer s.slowsFirstRail(t, pods[from].Spec.NodeName)()
	s.proves(t, ucxPerftest(), "ucx", ns, from, to)

	const script = `run() {
  UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 timeout -s KILL 40 ucx_perftest -P 0 -t ucp_put_bw -s 65536 -n 1000000 -f "$@"
} > /dev/null 2>&1
if [ $NODE_RANK != %d ]; then run; exit 0; fi
for try in 1 2 3 4 5; do sleep 1; run %s; done &
for reading in 1 2 3 4 5; do /railhead/bin/railhead-pod wire --every 2s -o json; echo PART; done
wait`
	fastest := 0.0
	for part := range strings.SplitSeq(s.ranks(t, "ucx", ns, fmt.Sprintf(script, from, to))[strconv.Itoa(from)], "PART\n") {
		if part == "" {
			continue
		}
		var m wire.Motion
		if err := json.Unmarshal([]byte(part), &m); err != nil {
			t.Fatalf("%v in %s", err, part)
		}
		for _, l := range m.Links {
			fastest = max(fastest, l.Sent)
		}
		if m.Proof != wire.NoConnection {
			t.Errorf("over TCP: %+v", m)
		}
	}
	t.Logf("over TCP: %.0f bytes a second", fastest)
	if fastest < 100_000 {
		t.Error("the traffic over TCP is not seen")
	}
}

// slowsFirstRail gives the first rail of a node a known rate, less than what is emulated can do, and returns what heals
// it.
func (s site) slowsFirstRail(t *testing.T, node string) (heal func()) {
	t.Helper()
	slow, err := fault.Find("slow-rail")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.Machines, func(m *vm.VM) bool { return m.Spec.Config.Name == node })
	broken := fault.On(s.Fabric, s.Machines[at])
	if err := slow.Make(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := slow.Heal(context.Background(), broken); err != nil {
			t.Error(err)
		}
	}
}
