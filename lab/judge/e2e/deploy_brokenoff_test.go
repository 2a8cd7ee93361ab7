package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// killedAt kills the API server when a line is said for the first time, and starts it again. The returned function
// waits until it is back.
func killedAt(t *testing.T, u *user, line string) (back func()) {
	t.Helper()
	restarted := make(chan error, 1)
	killed := false
	u.heard = func(said string, _ context.CancelFunc) {
		if killed || !strings.HasPrefix(said, line) {
			return
		}
		killed = true
		openShift.KillAPIServer()
		go func() { restarted <- openShift.RestartAPIServer(t.Context()) }()
	}
	return func() {
		t.Helper()
		if !killed {
			t.Fatalf("%q was not said", line)
		}
		if err := <-restarted; err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeployBrokenOff: nothing of a job is left half done by Ctrl-C or by a server that is away.
func TestDeployBrokenOff(t *testing.T) {
	const ns = "broken"
	setUp(t)
	u := engineer(t, "k-park", ns)
	t.Run("killed server between the ConfigMaps and the StatefulSet", func(t *testing.T) {
		u := u
		back := killedAt(t, &u, "Create the pods of job and wait until they run")
		u.does(t, deploy("job", ns)...).silent(t).says(t, "does not answer", "created StatefulSet job", "job: 2 of 2 pods ready")
		back()
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
	t.Run("Ctrl-C while it is written", func(t *testing.T) {
		broken := u
		broken.heard = func(line string, interrupt context.CancelFunc) {
			if strings.HasPrefix(line, "  created Service") {
				interrupt()
			}
		}
		broken.ends(t, 130, deploy("job", ns)...).silent(t).says(t, "Interrupted: objects written so far stay; the same command again completes the plan")
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t).says(t, "deleted Service job-headless", "deleted ConfigMap railhead-pod-amd64-")
		broken.ends(t, 130, deploy("job", ns)...)
		u.does(t, deploy("job", ns)...).silent(t).says(t, "created StatefulSet job", "job: 2 of 2 pods ready")
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
	t.Run("Ctrl-C while it waits", func(t *testing.T) {
		broken := u
		broken.heard = func(line string, interrupt context.CancelFunc) {
			if strings.HasPrefix(line, "  created StatefulSet") {
				interrupt()
			}
		}
		broken.ends(t, 130, deploy("job", ns)...).silent(t).says(t, "Stopped watching; the change continues in the cluster. Follow it with: railhead status job -n broken")
		eventually(t, "the job runs all the same", func() error {
			if r := u.railhead(t, "status", "job", "-n", ns); r.code != 0 {
				return fmt.Errorf("%s%s", r.out, r.err)
			}
			return nil
		})
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
	t.Run("a time limit", func(t *testing.T) {
		cordoned(t, "gpu-0", "gpu-1")
		administers(t, openShift, ns, "blind")
		u := as(t, openShift, "blind")
		u.ends(t, 1, deploy("job", ns, "--gpus=8", "--timeout=20s")...).silent(t).says(t, "job-0  Pending",
			"not done after 20s: job: 0 of 2 pods ready; it continues in the cluster, follow it with: railhead status job -n broken")
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
}
