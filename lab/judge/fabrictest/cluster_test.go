//go:build vm

package fabrictest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/image"
	"github.com/railhead/railhead/lab/machines/vm"
)

// site is a cluster of two nodes, and an administrator's command line for it.
type site struct {
	*fabric.Fabric
	kubeconfig string
	podBinary  string
}

// cluster boots nodes whose IOMMU translates and whose containers may lock little memory, as new machines are.
func cluster(t *testing.T) site {
	t.Helper()
	dir := shortFolder(t)
	s := site{podBinary: filepath.Join(dir, "railhead-pod")}
	if err := assets.BuildPod(t.Context(), s.podBinary); err != nil {
		t.Fatal(err)
	}
	var err error
	begun := time.Now()
	s.Fabric, err = fabric.Up(t.Context(), fabric.Options{
		Rollout: true, DRADriver: true, IOMMU: vm.Intel, Arguments: []string{}, Dir: dir,
		Workloads: []assets.Program{assets.JobSet, assets.MPI},
	})
	reachable(t, err)
	started(t, s.Fabric, begun)
	t.Cleanup(func() {
		if err := s.Down(); err != nil {
			t.Error(err)
		}
	})
	if s.kubeconfig, err = s.ControlPlane.Users.KubeconfigFile("system:admin", "system:masters"); err != nil {
		t.Fatal(err)
	}
	return s
}

// said is the output of railhead.
type said struct {
	out, err string
	code     int
}

// railhead runs a command line.
func (s site) railhead(t *testing.T, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var out, errs bytes.Buffer
	code := cli.Main(ctx, "railhead", append([]string{"--kubeconfig=" + s.kubeconfig}, args...), "test",
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 120})
	return said{out.String(), errs.String(), code}
}

// does runs a command line that ends well.
func (s site) does(t *testing.T, args ...string) said {
	t.Helper()
	r := s.railhead(t, args...)
	if r.code != 0 {
		t.Fatalf("railhead %s ends with %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r
}

// says wants texts in what was said.
func (r said) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("it does not say %q:\n%s%s", text, r.out, r.err)
		}
	}
}

// deploys makes a job of two pods.
func (s site) deploys(t *testing.T, name, ns string, more ...string) said {
	t.Helper()
	return s.does(t, append([]string{
		"deploy", name, "-n", ns, "--nodes=2", "--gpus=0", "--image=" + image.PerfImage, "--yes", "--pod-binary=amd64=" + s.podBinary,
	}, more...)...)
}

// ranks runs lines of shell in every pod of a job and returns what each printed.
func (s site) ranks(t *testing.T, name, ns, lines string) map[string]string {
	t.Helper()
	r := s.does(t, "launch", name, "-n", ns, "--", "sh", "-c", lines)
	all := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\[(\d+)\] (.*)$`).FindAllStringSubmatch(r.out, -1) {
		all[line[1]] += line[2] + "\n"
	}
	return all
}

// allocated are the RDMA devices that the device plugin gave a pod, in its own words.
func allocated(t *testing.T, environment string) []string {
	t.Helper()
	var names []string
	for _, rail := range fabric.Rails() {
		key := "PCIDEVICE_OPENSHIFT_IO_" + strings.ToUpper(rail) + "RDMA_INFO="
		_, rest, ok := strings.Cut(environment, key)
		if !ok {
			t.Fatalf("no %s in:\n%s", key, environment)
		}
		line, _, _ := strings.Cut(rest, "\n")
		var info map[string]struct {
			RDMA struct {
				Device string `json:"rdma_dev"`
			} `json:"rdma"`
		}
		if err := json.Unmarshal([]byte(line), &info); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, device := range info {
			names = append(names, device.RDMA.Device)
		}
	}
	return names
}

// TestCluster: the whole way of an administrator and a user, on nodes that are real machines.
func TestCluster(t *testing.T) {
	s := cluster(t)
	const ns = "train"
	s.setsUp(t)
	s.does(t, "setup", "namespace", ns, "--networks-from=default", "--yes").says(t, "Rails of namespace train: eno5np0 (openshift.io/eno5np0rdma, 2 nodes), eno6np0")
	s.railhead(t, "inventory").says(t, "eno5np0rdma:2 eno6np0rdma:2")
	part(t, "rdma", clusterPart, func(t *testing.T) {
		defer s.does(t, "delete", "job", "-n", ns, "--yes")
		s.deploys(t, "job", ns, "--mode=rdma").says(t, "job: 2 of 2 pods ready")
		s.findsItsOwn(t, "job", ns)
		s.moves(t, "job", ns)
	})
	part(t, "tcp", clusterPart, func(t *testing.T) {
		defer s.does(t, "delete", "job", "-n", ns, "--yes")
		s.deploys(t, "job", ns, "--mode=tcp")
		for rank, text := range s.ranks(t, "job", ns, "echo net=$NCCL_NET hca=$NCCL_IB_HCA; ls /dev/infiniband 2>&1 | head -1") {
			if !strings.HasPrefix(text, "net=Socket hca=\n") || !strings.Contains(text, "No such file") {
				t.Errorf("rank %s: %s", rank, text)
			}
		}
	})
	part(t, "image", clusterPart, func(t *testing.T) { s.usesImage(t, ns) })
	part(t, "manifests", clusterPart, func(t *testing.T) { s.injects(t, ns) })
	part(t, "ucx", clusterPart, func(t *testing.T) { s.provesUCX(t, ns) })
	t.Run("wire of nodes", func(t *testing.T) {
		part(t, "refused", clusterPart, func(t *testing.T) { s.isRefused(t, ns) })
		for _, x := range endlessPrograms() {
			part(t, x.name, clusterPart, func(t *testing.T) { s.provesOnNodes(t, ns, x) })
		}
	})
	part(t, "memlock", clusterPart, func(t *testing.T) { s.locks(t, ns) })
	part(t, "doctor of a node", clusterPart, func(t *testing.T) { s.looksAtNode(t, ns) })
	part(t, "faults of pods", clusterPart, func(t *testing.T) { s.podFaults(t, ns) })
	var healed []*story
	part(t, "faults of a node", clusterPart, func(t *testing.T) { healed = s.nodeFaults(t, ns) })
	part(t, "auto", clusterPart, func(t *testing.T) { // on the nodes that had all faults, with no more memory than they let a job lock
		s.deploys(t, "job", ns, "--mode=auto", "--memlock=node", startsWithLittleMemory).says(t, "RDMA over 2 rails")
		s.moves(t, "job", ns)
		for _, row := range healed {
			row.healed = true
		}
	})
	part(t, "bench", clusterPart, func(t *testing.T) {
		defer s.does(t, "delete", "job", "-n", ns, "--yes") // or no rail is free for those after it
		s.benches(t, "job", ns)
	})
	part(t, "claims", clusterPart, s.claims)
	part(t, "rollout", clusterPart, func(t *testing.T) { s.rollsOut(t, ns) })
	part(t, "mpi", clusterPart, func(t *testing.T) { s.runsMPI(t, ns) })
}

// setsUp sets the cluster up without changing its nodes.
func (s site) setsUp(t *testing.T) {
	t.Helper()
	s.does(t, "setup", "cluster", "--no-iommu", "--no-memlock", "--allow-ipc-lock", "--yes").
		says(t, "created SecurityContextConstraints railhead-rdma")
}

// findsItsOwn wants each pod to have exactly the devices that were allocated to it, in the order of the rails.
func (s site) findsItsOwn(t *testing.T, job, ns string) {
	t.Helper()
	var all []string
	for rank, text := range s.ranks(t, job, ns, "env") {
		own := allocated(t, text)
		if want := fmt.Sprintf("\nNCCL_IB_HCA==%s:1,%s:1\n", own[0], own[1]); !strings.Contains("\n"+text, want) {
			t.Errorf("rank %s does not have %q:\n%s", rank, want, text)
		}
		all = append(all, strings.Join(own, ","))
	}
	if len(all) != 2 || all[0] == all[1] {
		t.Errorf("devices %q: the nodes' names were to differ", all)
	}
}

// writes are lines of shell that move bytes by RDMA between two ranks, over the first rail of their settings.
const writes = `set -e
hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}
if [ $NODE_RANK = 0 ]; then timeout -s KILL 60 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -n 100 -F
else until timeout -s KILL 60 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s 65536 -n 100 -F $MASTER_ADDR; do sleep 1; done; fi > /dev/null`

// moves wants RDMA to move bytes between the ranks, by the environment that railhead set, and the HCA to have counted
// them.
func (s site) moves(t *testing.T, job, ns string) {
	t.Helper()
	before := s.sent(t)
	s.ranks(t, job, ns, writes)
	s.counted(t, before)
}

// counted wants the HCAs to have sent what the ranks have written since.
func (s site) counted(t *testing.T, before int) {
	t.Helper()
	const written = 100 * 65536 / 1024 // at the RDMA MTU of an Ethernet MTU of 1500
	if packets := s.sent(t) - before; packets < written {
		t.Errorf("the HCAs counted %d packets, and %d were to be written", packets, written)
	}
}

// sent returns the number of packets that the HCAs of all nodes have sent. Pods do not see an HCA's counters, where
// HCAs are shared by network namespaces: the kernel gives others than the first no more than the ports' attributes
// (drivers/infiniband/core/ device.c, compat devices).
func (s site) sent(t *testing.T) int {
	t.Helper()
	sum := 0
	for _, v := range s.Machines {
		text := output(t, fault.In(v), "sh", "-c", "cat /sys/class/infiniband/*/ports/1/hw_counters/sent_pkts")
		for _, line := range strings.Fields(text) {
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// startsWithLittleMemory is for nodes on which pods may not lock the memory that training needs: mode rdma does not
// start there.
const startsWithLittleMemory = "--env=RAILHEAD_MODE=auto"

// locks wants memory that RDMA registers to be limited, and each way out of it that a container has to work.
func (s site) locks(t *testing.T, ns string) {
	t.Helper()
	// It registers before it waits for its peer, for which there is none: 137 is that it waited.
	const register = `hca=${NCCL_IB_HCA#=}; hca=${hca%%:*}; timeout -s KILL 5 ibv_rc_pingpong -d $hca -g 1 -s 16777216 > /dev/null; echo $?`
	s.deploys(t, "held", ns, "--memlock=node", startsWithLittleMemory)
	for rank, text := range s.ranks(t, "held", ns, "id -u | grep -c '^0$'; "+register) {
		if text != "0\n1\n" {
			t.Errorf("rank %s, not root, with 8 MiB: %q, want registering to fail", rank, text)
		}
	}
	s.does(t, "delete", "held", "-n", ns, "--yes")
	s.deploys(t, "free", ns).says(t, "The pods run as root with the capability IPC_LOCK")
	want := map[string]string{"0": "1\n137\n", "1": "1\n137\n"}
	if diff := cmp.Diff(want, s.ranks(t, "free", ns, "id -u | grep -c '^0$'; "+register)); diff != "" {
		t.Errorf("root with IPC_LOCK: fails to register (-want +got):\n%s", diff)
	}
	// The limit of the shell is lowered; railhead-pod lifts it as far as it may.
	const lowered = `ulimit -S -l 64; echo shell=$(ulimit -S -l); /railhead/bin/railhead-pod run -q -- sh -c 'echo command=$(ulimit -S -l)'`
	for rank, text := range s.ranks(t, "free", ns, lowered) {
		if text != "shell=64\ncommand=8192\n" && text != "shell=64\ncommand=unlimited\n" {
			t.Errorf("rank %s: %q", rank, text)
		}
	}
	s.does(t, "delete", "free", "-n", ns, "--yes")
}

// rollsOut wants setup to boot the nodes with what RDMA needs, one first, which is looked at; then pods need no
// privilege.
func (s site) rollsOut(t *testing.T, ns string) {
	t.Helper()
	begun := time.Now()
	r := s.does(t, "setup", "cluster", "--verify-first", "--verify-image="+image.PerfImage, "--yes", "--pod-binary=amd64="+s.podBinary)
	r.says(t, ": no fault", "worker: all 2 nodes done")
	t.Logf("two nodes were set up in %s", time.Since(begun).Round(time.Second))
	for _, v := range s.Machines {
		text := output(t, fault.In(v), "sh", "-c", "cat /sys/bus/pci/devices/0000:01:10.0/iommu_group/type /proc/cmdline")
		if !strings.HasPrefix(text, "identity\n") || !strings.Contains(text, "intel_iommu=on iommu=pt") {
			t.Errorf("%s: %s", v.Spec.Config.Name, text)
		}
	}
	s.does(t, "setup", "cluster", "--yes").says(t, "Nothing to do")
	s.deploys(t, "job", ns, "--startup-probe").says(t, "The pods need no privileges", "job: 2 of 2 pods ready")
	const lines = `id -u | grep -c '^0$'; ulimit -l; mkdir -p "$HOME/.cache/torch" && echo writable`
	for rank, text := range s.ranks(t, "job", ns, lines) {
		if text != "0\nunlimited\nwritable\n" {
			t.Errorf("rank %s: %q, want not root, no limit, and a home", rank, text)
		}
	}
	s.moves(t, "job", ns)
}
