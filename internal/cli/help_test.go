package cli

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/kube"
)

// TestHelpFitsTheTerminal asserts that help texts are as wide as the terminal, but for examples and single words.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, width := range []int{80, 120, 300} {
		var out strings.Builder
		a := &app{Streams: Streams{Out: &out, Err: &out, Width: width}, flags: &kube.Flags{}}
		root := a.root("railhead")
		root.SetArgs([]string{"setup", "cluster", "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		widest := 0
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "  railhead ") {
				widest = max(widest, len(line)-1)
			}
		}
		if most := min(width, 120); widest > most || widest < most-10 {
			t.Errorf("%d columns: the widest line has %d", width, widest)
		}
	}
}
