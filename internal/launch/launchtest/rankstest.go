// Package launchtest provides pods for tests, whose commands are processes of this machine.
package launchtest

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

// RunningPod returns a pod of the job h-kim.
func RunningPod(name string) cluster.Pod {
	return cluster.Pod{
		Namespace: "train", Name: name, UID: "uid-" + name, Owner: "StatefulSet/h-kim", Phase: "Running", Ready: true,
		Labels:     map[string]string{"app.kubernetes.io/instance": "h-kim", "app.kubernetes.io/component": "job"},
		Containers: []cluster.Container{{Name: "train", Running: true, Ready: true}},
	}
}

// Text collects output, and can be read meanwhile.
type Text struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	When map[string]func() // called once, when the output contains the text
}

// Write implements io.Writer.
func (w *Text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	for text, do := range w.When {
		if strings.Contains(w.buf.String(), text) {
			delete(w.When, text)
			do()
		}
	}
	return len(p), nil
}

// String returns the output so far.
func (w *Text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// Has asserts that a text contains all parts.
func Has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
