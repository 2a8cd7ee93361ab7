package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railhead/railhead/lab/kubelet"
)

// TestLaunch: a command runs in all pods of a job at once, with its rank; what it says and how it ends comes back.
func TestLaunch(t *testing.T) {
	const ns = "launched"
	setUp(t)
	u := engineer(t, "t-ito", ns)
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " waits\n" }, "gpu-0", "gpu-1")
	u.does(t, deploy("job", ns, "--mode=tcp")...)
	show := func(r result) { t.Helper(); t.Logf("exit %d\n--out\n%s\n--err\n%s", r.code, r.out, r.err) }
	show(u.railhead(t, "launch", "job", "-n", ns, "--", "sh", "-c", "echo rank $NODE_RANK of $NNODES with $MASTER_ADDR"))
	show(u.railhead(t, "launch", "job", "-n", ns, "--", "sh", "-c", "exit $((NODE_RANK*3))"))
	script := filepath.Join(t.TempDir(), "train.sh")
	if err := os.WriteFile(script, []byte("echo $NODE_RANK trains; cat part\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	show(u.railhead(t, "launch", "job", "-n", ns, "--copy", script, "--", "sh", "train.sh"))
	show(u.railhead(t, "launch", "job", "-n", ns, "--", "no-such-program"))
	show(u.railhead(t, "launch", "jobs", "-n", ns, "--", "true"))
	show(u.railhead(t, "logs", "job", "-n", ns))
	show(u.railhead(t, "logs", "job", "-n", ns, "--rank", "1"))
	show(u.railhead(t, "logs", "jobs", "-n", ns))
	readsAll(t, openShift, "spectator")
	show(as(t, openShift, "spectator").railhead(t, "launch", "job", "-n", ns, "--", "true"))
}
