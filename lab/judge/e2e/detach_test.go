package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestDetach: a command goes on in the pods without its client, is shown again and ends as launch would have ended.
func TestDetach(t *testing.T) {
	const ns = "detached"
	setUp(t)
	u := engineer(t, "d-ito", ns)
	startKubelet(t, func(kubelet.Container) string { return "" }, "gpu-0", "gpu-1")
	u.does(t, deploy("job", ns)...)
	launch := func(more ...string) []string { return append([]string{"launch", "job", "-n", ns}, more...) }
	u.ends(t, 1, launch("--attach")...).silent(t).says(t, "no detached run in the pods of this job", "railhead launch job -n detached --detach -- COMMAND")
	u.does(t, "status", "job", "-n", ns).prints(t, "job-0")

	const waits = `echo rank $NODE_RANK; trap 'echo saved; exit 0' INT; while :; do sleep 0.05; done`
	u.does(t, launch("--detach", "--", "sh", "-c", waits)...).silent(t).says(t, "Running in 2 pods, detached: ", "railhead launch job -n detached --attach", "railhead launch job -n detached --stop")
	t.Run("status and doctor", func(t *testing.T) {
		const running = `: sh -c "echo rank $NODE_RANK; `
		u.does(t, "status", "job", "-n", ns).says(t, "Detached run, started at ", running, "running in 2 pods")
		u.does(t, "status", "job", "-n", ns, "-o", "json").prints(t, `"detachedRun": {`, `"running": 2`)
		if r := u.railhead(t, "doctor", "job", "-n", ns); r.code == 2 {
			t.Errorf("exit code %d", r.code)
		} else {
			r.says(t, "Detached run, started at ", "running in 2 pods")
		}
	})
	t.Run("a second launch", func(t *testing.T) {
		u.ends(t, 1, launch("--", "true")...).silent(t).says(t, "nothing was started", "a detached run is still running here", "'railhead launch job -n detached --stop'")
	})
	t.Run("restart", func(t *testing.T) {
		u.ends(t, 1, "restart", "job", "-n", ns, "--yes").silent(t).says(t, "nothing was restarted: a launched command runs in rank 0")
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		u := u
		u.read = func(line string, interrupt context.CancelFunc) {
			if line == "[1] rank 1" {
				interrupt()
			}
		}
		u.ends(t, 130, launch("--attach")...).says(t, "Detached: the command goes on.")
	})
	t.Run("stop", func(t *testing.T) {
		u.does(t, launch("--stop")...).says(t, "Stopping: sending SIGINT to the command in 2 pods", "Stopped: the command has ended in all pods")
		u.does(t, launch("--attach")...).prints(t, "[0] rank 0\n", "[0] saved\n", "[1] saved\n")
	})
	t.Run("killed server", func(t *testing.T) {
		u.does(t, launch("--detach", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 1; done; exit 4")...)
		u := u
		back := killedAt(t, &u, "Started in 2 pods")
		r := u.ends(t, 4, launch("--attach")...)
		back()
		r.says(t, ": the connection broke: ", "connecting again")
		if strings.Count(r.out, "step ") != 16 {
			t.Errorf("not every line once:\n%s", r.out)
		}
	})
	t.Run("a failure", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		eventually(t, "a command that ends at once is shown", func() error { // it has two seconds
			r := u.railhead(t, launch("--detach", "--", "sh", "-c", "echo rank $NODE_RANK; exit $((NODE_RANK * 5))")...)
			if r.code == 0 {
				u.ends(t, 5, launch("--attach")...)
				return errors.New("it had not ended yet")
			}
			r.says(t, "ended with exit code 5", "Network: not known")
			return nil
		})
		u.ends(t, 5, launch("--attach", "--log-dir", dir)...).says(t, "Output: "+dir)
		if text, err := os.ReadFile(filepath.Join(dir, "rank-1.out")); err != nil || string(text) != "rank 1\n" {
			t.Errorf("%q, %v", text, err)
		}
		u.does(t, "status", "job", "-n", ns).says(t, "ended, exit code 0 in 1 pod, exit code 5 in 1 pod")
	})
	t.Run("the next launch", func(t *testing.T) {
		u.does(t, launch("--", "true")...)
		u.ends(t, 1, launch("--attach")...).says(t, "no detached run")
	})
	t.Run("restart of an idle job", func(t *testing.T) {
		before := podsOf(t, openShift, ns, "job")
		u.does(t, "restart", "job", "-n", ns, "--yes").silent(t).says(t, "deleted Pod job-0", "deleted Pod job-1", "2 of 2 pods ready")
		after := podsOf(t, openShift, ns, "job")
		if len(after) != 2 || after[0].UID == before[0].UID || after[1].UID == before[1].UID {
			t.Errorf("not every pod is new: %v", after)
		}
	})
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
}
