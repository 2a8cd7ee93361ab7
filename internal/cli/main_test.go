package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch/launchtest"
)

// answer is the result of a command line.
type answer struct {
	code     int
	out, err string
}

// run runs a command line without a cluster, a terminal or input.
func run(args ...string) answer { return runWith(strings.NewReader(""), false, args...) }

func runWith(stdin io.Reader, tty bool, args ...string) answer {
	var out, err bytes.Buffer
	streams := Streams{In: stdin, Out: &out, Err: &err, TTY: tty, Width: 120}
	code := Main(context.Background(), "railhead", args, "test", streams)
	return answer{code, out.String(), err.String()}
}

// TestVersion: the command and the flag print the same.
func TestVersion(t *testing.T) {
	flag, command := run("--version"), run("version")
	if flag != command || command.out != "railhead version test\n" || command.code != int(exit.OK) {
		t.Errorf("--version: %+v, version: %+v", flag, command)
	}
}

// TestExitCodes runs every command without a cluster. Commands that only read exit 3, commands that change something
// exit 1, and a wrong command line exits 2.
func TestExitCodes(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for line, want := range map[string]exit.Code{
		"--version":                            exit.OK,
		"version":                              exit.OK,
		"version 1":                            exit.Usage,
		"setup":                                exit.OK,
		"explain-check memlock-limit":          exit.OK,
		"inventory":                            exit.Unknown,
		"setup status":                         exit.Unknown,
		"status h-kim":                         exit.Unknown,
		"logs h-kim":                           exit.Unknown,
		"explain -n train h-kim":               exit.Unknown,
		"wire h-kim":                           exit.Unknown,
		"setup cluster --yes":                  exit.Fault,
		"setup namespace train":                exit.Fault,
		"setup rollback":                       exit.Fault,
		"delete h-kim":                         exit.Fault,
		"launch h-kim -- true":                 exit.Fault,
		"deplyo":                               exit.Usage,
		"setup clutser":                        exit.Usage,
		"completion":                           exit.OK,
		"completion fish":                      exit.OK,
		"completion tcsh":                      exit.Usage,
		"setup namespace":                      exit.Usage,
		"inventory --wide":                     exit.Usage,
		"inventory -o xml":                     exit.Usage,
		"deploy":                               exit.Usage,
		"deploy h-kim torchrun":                exit.Usage,
		"deploy h-kim --pod-binary riscv64=x":  exit.Usage,
		"deploy a b":                           exit.Usage,
		"status a b":                           exit.Usage,
		"inject":                               exit.Usage,
		"inject --pod-image i -f /nowhere":     exit.Unknown,
		"inject --pod-image i -f -":            exit.Unknown,
		"inject -f a -f b":                     exit.Usage,
		"deploy h-kim --script /nowhere":       exit.Unknown,
		"launch h-kim":                         exit.Usage,
		"launch h-kim -e A -- true":            exit.Usage,
		"launch h-kim --copy /nowhere -- true": exit.Unknown,
		"logs h-kim --tail -1":                 exit.Usage,
		"status":                               exit.Usage,
		"delete":                               exit.Usage,
		"explain-check memlok":                 exit.Usage,
	} {
		t.Run(line, func(t *testing.T) {
			got := run(strings.Fields(line)...)
			if got.code != int(want) {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, want, got.out, got.err)
			}
			if want != exit.OK && !strings.HasPrefix(got.err, "railhead: ") {
				t.Errorf("stderr: %q", got.err)
			}
		})
	}
}

// TestUsageHints: the message for a wrong command line shows the right one.
func TestUsageHints(t *testing.T) {
	for line, want := range map[string]string{
		"completion tcsh":                     `unknown command "tcsh" for "railhead completion"`,
		"setup clutser":                       `unknown command "clutser" for "railhead setup"; did you mean cluster?`,
		"status":                              "NAME is missing: railhead status [KIND/]NAME [flags]",
		"wire":                                "name a job, or pod/POD, or node/NODE: railhead wire NAME",
		"wire h-kim --every 99ms":             "--every must be at least 100ms",
		"status a b":                          `unexpected argument "b": railhead status [KIND/]NAME [flags]`,
		"inventory a":                         `unexpected argument "a": railhead inventory [flags]`,
		"deploy h-kim --pod-binary riscv64=x": "--pod-binary riscv64: the architecture must be amd64 or arm64",
		"setup webhook":                       "--image is missing: railhead setup webhook --image IMAGE",
		"launch h-kim --stop --attach":        "--attach and --stop cannot be used together",
		"inject":                              "name a manifest with -f FILE, or use -f - to read standard input",
		"inject -f a -f b":                    "-f names 2 files: inject takes one at a time",
		"inject -f https://example.com/a":     "curl -fsSL https://example.com/a | railhead inject -f -",
	} {
		if got := run(strings.Fields(line)...); !strings.Contains(got.err, want) {
			t.Errorf("%s: %s", line, got.err)
		}
	}
}

func TestFlagHelp(t *testing.T) {
	help := run("deploy", "--help").out
	launchtest.Has(t, help, "--node-selector KEY=VALUE ", "-n, --namespace namespace ")
	for line := range strings.Lines(help) {
		if len(line) > 121 || strings.Contains(line, "stringToString") || strings.Contains(line, "default []") {
			t.Errorf("%s", line)
		}
	}
}
