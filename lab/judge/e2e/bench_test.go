package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// perftest stands for ib_write_bw: a server waits for its client, which prints the rate that the file rate.DEVICE of
// the fabric has, else 391.11.
const perftest = `#!/bin/sh
device= port= client=
while [ $# -gt 0 ]; do
	case $1 in
	--help) exit ;;
	-d) device=$2; shift ;;
	-p) port=$2; shift ;;
	-i | -x | -s | -q | -D | -n) shift ;;
	-*) ;;
	*) client=$1 ;;
	esac
	shift
done
if [ -z "$client" ]; then
	: > "$FABRIC/$POD_IP:$port"
	while [ -e "$FABRIC/$POD_IP:$port" ]; do sleep 0.05; done
	exit
fi
rm "$FABRIC/$client:$port" 2> /dev/null || { echo "Couldn't connect to $client:$port"; exit 1; }
[ -z "$SECONDS_EACH" ] || sleep "$SECONDS_EACH"
rate=391.11
[ ! -e "$FABRIC/rate.$device" ] || rate=$(cat "$FABRIC/rate.$device")
echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
echo " 65536      11190400         0.00               $rate		     0.745983"
`

// machineOfPod stands for railhead-pod where somebody measures: it sees a recorded machine.
const machineOfPod = "#!/bin/sh\n[ \"$1\" != snapshot ] || exec cat \"$SNAPSHOT\"\nshift 2\nexec \"$@\"\n"

// measuring is a kubelet whose pods have four rails and perftest, and no more; in turn they are on two recorded
// machines.
func measuring(t *testing.T, env ...string) (k *kubelet.Kubelet, fabric string) {
	t.Helper()
	dir, fabric := t.TempDir(), t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("ib_write_bw", perftest)
	program := write("railhead-pod", machineOfPod)
	snapshots := []string{write("0.json", recorded(t, "pod-roce-4vf")), write("1.json", recorded(t, "pod-roce-4vf-node-b"))}
	for _, name := range []string{"sh", "timeout", "sleep", "cat", "rm", "grep", "head", "cksum", "mkdir", "rmdir"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return &kubelet.Kubelet{Command: func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
		there := map[string]string{"/railhead/bin/railhead-pod": program, "/dev/shm": dir}
		for i, word := range words {
			if here, ok := there[word]; ok {
				words[i] = here
			}
		}
		pod, err := podWith(ctx, c)
		if err != nil {
			return exec.CommandContext(ctx, "false")
		}
		cmd := exec.CommandContext(ctx, filepath.Join(dir, words[0]), words[1:]...)
		number := cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], c.Pod)
		rank := int(number[len(number)-1] - '0')
		cmd.Env = append([]string{"PATH=" + dir, "TMPDIR=" + fabric, "FABRIC=" + fabric, "POD_IP=" + pod.Status.PodIP, "SNAPSHOT=" + snapshots[rank%2]}, env...)
		return cmd
	}}, fabric
}

// TestBench: a bench measures between the pods of a job, or pods of its own of which nothing is left.
func TestBench(t *testing.T) {
	const ns = "benched"
	setUp(t)
	u := engineer(t, "b-cruz", ns)
	k, fabric := measuring(t)
	serves(t, k, "gpu-0", "gpu-1")
	own := []string{
		"bench", "-n", ns, "--nodes=gpu-0,gpu-1", "--image=example.invalid/bench", "--pod-binary=amd64=" + podBinary, "--yes", "--matrix", "--duration=1s",
	}
	before := objectsOf(t, openShift, ns)
	t.Run("pods of its own", func(t *testing.T) {
		r := u.does(t, own...)
		r.prints(t, "Bench of nodes in namespace benched: 2 pods, 4 rails", "Matrix: 4 links between 2 pods", "Result: on target. Every measurement reaches 90.0 % of the ceiling")
		r.says(t, "They are removed at the end of the bench.", "Removing the pods of the bench")
		benchGone(t, ns, before)
	})
	t.Run("Ctrl-C while its pods come", func(t *testing.T) {
		u := u
		u.heard = func(line string, interrupt context.CancelFunc) {
			if strings.Contains(line, "pods ready") {
				interrupt()
			}
		}
		r := u.ends(t, 130, own...).silent(t)
		r.says(t, "Interrupted: stopping all processes in the pods", "Removing the pods of the bench")
		if strings.Contains(r.err, "goes on") {
			t.Errorf("stderr:\n%s", r.err)
		}
		benchGone(t, ns, before)
	})
	u.does(t, deploy("job", ns)...)
	t.Run("pods of its own next to a job", func(t *testing.T) {
		u.ends(t, 1, own...).silent(t).says(t, "needs 2 nodes with 4 rails free", "nothing was written")
	})
	bench := func(more ...string) []string {
		return append([]string{"bench", "job", "-n", ns, "--duration=1s"}, more...)
	}
	t.Run("ladder", func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "ladder.html")
		u.does(t, bench("--html", page)...).prints(t, "Ladder: job-0 on gpu-", " > job-1 on gpu-", "391.1 Gb/s   392.1 Gb/s   99.7 %",
			"the image of job-0 has no iperf3, and not both pods have python3", "Result: on target.")
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "RDMA write, host memory") {
			t.Errorf("%v, %d bytes", err, len(text))
		}
	})
	t.Run("a slow NIC", func(t *testing.T) { slowNIC(t, u, fabric, bench) })
	t.Run("its job on a page", func(t *testing.T) {
		page := filepath.Join(t.TempDir(), "job.html")
		u.does(t, "report", "job", "-n", ns, "-o", page).says(t, page+": ")
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Job job in namespace "+ns) {
			t.Errorf("%v, %d bytes", err, len(text))
		}
	})
	t.Run("no right to", func(t *testing.T) {
		as(t, openShift, "stranger").ends(t, 3, bench()...).silent(t).says(t, `the pods of job cannot be read`, `User "stranger" cannot list resource "pods"`)
	})
	u.does(t, "delete", "job", "-n", ns, "--yes")
}

// benchGone wants a namespace to have what it had, and no pod of a bench.
func benchGone(t *testing.T, ns string, before map[string]string) {
	t.Helper()
	var names, had []string
	for name := range objectsOf(t, openShift, ns) {
		names = append(names, name)
	}
	for name := range before {
		had = append(had, name)
	}
	slices.Sort(names)
	slices.Sort(had)
	if d := gocmp.Diff(had, names); d != "" {
		t.Error(d)
	}
	var pods corev1.PodList
	if err := openShift.Client().List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Error(err)
	}
	for _, p := range pods.Items {
		if strings.HasPrefix(p.Name, "railhead-bench-") {
			t.Errorf("pod %s is there", p.Name)
		}
	}
}

// slowNIC benches a job of which one NIC is slow, follows it by its file, and shows what was found.
func slowNIC(t *testing.T, u user, fabric string, command func(...string) []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(fabric, "rate.mlx5_7"), []byte("196.00"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bench.json")
	u.ends(t, 1, command("--matrix", "--save", file)...).prints(t, "[bench-fabric]", "Result: below target.")
	var r bench.Result
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || r.Unfinished || r.Attribution == nil || len(r.Findings) == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	u.does(t, "bench", "diff", file, file).prints(t, "numbers: 0 slower, 0 faster")
	u.does(t, "report", file, "-o", filepath.Join(t.TempDir(), "report.html"))
}
