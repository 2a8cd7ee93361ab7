package cli

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

// runningPod is a pod of the job h-kim.
func runningPod(name string) cluster.Pod {
	return cluster.Pod{
		Namespace: "train", Name: name, UID: "uid-" + name, Phase: "Running", Ready: true,
		Labels:     map[string]string{"app.kubernetes.io/instance": "h-kim", "app.kubernetes.io/component": "job"},
		Containers: []cluster.Container{{Name: trainContainer, Running: true, Ready: true}},
	}
}

// words gathers what a launch writes; text can be read meanwhile.
type words struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	when map[string]func() // called once, when the text is there
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	for text, do := range w.when {
		if strings.Contains(w.buf.String(), text) {
			delete(w.when, text)
			do()
		}
	}
	return len(p), nil
}

func (w *words) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// has asserts that a text holds others.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
