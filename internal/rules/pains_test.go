package rules

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
)

// pain is a way in which people lose days with RDMA, by what they see of it. Where it shows in a machine, an object or an event,
// doctor says what is wrong: want are the checks of its problems, the root cause first. The same without the fault is quiet. Those
// that show in logs only are in package story.
//
// Not to be seen in any of these, and not judged here:
//   - that a validator passes and the users' pods are broken, as it measured pods of its own: doctor looks at the users' pods, and
//     what they lack is among the cases;
//   - that the pod's specification has no field for limits: seen are the limit that a pod got, and the node's default;
//   - congestion, and packets lost on the way (error 12 late in a run): they show in counters, over time (railhead-pod doctor
//     --watch), and a switch that drops everything shows nowhere;
//   - that NCCL was told to print nothing of the network (NCCL_DEBUG=WARN): explain does not say then that RDMA was used;
//   - switches that a virtual machine does not show: seen is what NCCL makes of it;
//   - firmware faults that end in FLUSH_ERR, and monitors that were killed.
type pain struct {
	sick, well Case
	want       []string
}

// lone is one pod, or one node, and nothing else.
func lone(ref check.Ref, s host.Snapshot) Case {
	return Case{Machines: []Machine{{Ref: ref, Node: "gpu-0", Snapshot: s}}}
}

// changed is a recorded machine with something changed.
func changed(t testing.TB, recording string, change func(*host.Snapshot)) host.Snapshot {
	s := recorded(t, recording)
	change(&s)
	return s
}

// inPod is a fault that is made in a recorded pod without one but for its limit, which is lifted.
func inPod(t testing.TB, recording string, change func(*host.Snapshot), want ...string) pain {
	pod := check.PodRef("train", "h-kim-0")
	sick := changed(t, recording, lift)
	change(&sick)
	return pain{sick: lone(pod, sick), well: lone(pod, changed(t, recording, lift)), want: want}
}

func lift(s *host.Snapshot) { s.Limits.MemlockSoft = host.Know(host.Unlimited) }

// asRecorded is a pod that was recorded with the fault, or with more than is changed.
func asRecorded(t testing.TB, recording string, change func(*host.Snapshot), want ...string) pain {
	p := inPod(t, "pod-roce-4vf", nothing, want...)
	p.sick = inPod(t, recording, change).sick
	return p
}

// onNode is a fault of a node with eight cards.
func onNode(t testing.TB, change func(*host.Snapshot), want ...string) pain {
	const recording = "host-baremetal-8x400"
	node := check.NodeRef("gpu-0")
	return pain{sick: lone(node, changed(t, recording, change)), well: lone(node, recorded(t, recording)), want: want}
}

// inJob is a fault of some pods of a job.
func inJob(t testing.TB, change func([]Machine), want ...string) pain {
	pods := job(t, 3)
	change(pods)
	return pain{sick: Case{Machines: pods}, well: Case{Machines: job(t, 3)}, want: want}
}

// inCluster is a fault that objects or events show.
func inCluster(change func(*cluster.State), want ...string) pain {
	s := training()
	change(&s)
	return pain{sick: Case{State: s}, well: Case{State: training()}, want: want}
}

func pains(t testing.TB) map[string]pain {
	all := map[string]pain{}
	for _, some := range []map[string]pain{fallbackPains(t), memoryPains(t), devicePains(t), addressPains(t), gpuPains(t), clusterPains(t)} {
		maps.Copy(all, some)
	}
	return all
}

// told are the checks of the problems; where there is none those of remarks but for silent-fallback, which the fixtures have.
func told(d Diagnosis) []string {
	all := checksOf(d)
	for _, r := range d.Remarks {
		if len(d.Problems) == 0 && r.Check != machine.SilentFallback {
			all = append(all, "remark "+string(r.Check))
		}
	}
	return all
}

func TestPains(t *testing.T) {
	for symptom, p := range pains(t) {
		t.Run(symptom, func(t *testing.T) {
			if diff := cmp.Diff(p.want, told(Diagnose(p.sick))); diff != "" {
				t.Errorf("(-want +said):\n%s", diff)
			}
			if quiet := told(Diagnose(p.well)); quiet != nil {
				t.Errorf("without the fault: %q", quiet)
			}
		})
	}
}
