//go:build vm

package fabrictest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/machines/image"
)

// noNetlink is a profile of seccomp that refuses the socket of RDMA netlink with EACCES, as SELinux does in containers
// of type container_t.
const noNetlink = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["socket"],
  "action": "SCMP_ACT_ERRNO", "errnoRet": 13,
  "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}, {"index": 2, "value": 20, "op": "SCMP_CMP_EQ"}]}]}`

// onRails is a pod of a node with rails that runs a command of bash. With a terminal, programs print lines at once.
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
    image: ` + image.MPIImage + `
    imagePullPolicy: IfNotPresent
    tty: true
    command: [bash, -c, %[4]q]
`

// usual is the profile of seccomp of a pod that may read its queue pairs. The other one needs the SCC privileged, which
// the administrator has.
const (
	usual     = "{type: RuntimeDefault}"
	forbidden = "{type: Localhost, localhostProfile: no-netlink.json}"
)

// isRefused wants a pod that may not read its queue pairs to be unknown.
func (s site) isRefused(t *testing.T, ns string) {
	t.Helper()
	node := s.Machines[0].Spec.Config.Name
	script(t, s.Machines[0], "mkdir -p /var/lib/kubelet/seccomp\n"+
		"cat > /var/lib/kubelet/seccomp/no-netlink.json <<'EOF'\n"+noNetlink+"\nEOF")
	s.runs(t, ns, fmt.Sprintf(onRails, "refused", node, forbidden, "sleep 3600"),
		"--memlock=ipc-lock", "--service-account=railhead-sa")
	until(t, "the pod runs", func() bool { return len(s.pods(t, ns, corev1.PodRunning)) == 1 })
	refused := s.railhead(t, "wire", "pod/refused", "-n", ns)
	refused.says(t, "not read: pod/"+ns+"/refused: permission denied", "railhead wire node/"+node,
		"unknown: the queue pairs could not be read: permission denied")
	if refused.code != int(exit.Unknown) {
		t.Errorf("it ends with %d", refused.code)
	}
}

// endless is a program that sends over the first rail until it is killed, and prints each second or two what it sends.
type endless struct {
	name, run string
	rate      *regexp.Regexp // its rows, with the rate
	unit      bench.Gbps     // of the rate
}

func endlessPrograms() []endless {
	return []endless{
		{
			name: "ib_write_bw",
			run: fmt.Sprintf(`ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s %d -q 1 -D 2 --run_infinitely -F --report_gbits`,
				messageBytes),
			rate: regexp.MustCompile(`(?m) \d+ +\d+ +[0-9.]+ +([0-9.]+) +[0-9.]+\s*$`),
			unit: 1,
		},
		{
			name: "ucx_perftest",
			run: fmt.Sprintf(`UCX_RC_VERBS_TX_QUEUE_LEN=16 UCX_RC_VERBS_TIMEOUT=10s `+
				`ucx_perftest -P 0 -x rc_verbs -d $hca:1 -t put_bw -D zcopy -s %d -w 1 -n 1000000`, ucxBytes),
			rate: regexp.MustCompile(`\[thread 0\] +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +([0-9.]+) `),
			unit: 8 * (1 << 20) / 1e9,
		},
	}
}

// provesOnNodes wants the nodes to prove what their pods move, at the rate that the program itself measures, in one of
// three readings: on a busy host either may be held up. The rail is slow, so that it carries the same all the time.
func (s site) provesOnNodes(t *testing.T, ns string, x endless) {
	t.Helper()
	sender, receiver := s.Machines[0].Spec.Config.Name, s.Machines[1].Spec.Config.Name
	const (
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: own}\n" +
			"spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: own}}\n"
		loop = "hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}\nuntil env "
	)
	s.runs(t, ns, service+fmt.Sprintf(onRails, "receiver", receiver, usual, loop+x.run+"; do sleep 1; done")+
		fmt.Sprintf(onRails, "sender", sender, usual, loop+x.run+" receiver.own; do sleep 1; done"),
		"--memlock=ipc-lock", "--service-account=railhead-sa")
	until(t, "the pods run", func() bool { return len(s.pods(t, ns, corev1.PodRunning)) == 2 })
	defer s.slowsFirstRail(t, sender)()
	for range 3 {
		seen := bench.Gbps(s.readsNodes(t, ns) * 8 / 1e9)
		measured := s.measures(t, ns, x)
		t.Logf("railhead wire of the nodes %.6f Gb/s, %s %.6f Gb/s", float64(seen), x.name, float64(measured))
		if agree(seen, measured) {
			return
		}
	}
	t.Errorf("the nodes never say what %s does", x.name)
}

// measures returns the mean of the last ten rates that the program of the pod sender printed.
func (s site) measures(t *testing.T, ns string, x endless) bench.Gbps {
	t.Helper()
	const last = 10
	log := s.railhead(t, "logs", "pod/sender", "-n", ns)
	rows := x.rate.FindAllStringSubmatch(log.out, -1)
	if len(rows) < last {
		t.Fatalf("%s prints %+v", x.name, log)
	}
	var sum float64
	for _, row := range rows[len(rows)-last:] {
		rate, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += rate
	}
	return bench.Gbps(sum/last) * x.unit
}

// readsNodes returns what the pod sender sent, in bytes per second, as its node sees it. It reads until the programs
// have connected, which takes them a while on a busy host.
func (s site) readsNodes(t *testing.T, ns string) float64 {
	t.Helper()
	job := s.reads(t, ns, func(wire.Job) bool { return true }, s.ofNodes()...)
	if job.Proof != wire.RDMA || job.Connections[wire.Moving] != 1 {
		t.Fatalf("the nodes do not prove the traffic of their pods: %+v", job)
	}
	var sent float64
	for _, pod := range []string{"receiver", "sender"} {
		at := slices.IndexFunc(job.Members, func(m wire.Member) bool {
			return m.Ref == check.PodRef(ns, pod) && m.Proof == wire.RDMA
		})
		if at < 0 {
			t.Fatalf("pod %s is not among %+v", pod, job.Members)
		}
		sent = 0
		for _, u := range job.Members[at].Usages {
			sent += u.Sent.Rate
		}
	}
	return sent
}
