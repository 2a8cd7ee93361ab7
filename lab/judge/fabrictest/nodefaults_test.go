//go:build vm

package fabrictest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
)

// nodeFaults wants each fault of a node to be seen and told, and to go again.
func (s site) nodeFaults(t *testing.T, ns string) []*story {
	stories := map[string]func(*testing.T, string, *story, []finding){
		"device-plugin-dead": s.noDevicePlugin,
		"memlock":            s.littleMemory,
		"multus-timeout":     s.multusTimesOut,
	}
	broken := s.Machines[0]
	before, _ := s.doctor(t, "--cluster")
	var rows []*story
	for _, x := range fault.All() {
		if !x.Nodes || x.Namespace != "" {
			continue
		}
		t.Run(x.Name, func(t *testing.T) {
			told, ok := stories[x.Name]
			if !ok {
				t.Fatal("no row says what this fault leaves to see")
			}
			row := tells(t, x)
			rows = append(rows, row)
			if err := x.Make(t.Context(), fault.On(s.Fabric, broken)); err != nil {
				t.Fatal(err)
			}
			row.made = true
			told(t, ns, row, before)
			if err := x.Heal(t.Context(), fault.On(s.Fabric, broken)); err != nil {
				t.Fatal(err)
			}
			s.offers(t, broken.Spec.Config.Name, 2)
			s.calm(t, before, "--cluster")
		})
	}
	return rows
}

// offers waits until a node offers so many virtual functions of every rail.
func (s site) offers(t *testing.T, node string, want int64) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(200 * time.Millisecond); ; {
		var n corev1.Node
		if err := s.ControlPlane.Client().Get(t.Context(), client.ObjectKey{Name: node}, &n); err != nil {
			t.Fatal(err)
		}
		met := true
		for _, rail := range fabric.Rails() {
			q := n.Status.Allocatable[corev1.ResourceName(fabric.Resource(rail))]
			met = met && q.Value() == want
		}
		if met {
			return
		}
		select {
		case <-tick:
		case <-late:
			t.Fatalf("%s does not offer %d of each rail: %v", node, want, n.Status.Allocatable)
		}
	}
}

// noDevicePlugin: the node offers nothing, and a job that needs it is refused before anything is written.
func (s site) noDevicePlugin(t *testing.T, ns string, row *story, before []finding) {
	s.offers(t, s.Machines[0].Spec.Config.Name, 0)
	row.saw = "the node offers 0 of each resource"
	r := s.railhead(t, "deploy", "job", "-n", ns, "--nodes=2", "--gpus=0", "--image=lab.local/perf:1", "--yes", "--memlock=node", "--pod-binary=amd64="+s.podBinary)
	if r.code != 1 {
		t.Errorf("deploy ends with %d", r.code)
	}
	r.says(t, "[free-nodes]", "node/node-a", "nothing was written")
	row.said = "nothing; railhead deploy refuses: [free-nodes]"
	s.named(t, row, before, "--cluster")
	s.railhead(t, "inventory").says(t, "train       eno5np0              sriov   openshift.io/eno5np0rdma   1 node\n")
}

// littleMemory: registering fails on that node, and railhead-pod says so before it is tried.
func (s site) littleMemory(t *testing.T, ns string, row *story, before []finding) {
	s.deploys(t, "job", ns, "--memlock=node", startsWithLittleMemory)
	const script = `hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}; timeout -s KILL 5 ibv_rc_pingpong -d $hca -g 1 -s 1048576 > /dev/null; code=$?; echo memlock=$(ulimit -l) pingpong=$code`
	r := s.does(t, "launch", "job", "-n", ns, "--", "sh", "-c", script)
	r.says(t, "memlock=64 pingpong=1", "memlock=8192 pingpong=137", "locked-memory limit is 64 KiB per process", "[memlock-limit]")
	row.saw, row.said = "Couldn't register MR", "locked-memory limit is 64 KiB per process [memlock-limit]"
	s.named(t, row, before, "job", "-n", ns).says(t, "locked-memory limit is 64 KiB per process")
	s.does(t, "delete", "job", "-n", ns, "--yes")
}
