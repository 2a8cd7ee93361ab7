//go:build vm

package fabrictest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/image"
)

// podStories are the symptoms and the expected answers of each fault of a pod.
var podStories = map[string]func(*testing.T, sick, *story){
	"verbs-not-permitted": func(t *testing.T, p sick, row *story) {
		p.sees(t, row, "timeout -s KILL 5 ibv_rc_pingpong -g 1 -d $(ls /sys/class/infiniband | head -1)", "Couldn't get context for")
		p.railhead(t, "detect --explain", 1, "/dev/infiniband/uverbs0: not permitted: operation not permitted (want openable)")
		p.refuses(t, row, noRDMA, "uverbs0 not permitted", "[uverbs-openable]", "do not mount /dev/infiniband")
		p.endsRefused(t, "uverbs0 not permitted", "[launch-refused]")
	},
	"verbs-elsewhere": func(t *testing.T, p sick, row *story) {
		p.sees(t, row, "ls /dev/infiniband; ib_write_bw -F", "Unable to find the Infiniband/RoCE device")
		p.railhead(t, "detect --explain", 1, "its verbs node is not in this container")
		p.refuses(t, row, noRDMA, "this container was given none of the node's 4 RDMA devices", "(net1)", "[device-allocated]")
	},
	"ipc-lock-inert": inertCapability,
	"privileged":     othersDevices,
	"shm-small": func(t *testing.T, p sick, row *story) {
		p.sees(t, row, "head -c 100000000 /dev/zero > /dev/shm/full; stat -c '%s bytes of 100000000 find room' /dev/shm/full; rm /dev/shm/full", "67108864 bytes of 100000000 find room")
		p.tells(t, row, "run -- true", "/dev/shm has 64 MiB", "[shm-size]")
	},
	"gid-index": wrongIndex,
	"resource-unknown": func(t *testing.T, p sick, row *story) {
		const lost = "openshift.io/nowhererdma"
		p.unschedulable(t, row, lost)
		p.status(t, row, "no node offers "+lost, "[resource-name-mismatch]")
		p.site.railhead(t, "inventory").says(t, "no node offers "+lost, "[network-resource]")
	},
	"resource-exhausted": func(t *testing.T, p sick, row *story) {
		first := fabric.Resource(fabric.Rails()[0])
		p.unschedulable(t, row, first)
		p.status(t, row, first, "[insufficient-resource]")
		r := p.site.railhead(t, "deploy", "job", "-n", p.ns, "--nodes=2", "--gpus=0", "--image="+image.PerfImage, "--yes", "--memlock=node", "--pod-binary=amd64="+p.podBinary)
		if r.code != 1 {
			t.Errorf("deploy ends with %d", r.code)
		}
		r.says(t, "[free-nodes]", fmt.Sprintf("node/%s: 0 of 2 %s free, held by %s/holder (2)", p.node.Spec.Config.Name, first, p.fault.Namespace), "nothing was written")
	},
	"addresses-exhausted": func(t *testing.T, p sick, row *story) {
		p.happens(t, row, "FailedCreatePodSandBox", "Could not allocate IP in range")
		p.status(t, row, "no IP address is left for train", "[no-ip]")
	},
}

const noRDMA = "NO RDMA: training runs over TCP"

// endsRefused makes the pod anew with railhead-pod in front of its command, and wants `railhead status` to say why
// that is not started.
func (p sick) endsRefused(t *testing.T, says ...string) {
	t.Helper()
	const name = "refused"
	c := p.ControlPlane.Client()
	var pod corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: p.fault.Namespace, Name: fault.Pod}, &pod); err != nil {
		t.Fatal(err)
	}
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: p.fault.Namespace, Name: name, Labels: pod.Labels}
	pod.Labels["app.kubernetes.io/instance"] = name
	train := &pod.Spec.Containers[0]
	train.Command, train.TerminationMessagePolicy = []string{fault.PodProgram, "run", "--", "true"}, corev1.TerminationMessageFallbackToLogsOnError
	if err := c.Create(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	late := time.After(patience)
	for tick := time.Tick(time.Second); ; {
		r := p.site.railhead(t, "status", name, "-n", p.fault.Namespace)
		if r.code == 1 && !slices.ContainsFunc(says, func(words string) bool { return !strings.Contains(r.out+r.err, words) }) {
			return
		}
		select {
		case <-tick:
		case <-late:
			t.Fatalf("status ends with %d, and is to say %q:\n%s%s", r.code, says, r.out, r.err)
		}
	}
}

// inertCapability: registering fails all the same, and is told before it is tried.
func inertCapability(t *testing.T, p sick, row *story) {
	const register = "timeout -s KILL 5 ibv_rc_pingpong -d %s -g 1 -s %d > /dev/null; echo ended with $?"
	own := p.own(t)
	p.sees(t, row, fmt.Sprintf(register, own[0], 64<<10), "ended with 137") // it waits for its peer: that much can be registered
	p.sees(t, row, fmt.Sprintf(fault.PodProgram+" run -q --mode auto -- sh -c '"+register+"'", own[0], 16<<20), "Couldn't register MR")
	p.railhead(t, "run -- true", 125, "the pod cannot lock enough memory", "locked-memory limit is 8 MiB per process", "[memlock-limit]")
	p.tells(t, row, "run --mode auto -- true", "CAP_IPC_LOCK was added but has no effect for uid 1000", "[memlock-limit]")
}

// othersDevices: the container may open all devices of the node, and railhead-pod takes the two that are its own.
func othersDevices(t *testing.T, p sick, row *story) {
	p.sees(t, row, "n=0; for f in /dev/infiniband/uverbs*; do (exec 3<>$f) && n=$((n+1)); done; echo it opens $n verbs nodes", "it opens 4 verbs nodes")
	own := p.own(t)
	p.tells(t, row, "detect --explain", "not allocated to this pod, which was given", "[device-allocated]")
	p.tells(t, row, "run -- sh -c 'echo hca$NCCL_IB_HCA'", fmt.Sprintf("hca=%s:1,%s:1\n", own[0], own[1]))
	p.tells(t, row, "run -- true", "this pod can open 2 devices that it was not given: is it privileged?", "[foreign-hca-hidden]")
}

// wrongIndex: RDMA fails by the index in the environment, and moves bytes by the right one.
func wrongIndex(t *testing.T, p sick, row *story) {
	end := func(index int) perf.End { return perf.End{Run: p.run, HCA: p.own(t)[0], GID: index} }
	const right, wrong = 1, 3
	_, err := perf.WriteBandwidth(t.Context(), end(right), end(right), "127.0.0.1")
	if errors.Is(err, perf.ErrNothingMoved) { // seen on a host with ten times more to do than it has cores
		_, err = perf.WriteBandwidth(t.Context(), end(right), end(right), "127.0.0.1")
	}
	if err != nil {
		t.Errorf("by slot %d: %v", right, err)
	}
	const words = "Failed to modify QP"
	if _, err := perf.WriteBandwidth(t.Context(), end(wrong), end(wrong), "127.0.0.1"); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("by slot %d: %v", wrong, err)
	} else {
		row.saw = words
	}
	p.railhead(t, "run --keep -- true", 125, "not started", "NCCL_IB_GID_INDEX=3 makes NCCL use slot 3", "[gid-index]")
	p.tells(t, row, "run -- sh -c 'echo index=$NCCL_IB_GID_INDEX'", "index=1\n", "NCCL_IB_GID_INDEX=3 makes NCCL use slot 3",
		"which is empty; the pod's GID is in slot 1", "REPLACED [gid-index]")
}

// own are the devices that the plugin gave the container.
func (p sick) own(t *testing.T) []string {
	t.Helper()
	return allocated(t, p.shell(t, "env").Stdout)
}

// tells wants a command line of railhead-pod to end well, and to say words.
func (p sick) tells(t *testing.T, row *story, args string, words ...string) {
	t.Helper()
	p.railhead(t, args, 0, words...)
	row.said = strings.Join(words, " ")
}

// unschedulable wants the scheduler to have turned the pod away for a lack of a resource.
func (p sick) unschedulable(t *testing.T, row *story, resource string) {
	t.Helper()
	var pod corev1.Pod
	if err := p.ControlPlane.Client().Get(t.Context(), client.ObjectKey{Namespace: p.fault.Namespace, Name: fault.Pod}, &pod); err != nil {
		t.Fatal(err)
	}
	want := "Insufficient " + resource
	if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return strings.Contains(c.Message, want) }) {
		t.Errorf("the fault is not there: %+v", pod.Status)
		return
	}
	row.saw = "the pod stays Pending: " + want
}

// happens wants an event of the pod.
func (p sick) happens(t *testing.T, row *story, reason, words string) {
	t.Helper()
	if events := p.events(t, p.fault.Namespace, reason); !slices.ContainsFunc(events, func(m string) bool { return strings.Contains(m, words) }) {
		t.Errorf("the fault is not there: %q", events)
		return
	}
	row.saw = reason + ": " + words
}

// status wants `railhead status` to say why the pod is not there.
func (p sick) status(t *testing.T, row *story, says ...string) {
	t.Helper()
	r := p.site.railhead(t, "status", fault.Pod, "-n", p.fault.Namespace)
	if r.code != 1 {
		t.Errorf("status ends with %d", r.code)
	}
	r.says(t, says...)
	row.said = "nothing; railhead status: " + strings.Join(says, " ")
}

// events are the messages of a namespace's events that have a reason.
func (s site) events(t *testing.T, ns, reason string) (messages []string) {
	t.Helper()
	var all corev1.EventList
	if err := s.ControlPlane.Client().List(t.Context(), &all, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Items {
		if e.Reason == reason {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// multusTimesOut: the pod of that node gets no network; railhead says who does not answer whom, and goes on waiting.
func (s site) multusTimesOut(t *testing.T, ns string, row *story, before []finding) {
	args := []string{"deploy", "job", "-n", ns, "--type=single", "--node-selector=kubernetes.io/hostname=node-a", "--gpus=0", "--image=" + image.PerfImage, "--yes", "--memlock=node", "--timeout=40s", "--pod-binary=amd64=" + s.podBinary}
	r := s.railhead(t, args...)
	if r.code != 1 {
		t.Errorf("deploy ends with %d", r.code)
	}
	const why = "Multus on node node-a got no answer from the API server at 10.0.8.254:"
	r.says(t, why, "[node-overload]", "not done after 40s")
	r = s.railhead(t, "status", "job", "-n", ns)
	if r.code != 1 {
		t.Errorf("status ends with %d", r.code)
	}
	r.says(t, why, "[node-overload]")
	row.said = "nothing; railhead deploy: Multus on node node-a got no answer from the API server [node-overload]"
	const words = "context deadline exceeded"
	if events := s.events(t, ns, "FailedCreatePodSandBox"); !slices.ContainsFunc(events, func(m string) bool { return strings.Contains(m, words) }) {
		t.Errorf("the fault is not there: %q", events)
	}
	row.saw = "FailedCreatePodSandBox: error waiting for pod: " + words
	s.named(t, row, before, "job", "-n", ns)
	// What is half made is taken away by Multus, too.
	if err := row.fault.Heal(t.Context(), fault.On(s.Fabric, s.Machines[0])); err != nil {
		t.Fatal(err)
	}
	s.does(t, "delete", "job", "-n", ns, "--yes")
}
