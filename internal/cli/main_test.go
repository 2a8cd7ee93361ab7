package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/exit"
)

// TestExitCodes runs every command without a cluster. Commands that judge exit 3, commands that change something 1, and a
// wrong command line exits 2.
func TestExitCodes(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for line, want := range map[string]exit.Code{
		"--version":                            exit.OK,
		"setup":                                exit.OK,
		"explain-check memlock-limit":          exit.OK,
		"inventory":                            exit.Unknown,
		"setup status":                         exit.Unknown,
		"status h-kim":                         exit.Unknown,
		"explain -n train h-kim":               exit.Unknown,
		"setup cluster --yes":                  exit.Fault,
		"setup namespace train":                exit.Fault,
		"setup rollback":                       exit.Fault,
		"delete h-kim":                         exit.Fault,
		"logs h-kim":                           exit.Fault,
		"launch h-kim -- true":                 exit.Fault,
		"deplyo":                               exit.Usage,
		"setup clutser":                        exit.Usage,
		"inventory --wide":                     exit.Usage,
		"inventory -o xml":                     exit.Usage,
		"deploy":                               exit.Usage,
		"deploy h-kim torchrun":                exit.Usage,
		"deploy h-kim --pod-binary riscv64=x":  exit.Usage,
		"deploy a b":                           exit.Usage,
		"status a b":                           exit.Usage,
		"inject":                               exit.Usage,
		"inject -f /nowhere.yaml":              exit.Usage,
		"launch h-kim":                         exit.Usage,
		"launch h-kim -e A -- true":            exit.Usage,
		"launch h-kim --copy /nowhere -- true": exit.Usage,
		"logs h-kim --tail -1":                 exit.Usage,
		"status":                               exit.Usage,
		"delete":                               exit.Usage,
		"explain-check memlok":                 exit.Usage,
	} {
		t.Run(line, func(t *testing.T) {
			var out, err bytes.Buffer
			streams := Streams{In: strings.NewReader(""), Out: &out, Err: &err}
			if got := Main(context.Background(), "railhead", strings.Fields(line), "test", streams); got != int(want) {
				t.Errorf("exit code %d, want %d\n%s%s", got, want, &out, &err)
			}
			if want != exit.OK && !strings.HasPrefix(err.String(), "railhead: ") {
				t.Errorf("stderr: %q", err.String())
			}
		})
	}
}
