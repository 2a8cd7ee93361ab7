package rules

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// pain is a fault that costs people days, named by its symptom. Doctor reports it if it shows in a machine, an object
// or an event: want are the checks of the problems, root cause first. Without the fault doctor reports nothing. Faults
// that show only in logs are in package story.
//
// These faults are not covered, because none of those places shows them:
//   - A validator passes and the users' pods are broken, because it measured pods of its own. Doctor examines the
//     users' pods, and their faults are among the cases.
//   - The pod's specification has no field for limits. Visible are the limit of a pod and the node's default.
//   - Congestion, and packets lost late in a run (error 12): they show in counters over time (railhead-pod doctor
//     --watch). A switch that drops everything shows nowhere.
//   - NCCL prints nothing about the network (NCCL_DEBUG=WARN): explain then does not report RDMA.
//   - Switches that a virtual machine hides. Only NCCL's reaction is visible.
//   - Firmware faults that end in FLUSH_ERR, and monitors that were killed.
type pain struct {
	sick, well Case
	want       []string
}

// inPod is a fault of a recorded pod whose locked-memory limit is lifted.
func inPod(t testing.TB, recording string, change func(*host.Snapshot), want ...string) pain {
	t.Helper()
	pod := check.PodRef("train", "h-kim-0")
	well := changed(t, recording, liftMemlock)
	sick := changed(t, recording, liftMemlock)
	change(&sick)
	return pain{sick: single(pod, sick), well: single(pod, well), want: want}
}

func liftMemlock(s *host.Snapshot) { s.Limits.MemlockSoft = host.Know(host.Unlimited) }

// asRecorded is a fault of the recording itself, perhaps with a change.
func asRecorded(t testing.TB, recording string, change func(*host.Snapshot), want ...string) pain {
	t.Helper()
	p := inPod(t, "pod-roce-4vf", unchanged, want...)
	p.sick = inPod(t, recording, change).sick
	return p
}

// onNode is a fault of a node with eight cards.
func onNode(t testing.TB, change func(*host.Snapshot), want ...string) pain {
	t.Helper()
	const recording = "host-baremetal-8x400"
	node := check.NodeRef("gpu-0")
	return pain{
		sick: single(node, changed(t, recording, change)),
		well: single(node, rulestest.Recorded(t, recording)),
		want: want,
	}
}

// inJob is a fault of some pods of a job.
func inJob(t testing.TB, change func([]Machine), want ...string) pain {
	t.Helper()
	pods := rulestest.Job(t, 3)
	change(pods)
	return pain{sick: Case{Machines: JudgeAll(pods)}, well: Case{Machines: JudgeAll(rulestest.Job(t, 3))}, want: want}
}

// inCluster is a fault that shows in objects or events.
func inCluster(t testing.TB, change func(*cluster.State), want ...string) pain {
	t.Helper()
	s := rulestest.Training(t)
	change(&s)
	return pain{sick: Case{State: s}, well: Case{State: rulestest.Training(t)}, want: want}
}

// reported returns the checks of the problems. Without a problem it returns those of the remarks, but for
// silent-fallback, which the fixtures have.
func reported(d Diagnosis) []string {
	all := checksOf(d)
	for _, r := range d.Remarks {
		if len(d.Problems) == 0 && r.Check != machine.SilentFallback {
			all = append(all, "remark "+string(r.Check))
		}
	}
	return all
}

func TestPains(t *testing.T) {
	all := map[string]pain{}
	for _, some := range []map[string]pain{
		fallbackPains(t), memoryPains(t), devicePains(t), addressPains(t), gpuPains(t), clusterPains(t),
	} {
		maps.Copy(all, some)
	}
	for symptom, p := range all {
		t.Run(symptom, func(t *testing.T) {
			if diff := cmp.Diff(p.want, reported(Diagnose(p.sick))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if quiet := reported(Diagnose(p.well)); quiet != nil {
				t.Errorf("without the fault: %q", quiet)
			}
		})
	}
}
