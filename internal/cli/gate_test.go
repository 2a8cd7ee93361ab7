package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// standInRailhead notes its command lines, and fails as FAILS says: "bench=1 wire=3". From the second time on, wire
// ends with 0 if LATER is set.
const standInRailhead = `#!/bin/sh
echo "railhead $*" >> "$NOTES"
[ "$1" = wire ] && [ -n "$LATER" ] && [ "$(grep -c "railhead wire" "$NOTES")" -gt 1 ] && exit 0
for f in $FAILS; do
	[ "${f%=*}" = "$1" ] && exit "${f#*=}"
done
exit 0
`

// gate runs docs/examples/gate.sh with a stand-in for railhead, and returns its exit code and the command lines.
func gate(t *testing.T, fails, later string, args ...string) (code int, lines []string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"railhead": standInRailhead, "sleep": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../../docs/examples/gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	patience := "0"
	if later != "" {
		patience = "300"
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "FAILS="+fails,
		"LATER="+later, "NOTES="+filepath.Join(folder, "notes"), "GATE_PATIENCE="+patience)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%v: %s", err, out)
	}
	notes, err := os.ReadFile(filepath.Join(folder, "notes"))
	if err == nil {
		lines = strings.Split(strings.TrimSpace(string(notes)), "\n")
	}
	return cmd.ProcessState.ExitCode(), lines
}

// TestGate: the example for pipelines ends with the exit status of the first step that failed, names the cause, and
// always deletes its job. Its command lines have commands and flags that exist.
func TestGate(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		fails, later string
		code         int
		commands     string
	}{
		"good":                    {"", "", 0, "deploy bench launch wire report delete"},
		"it does not start":       {"deploy=1", "", 1, "deploy doctor delete"},
		"a slow rail":             {"bench=1", "", 1, "deploy bench doctor delete"},
		"nothing was measured":    {"bench=3 doctor=1", "", 3, "deploy bench doctor delete"},
		"the command fails":       {"launch=1 delete=1", "", 1, "deploy bench launch doctor delete"},
		"no RDMA":                 {"wire=1", "", 1, "deploy bench launch wire report doctor delete"},
		"RDMA after some time":    {"wire=1", "yes", 0, "deploy bench launch wire wire report delete"},
		"the wire is not read":    {"wire=3", "yes", 3, "deploy bench launch wire report doctor delete"},
		"the page is not written": {"report=1", "", 0, "deploy bench launch wire report delete"},
	} {
		t.Run(name, func(t *testing.T) {
			code, lines := gate(t, c.fails, c.later, "train", "image", "all_reduce_perf", "-g", "8")
			var commands []string
			for _, line := range lines {
				commands = append(commands, strings.Fields(line)[1])
				if err := parses(line); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			if got := strings.Join(commands, " "); code != c.code || got != c.commands {
				t.Errorf("exit code %d, %s; want %d, %s", code, got, c.code, c.commands)
			}
			if launch := "railhead launch gate -n train --detach -- all_reduce_perf -g 8"; slices.Contains(commands, "launch") &&
				!slices.Contains(lines, launch) {
				t.Errorf("no %q in %q", launch, lines)
			}
		})
	}
	t.Setenv("GATE_DEPLOY", "--gpus 0 --queue lab")
	_, lines := gate(t, "deploy=1", "", "train", "image", "true")
	want := "railhead deploy gate -n train --nodes 2 --image image --gpus 0 --queue lab --yes"
	if err := parses(want); err != nil || !slices.Contains(lines, want) {
		t.Errorf("no %q in %q: %v", want, lines, err)
	}
	if code, lines := gate(t, "", "", "train", "image"); code != 2 || lines != nil {
		t.Errorf("without a command: exit code %d, %q", code, lines)
	}
}

// TestGateInstall: GitHub's job installs railhead from an archive of a release, which has a folder.
func TestGateInstall(t *testing.T) {
	for _, program := range []string{"sh", "tar", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	var pipeline struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	text, err := os.ReadFile("../../docs/examples/github-actions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &pipeline); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"release/railhead_1.2.3_linux_amd64/railhead": standInRailhead,
		"tools/curl": "#!/bin/sh\ncp \"$4\" \"$3\"\n", // curl -fsSL -o FILE ADDRESS
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "tools")+string(os.PathListSeparator)+os.Getenv("PATH"),
			"ARCHIVE=release.tar.gz", "RUNNER_TEMP="+folder, "GITHUB_PATH="+filepath.Join(folder, "path"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("tar -czf release.tar.gz -C release railhead_1.2.3_linux_amd64")
	run("export SHA256=$(sha256sum release.tar.gz | cut -d ' ' -f 1)\n" + pipeline.Jobs["gate"].Steps[1].Run)
	if installed := run(`PATH=$(cat path):$PATH; command -v railhead`); installed != filepath.Join(folder, "bin/railhead") {
		t.Errorf("railhead is %q", installed)
	}
}

// TestGateShell: the script is good for every shell.
func TestGateShell(t *testing.T) {
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip(err)
	}
	if out, err := exec.CommandContext(t.Context(), shellcheck, "../../docs/examples/gate.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGatePipelines: the pipelines are YAML and run the script.
func TestGatePipelines(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := yaml.UnmarshalStrict(text, &v); err != nil || !strings.Contains(string(text), "gate.sh") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
