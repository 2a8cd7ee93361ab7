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
	"github.com/railhead/railhead/internal/check"
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
	if ratio := float64(seen / measured); ratio < 1/1.05 || ratio > 1.05 {
		t.Errorf("wire says %.3f of what %s does", ratio, x.name)
	}
}

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

// noNetlink is a profile of seccomp that refuses the socket of RDMA netlink with EACCES, as SELinux does in containers
// of type container_t.
const noNetlink = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["socket"],
  "action": "SCMP_ACT_ERRNO", "errnoRet": 13,
  "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}, {"index": 2, "value": 20, "op": "SCMP_CMP_EQ"}]}]}`

// onRails is a pod of a node with rails that runs a command of bash. The profile of seccomp needs the SCC privileged,
// which the administrator has.
const onRails = `---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, labels: {app: own}}
spec:
  restartPolicy: Never
  hostname: %[1]s
  subdomain: own
  nodeSelector: {kubernetes.io/hostname: %[2]s}
  securityContext: {seccompProfile: %[3]s}
  containers:
  - name: train
    image: ` + image.PerfImage + `
    imagePullPolicy: IfNotPresent
    command: [bash, -c, '%[4]s']
`

// sends returns a command that sends over the first rail of a pod to another one until it is deleted; "": that receives.
// It sleeps while it waits: an emulated machine has no processor to spare.
func sends(to string) string {
	return `hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}; ` +
		`until ib_send_bw -e -N -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -n 100000 -F ` + to + `; do sleep 1; done`
}

// readsOnNodes wants a pod that may not read its queue pairs to be unknown, and the way over the nodes to prove what
// pods move. The pods that send have no such profile: without RDMA netlink libibverbs does not know a Soft-RoCE device
// whose name is a card's.
func (s site) readsOnNodes(t *testing.T, ns string) {
	t.Helper()
	var nodes []string
	for _, m := range s.Machines {
		nodes = append(nodes, m.Spec.Config.Name)
		script(t, m, "mkdir -p /var/lib/kubelet/seccomp && cat > /var/lib/kubelet/seccomp/no-netlink.json <<'EOF'\n"+
			noNetlink+"\nEOF")
	}
	const (
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: own}\n" +
			"spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: own}}\n"
		usual     = "{type: RuntimeDefault}"
		forbidden = "{type: Localhost, localhostProfile: no-netlink.json}"
	)
	s.runs(t, ns, service+fmt.Sprintf(onRails, "receiver", nodes[1], usual, sends(""))+
		fmt.Sprintf(onRails, "sender", nodes[0], usual, sends("receiver.own"))+
		fmt.Sprintf(onRails, "refused", nodes[0], forbidden, "sleep 3600"),
		"--memlock=ipc-lock", "--service-account=railhead-sa")
	until(t, "the pods run", func() bool { return len(s.pods(t, ns, corev1.PodRunning)) == 3 })
	defer s.slowsFirstRail(t, nodes[0])() // or the programs leave no processor to those who look
	refused := s.railhead(t, "wire", "pod/refused", "-n", ns)
	refused.says(t, "not read: pod/"+ns+"/refused: permission denied", "railhead wire node/"+nodes[0],
		"unknown: the queue pairs could not be read: permission denied")
	if refused.code != int(exit.Unknown) {
		t.Errorf("it ends with %d", refused.code)
	}
	var onNodes said
	for range 5 { // until the programs have connected, which takes them a while on a busy host
		onNodes = s.railhead(t, "wire", "node/"+nodes[0], "node/"+nodes[1], "-n", ns, "--every=5s", "--timeout=1m",
			"--probe-image="+image.PerfImage, "--pod-binary=amd64="+s.podBinary, "-o", "json")
		if onNodes.code == int(exit.OK) {
			break
		}
	}
	var job wire.Job
	if err := json.Unmarshal([]byte(onNodes.out), &job); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s on the nodes: %v; %s", report.Verdict(job), job.Connections, onNodes.err)
	if job.Proof != wire.RDMA || job.Connections[wire.Moving] != 1 {
		t.Errorf("the nodes do not prove the traffic of their pods: %s", onNodes.out)
	}
	for _, pod := range []string{"sender", "receiver"} {
		if !slices.ContainsFunc(job.Members, func(m wire.Member) bool {
			return m.Ref == check.PodRef(ns, pod) && m.Proof == wire.RDMA
		}) {
			t.Errorf("pod %s is not among %s", pod, onNodes.out)
		}
	}
}
