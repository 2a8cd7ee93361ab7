package podcli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"
)

// withoutPause keeps a program that was built with -race from sleeping a second before it ends.
const withoutPause = "atexit_sleep_ms=0"

// TestMain lets the test binary be the program, for scripts and for the shells that they start.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", withoutPause)
	testscript.Main(m, map[string]func(){"railhead-pod": func() {
		os.Exit(Main(os.Args[1:], "1.2.3", Streams{Out: os.Stdout, Err: os.Stderr}))
	}})
}

// TestScripts runs the user stories of testdata/script. $HOSTS is the folder of the recorded machines.
func TestScripts(t *testing.T) {
	machines, err := filepath.Abs("../../testdata/hosts")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOSTS", machines)
			env.Setenv("GORACE", withoutPause)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"json":       validJSON,
			"samefacts":  sameFacts,
			"notrailing": noTrailingBlanks,
			"terminal":   onTerminal,
		},
	})
}

// exits runs a program that must end with the given code: exits CODE PROGRAM [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v: exit %d, want %d", args[1:], got, want)
	}
}

// validJSON asserts that a file, or stdout, is one JSON value: json FILE.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &value))
}

// sameFacts asserts that a JSON file and a YAML file hold one value: samefacts FILE.json FILE.yaml.
func sameFacts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: samefacts FILE.json FILE.yaml")
	}
	var want, got any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &want))
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[1])), &got))
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("(-%s +%s):\n%s", args[0], args[1], diff)
	}
}

// noTrailingBlanks asserts that no line of the files ends in blanks, which copies and diffs of a log would show.
func noTrailingBlanks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: notrailing FILE...")
	}
	for _, file := range args {
		for line := range strings.Lines(ts.ReadFile(file)) {
			if line = strings.TrimSuffix(line, "\n"); strings.TrimRight(line, " \t") != line {
				ts.Fatalf("%s: %q", file, line)
			}
		}
	}
}
