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

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/vm"
)

// provesUCX wants the same of programs of UCX and of perftest, and the program that is forced to TCP to be called TCP.
// The rail is slow, so that it carries the same however busy the host is. The programs poll, and the limit of their CPU
// leaves the pods that read the nodes some.
func (s site) provesUCX(t *testing.T, ns string) {
	t.Helper()
	defer s.does(t, "delete", "ucx", "-n", ns, "--yes")
	s.deploys(t, "ucx", ns, "--mode=rdma", "--image="+image.MPIImage, "--cpu=400m")
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
	for _, program := range []measuring{ucxPerftest(), perftest()} {
		s.proves(t, program, "ucx", ns, from, to)
	}

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
