package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestScene(t *testing.T) {
	for name, test := range map[string]struct {
		scene scene
		err   string
	}{
		"as expected":           {scene{line: "echo RDMA: proved", says: []string{"RDMA: ", "proved"}}, ""},
		"another exit code":     {scene{line: "false"}, "false: exit code 1, not 0"},
		"a fault that is found": {scene{line: "false", code: 1}, ""},
		"a fault that is not":   {scene{line: "true", code: 1}, "true: exit code 0, not 1"},
		"another output":        {scene{line: "echo TCP", says: []string{"RDMA"}}, `echo TCP: the output does not contain "RDMA"`},
		"no such program":       {scene{line: "no-such-program x"}, "no-such-program x: "},
	} {
		t.Run(name, func(t *testing.T) {
			var shown strings.Builder
			err := playAll(t.Context(), &shown, []scene{test.scene})
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), test.err)) {
				t.Errorf("%v, want %q", err, test.err)
			}
			if !strings.HasPrefix(shown.String(), "\n\n$ "+test.scene.line+"\n") {
				t.Errorf("it shows %q", shown.String())
			}
		})
	}
}

// TestSceneInterrupted: Ctrl-C ends the command and what it started, and is not taken for a failure of the command.
func TestSceneInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	script := scene{line: "tail -n +1 -f scene.go", says: []string{"never"}}
	if err := script.run(ctx, &counter{Writer: io.Discard, text: []byte("package main"), enough: 1, done: stop}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestCounter(t *testing.T) {
	var shown strings.Builder
	done := 0
	c := &counter{Writer: &shown, text: []byte("\nRDMA: "), enough: 2, done: func() { done++ }}
	for _, text := range []string{"pods\nnot RDMA: idle\n", "pods\nRD", "MA: 1\n", "pods\nRDMA: 2\n"} {
		if done > 0 {
			t.Errorf("done after %d", c.count())
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	if done != 1 || c.count() != 2 || !strings.HasSuffix(shown.String(), "RDMA: 1\npods\nRDMA: 2\n") {
		t.Errorf("done %d times, %d counted, shown %q", done, c.count(), shown.String())
	}
}
