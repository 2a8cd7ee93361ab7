package podcli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference as you read code")

// hosts are the recorded machines.
func hosts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/hosts/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatalf("recorded machines: %d, %v", len(files), err)
	}
	return files
}

// cli runs one command line and returns everything that a user sees of it.
func cli(args ...string) (stdout, stderr string, code exit.Code) {
	var out, talk bytes.Buffer
	code = exit.Code(Main(args, "test", Streams{Out: &out, Err: &talk}))
	return out.String(), talk.String(), code
}

// transcript is a command line with what it printed.
func transcript(args ...string) string {
	out, talk, code := cli(args...)
	shown := strings.Join(args[:len(args)-1], " ") + " " + filepath.Base(args[len(args)-1])
	return fmt.Sprintf("$ railhead-pod %s\n%s--- stderr\n%s--- exit %d\n\n", shown, out, talk, code)
}

// TestHosts holds what the commands say of every recorded machine against a golden file.
func TestHosts(t *testing.T) {
	for _, file := range hosts(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			got := transcript("detect", "-o", "wide", "--explain", "--topology", "--root", file) +
				transcript("detect", "--scope", "host", "--root", file) +
				transcript("env", "--explain", "--root", file) +
				transcript("env", "--mode", "auto", "--override", "--root", file) +
				transcript("env", "--mode", "tcp", "-o", "dotenv", "--root", file)
			golden := filepath.Join("../../testdata/golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// TestLaunchReadsEnough: what run reads leads to the variables that a full reading leads to.
func TestLaunchReadsEnough(t *testing.T) {
	for _, file := range hosts(t) {
		m, err := sysfs.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []nccl.Policy{{}, {Mode: nccl.Auto, Override: true}, {Mode: nccl.TCP}} {
			full := decide(m.Snapshot(), rail.Pod, policy)
			brief := decide(sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted), rail.Pod, policy)
			if diff := cmp.Diff(full.vars, brief.vars); diff != "" {
				t.Errorf("%s, mode %q: variables (-full +launch):\n%s", filepath.Base(file), policy.Mode, diff)
			}
			if (full.noRail == nil) != (brief.noRail == nil) || len(full.blocking()) != len(brief.blocking()) {
				t.Errorf("%s, mode %q: refusals differ: full %v, launch %v", filepath.Base(file), policy.Mode, full.blocking(), brief.blocking())
			}
		}
	}
}
