package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/judge/fault"
)

// run runs a command line where no lab runs.
func run(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	code = Main(t.Context(), args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestCommandLine(t *testing.T) {
	for line, test := range map[string]struct {
		code int
		says string
	}{
		"up --iommu via":                   {2, `--iommu is "via", and must be intel, amd or none`},
		"up --machines 0":                  {2, "--machines is 0, and must be from 1 to 9"},
		"up --pods-only --rollout":         {2, "--pods-only has no Kubernetes"},
		"up --plain --rollout":             {2, "--rollout needs OpenShift"},
		"up --device-plugin /dev/null":     {2, "--device-plugin /dev/null: "},
		"up --pods-only --device-plugin x": {2, "no --device-plugin goes with it"},
		"up here":                          {2, "up takes no arguments"},
		"up --fast":                        {2, "unknown flag: --fast"},
		"upp":                              {2, `unknown command "upp"`},
		"status --name Not-a-name":         {2, "must be of small letters"},
		"status":                           {1, "no lab runs here by the name default: 'lab up' starts one"},
		"down --name other":                {0, "Nothing to do: no lab runs here by the name other"},
		"exec node-a":                      {2, "exec takes a machine and a command"},
		"exec node-a -- true":              {1, "no lab runs here"},
		"fault":                            {2, "fault takes list, or the name of a fault"},
		"fault flood":                      {2, "there is no fault flood; there are vf-down, pf-down"},
		"fault vf-down --node node-b":      {1, "no lab runs here"},
		"heal":                             {1, "no lab runs here"},
		"capture":                          {2, "capture takes a folder"},
	} {
		t.Run(line, func(t *testing.T) {
			code, out, said := run(t, strings.Fields(line)...)
			if code != test.code || out != "" || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, out, said)
			}
		})
	}
}

func TestFaultList(t *testing.T) {
	code, out, said := run(t, "fault", "list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || said != "" ||
		len(lines) != len(fault.All())+1 {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, said, out)
	}
}

// TestLock: one process serves a lab; when it ends, whatever it left does not look like a lab that runs.
func TestLock(t *testing.T) {
	f := folder(filepath.Join(t.TempDir(), "lab"))
	held, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.lock(); err == nil {
		t.Error("locked twice")
	}
	if pid, err := f.pid(); err != nil || pid != os.Getpid() {
		t.Errorf("served by %d, %v", pid, err)
	}
	if _, err := f.state(); err == nil || !strings.Contains(err.Error(), "on its way up") {
		t.Errorf("before it has a state: %v", err)
	}
	if err := os.WriteFile(f.file(stateFile), []byte(`{"machines":[{"name":"node-a"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := state{Machines: []machineState{{Name: "node-a"}}}
	if got, err := f.state(); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v", got, err)
	}
	held.Close()
	if _, err := f.state(); err == nil || f.runs() {
		t.Errorf("it still runs: %v", err)
	}
}

// TestTyped: a reader can copy the commands that the lab names.
func TestTyped(t *testing.T) {
	for name, want := range map[string]string{
		defaultName: "go -C lab run . exec node-a -- COMMAND",
		"other":     "go -C lab run . --name other exec node-a -- COMMAND",
	} {
		if got := (&app{name: name}).typed("exec node-a -- COMMAND"); got != want {
			t.Errorf("of %s: %q, want %q", name, got, want)
		}
	}
}
