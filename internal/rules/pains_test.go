package rules

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
)

// pain is a way in which people lose days with RDMA, by what they see of it. Where it shows in a machine, an object or an event,
// doctor says what is wrong: want are the checks of its problems, the root cause first. Where it shows in logs only, want are the
// causes that explain names. The same without the fault is quiet.
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
	log        string // the name of one, instead
	want       []string
}

// lone is one pod, or one node, and nothing else.
func lone(name string, s host.Snapshot) Case {
	return Case{Machines: []Machine{{Name: name, Node: "gpu-0", Snapshot: s}}}
}

// changed is a recorded machine with something changed.
func changed(t testing.TB, recording string, change func(*host.Snapshot)) host.Snapshot {
	s := recorded(t, recording)
	change(&s)
	return s
}

// inPod is a fault that is made in a recorded pod without one but for its limit, which is lifted.
func inPod(t testing.TB, recording string, change func(*host.Snapshot), want ...string) pain {
	const name = "pod/train/h-kim-0"
	sick := changed(t, recording, lift)
	change(&sick)
	return pain{sick: lone(name, sick), well: lone(name, changed(t, recording, lift)), want: want}
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
	const name, recording = "node/gpu-0", "host-baremetal-8x400"
	return pain{sick: lone(name, changed(t, recording, change)), well: lone(name, recorded(t, recording)), want: want}
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

// inLog is one that only a log shows.
func inLog(name string, want ...string) pain { return pain{log: name, want: want} }

func pains(t testing.TB) map[string]pain {
	all := map[string]pain{}
	for _, some := range []map[string]pain{fallbackPains(t), memoryPains(t), devicePains(t), addressPains(t), gpuPains(t), clusterPains(t)} {
		maps.Copy(all, some)
	}
	return all
}

// said are the checks of the problems, or the causes of a log's first run, in order.
func (p pain) said(t testing.TB) []string {
	if p.log == "" {
		return told(Diagnose(p.sick))
	}
	f, there := fixtures(t)[p.log]
	if !there {
		t.Fatalf("no log %s", p.log)
	}
	run := Log(f.log()).Runs[0]
	if len(run.Causes) == 0 {
		return nil
	}
	return []string{string(run.Causes[0].ID)}
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
			if diff := cmp.Diff(p.want, p.said(t)); diff != "" {
				t.Errorf("(-want +said):\n%s", diff)
			}
			if p.log != "" {
				return
			}
			if quiet := told(Diagnose(p.well)); quiet != nil {
				t.Errorf("without the fault: %q", quiet)
			}
		})
	}
}

// TestNoPain: a log of a job that is well has no cause, and one that does not tell of the network has no verdict on it.
func TestNoPain(t *testing.T) {
	for name, f := range fixtures(t) {
		run := Log(f.log()).Runs[0]
		switch {
		case name == "healthy-version-only" && run.Network.Used != nil:
			t.Errorf("%s: a log at WARN does not tell the network, and it is said to be used: %t", name, *run.Network.Used)
		case strings.HasPrefix(name, "healthy-") && len(run.Causes) > 0:
			t.Errorf("%s: %+v", name, run.Causes)
		}
	}
}
