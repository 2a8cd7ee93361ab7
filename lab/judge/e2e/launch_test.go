package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestLaunch: a command runs in all pods of a job at once, with its rank; what it says and how it ends comes back.
func TestLaunch(t *testing.T) {
	const ns = "launched"
	setUp(t)
	u := engineer(t, "t-ito", ns)
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " waits\n" }, "gpu-0", "gpu-1")
	u.does(t, deploy("job", ns)...)
	launch := func(more ...string) []string { return append([]string{"launch", "job", "-n", ns}, more...) }
	t.Run("ranks", func(t *testing.T) {
		r := u.does(t, launch("--", "sh", "-c", "echo rank $NODE_RANK of $NNODES with $MASTER_ADDR; echo aside >&2")...)
		r.prints(t, "[0] rank 0 of 2 with job-0.job-headless.launched.svc\n", "[1] rank 1 of 2 with job-0.job-headless.launched.svc\n")
		r.says(t, "Running in 2 pods", "[0] aside", "[1] aside", "Network: not known: NCCL logged nothing")
		if strings.Count(r.out, "\n") != 2 {
			t.Errorf("stdout:\n%s", r.out)
		}
	})
	t.Run("network", func(t *testing.T) {
		const line = "gpu-0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
		u.does(t, launch("--", "sh", "-c", `echo "`+line+`" > "$NCCL_DEBUG_FILE"`)...).says(t, "Network: RDMA")
	})
	t.Run("exit code of the rank that failed", func(t *testing.T) {
		u.ends(t, 3, launch("--", "sh", "-c", "exit $((NODE_RANK * 3))")...).says(t, "rank 1 (pod job-1 on node gpu-", ") ended with exit code 3")
		u.ends(t, 127, launch("--", "no-such-program")...).
			says(t, "no-such-program, or a program that it runs, was not found: check that it is in the image")
	})
	t.Run("files are copied", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "train.sh")
		if err := os.WriteFile(script, []byte("echo $NODE_RANK trains\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u.does(t, launch("--copy", script, "--", "sh", "train.sh")...).prints(t, "[0] 0 trains\n", "[1] 1 trains\n")
		u.ends(t, 3, launch("--copy", "/nowhere/train.sh", "--", "sh", "train.sh")...).says(t, "--copy: stat /nowhere/train.sh: no such file")
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		u := u
		training := 0
		u.read = func(line string, interrupt context.CancelFunc) {
			if strings.HasSuffix(line, "] trains") {
				training++
			}
			if training == 2 {
				interrupt()
			}
		}
		u.ends(t, 130, launch("--grace-period=5m", "--", "sh", "-c", `trap 'echo saved; exit 0' INT; echo trains; while :; do sleep 0.05; done`)...).prints(t, "[0] saved\n", "[1] saved\n")
	})
	t.Run("a time limit", func(t *testing.T) {
		u.ends(t, 124, launch("--timeout=1s", "--grace-period=5s", "--", "sleep", "600")...)
	})
	t.Run("killed server", func(t *testing.T) {
		u := u
		back := killedAt(t, &u, "[0] trains")
		r := u.ends(t, 1, launch("--", "sh", "-c", "echo trains >&2; sleep 600")...).silent(t)
		back()
		r.says(t, ") was lost: ", ", the first of 2 ranks that failed")
		if strings.Contains(r.err, "may still be running") {
			t.Errorf("the pods were not reached again:\n%s", r.err)
		}
		u.does(t, launch("--", "true")...)
	})
	t.Run("logs", func(t *testing.T) {
		u.does(t, "logs", "job", "-n", ns).prints(t, "[0] job-0 waits\n", "[1] job-1 waits\n")
		if r := u.does(t, "logs", "job", "-n", ns, "--rank=1"); r.out != "[1] job-1 waits\n" {
			t.Errorf("stdout %q", r.out)
		}
	})
	t.Run("another job", func(t *testing.T) {
		u.ends(t, 1, "launch", "jobs", "-n", ns, "--", "true").silent(t).says(t, "there is no job jobs in namespace launched; did you mean job?")
		u.ends(t, 1, "logs", "jobs", "-n", ns).silent(t).says(t, "there is no job jobs in namespace launched; did you mean job?")
	})
	t.Run("no right to", func(t *testing.T) {
		readsAll(t, openShift, "spectator")
		as(t, openShift, "spectator").ends(t, 1, launch("--", "true")...).silent(t).says(t, `spectator may not create pods/exec "job-0" in namespace launched`, "nothing was started")
	})
}
