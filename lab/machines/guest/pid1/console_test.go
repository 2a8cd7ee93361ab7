package pid1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecords(t *testing.T) {
	long := strings.Repeat("x", 2000)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a line", "ready", []string{"<11>lab: ready\n"}},
		{"lines", "one\ntwo\n", []string{"<11>lab: one\n", "<11>lab: two\n"}},
		{"a long one", long, []string{"<11>lab: " + long[:900] + "\n"}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, records(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// heard collects what is written, one element for each call.
type heard []string

func (h *heard) Write(p []byte) (int, error) {
	*h = append(*h, string(p))
	return len(p), nil
}

func TestLastWords(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("line ", i))
	}
	crash := append(append([]string{}, many[:60]...), append([]string{
		"panic: oh",
		"",
		"goroutine 1 [running]:",
	}, many[60:]...)...)
	tests := []struct {
		name   string
		pieces []string
		lines  int
		want   string
	}{
		{"one line in pieces", []string{"he", "llo\nwor", "ld"}, 1, "hello\nworld"},
		{"the last of many", []string{strings.Join(many, "\n") + "\n"}, 100, strings.Join(many[70:], "\n")},
		{"the first of a crash", []string{strings.Join(crash, "\n") + "\n"}, 103, strings.Join(crash[60:90], "\n")},
		{"nothing", nil, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var to heard
			l := &lastWords{to: &to}
			for _, p := range tt.pieces {
				if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
					t.Fatalf("write %q: %d, %v", p, n, err)
				}
			}
			if diff := cmp.Diff(tt.want, l.String()); diff != "" {
				t.Error(diff)
			}
			if len(to) != tt.lines {
				t.Errorf("%d lines were handed on, want %d", len(to), tt.lines)
			}
		})
	}
}
