package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// podVariable names the railhead-pod that the test binary deploys when it is railhead.
const podVariable = "DEMO_TEST_POD"

// TestMain lets the test binary be railhead, for the scenes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "railhead" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	args := os.Args[1:]
	if args[0] == "deploy" || args[0] == "setup" && args[1] == "namespace" { // they give it to pods
		args = append(args, "--pod-binary=amd64="+os.Getenv(podVariable))
	}
	os.Exit(cli.Main(ctx, "railhead", args, "test", cli.Streams{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr}))
}

// onPurpose are the faults that the story shows: of the job that has no third node.
var onPurpose = []string{
	"fail: job/big: big needs 3 nodes ",
	"railhead: nothing was written",
}

// faults returns the lines of a log that tell of a fault that the story does not show on purpose, and the faults on
// purpose that it does not show.
func faults(log string) []string {
	missing := slices.Clone(onPurpose)
	var found []string
	for line := range strings.Lines(log) {
		begins := func(start string) bool { return strings.HasPrefix(line, start) }
		switch {
		case slices.ContainsFunc(onPurpose, begins):
			missing = slices.DeleteFunc(missing, begins)
		case begins("fail: "), begins("railhead: "), strings.Contains(line, "could not be read"),
			strings.Contains(strings.ToLower(line), "error"):
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	for _, start := range missing {
		found = append(found, "not shown: "+start)
	}
	return found
}

func TestFaults(t *testing.T) {
	wanted := strings.Join(onPurpose, "3\n") + "\n"
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"those of the story": {"$ railhead status h-kim -n train\nh-kim-0  Running\n" + wanted, nil},
		"status that was not read": {
			wanted + "Whether a detached run is in the pods could not be read: rank 0\n",
			[]string{"Whether a detached run is in the pods could not be read: rank 0"},
		},
		"an error":             {wanted + "Internal Error occurred\n", []string{"Internal Error occurred"}},
		"another finding":      {wanted + "fail: node/a: down\n", []string{"fail: node/a: down"}},
		"a command that fails": {wanted + "railhead: no such job\n", []string{"railhead: no such job"}},
		"no refusal":           {"", []string{"not shown: " + onPurpose[0], "not shown: " + onPurpose[1]}},
	} {
		if diff := cmp.Diff(test.want, faults(test.log)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestInEmptyPod: the question of status is answered, no other command runs.
func TestInEmptyPod(t *testing.T) {
	for name, test := range map[string]struct {
		words []string
		code  int
		says  string
	}{
		"the question of status": {launch.RunsCommand(), 0, ""},
		"another command":        {[]string{"sh", "-c", "echo it runs"}, 126, refusal + "\n"},
	} {
		cmd := inEmptyPod(t.TempDir())(t.Context(), kubelet.Container{Pod: "h-kim-0"}, test.words)
		var said strings.Builder
		cmd.Stderr = &said
		out, _ := cmd.Output() // the exit code is compared
		if code := cmd.ProcessState.ExitCode(); code != test.code || said.String() != test.says {
			t.Errorf("%s: exit code %d, %q", name, code, said.String())
		}
		if strings.Count(string(out), "\n") > 1 || strings.Contains(string(out), "id=") {
			t.Errorf("%s: stdout %q", name, out)
		}
	}
}

// TestStory plays the demo on a control plane: it shows no fault but those on purpose.
func TestStory(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a control plane")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "railhead")); err != nil {
		t.Fatal(err)
	}
	pod := filepath.Join(dir, "railhead-pod")
	if err := assets.BuildPod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	t.Setenv(podVariable, pod)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("KUBECONFIG", "") // the demo sets it
	if path, err := exec.LookPath("railhead"); err != nil || path != filepath.Join(dir, "railhead") {
		t.Fatalf("%s, %v", path, err)
	}
	var log strings.Builder
	demo := controlPlaneDemo{reboot: 100 * time.Millisecond, page: filepath.Join(dir, "demo.html")}
	err = demo.show(t.Context(), io.MultiWriter(&log, testLog{t}))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range faults(log.String()) {
		t.Errorf("in the log of the demo: %s", line)
	}
	if _, err := os.Stat(demo.page); err != nil {
		t.Error(err)
	}
}

// testLog writes to the log of a test.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
