package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/exit"
)

// TestInterruptedEarly: a command that changes the cluster says that it has not done so yet.
func TestInterruptedEarly(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, line := range []string{
		"setup cluster --yes", "setup rollback --yes", "setup namespace train --yes", "setup rollback namespace train --yes",
		"setup webhook --image i --yes", "setup metrics --image i --yes",
		"deploy h-kim --image i --yes", "restart h-kim --yes", "delete h-kim --yes",
	} {
		var stderr bytes.Buffer
		streams := Streams{In: strings.NewReader(""), Out: io.Discard, Err: &stderr}
		args := append([]string{"--server=http://127.0.0.1:1"}, strings.Fields(line)...)
		code := Main(ctx, "railhead", args, "test", streams)
		if code != int(exit.Interrupted) || stderr.String() != "Interrupted: nothing was written\n" {
			t.Errorf("%s: exit code %d, stderr %q", line, code, stderr.String())
		}
	}
}

// TestInterruptedQuestion: Ctrl-C ends the wait for an answer.
func TestInterruptedQuestion(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	silent, terminal := io.Pipe()
	defer terminal.Close()
	if err := (Streams{In: silent, Err: io.Discard, TTY: true}).agree(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
