package cli

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/kube"
)

func TestReflow(t *testing.T) {
	const text = `a paragraph that was
broken too early, and continues

  - an item of a list that is long
  - another

the end`
	for width, want := range map[int]string{
		60: "a paragraph that was broken too early, and continues\n\n" +
			"  - an item of a list that is long\n  - another\n\nthe end",
		24: "a paragraph that was\nbroken too early, and\ncontinues\n\n" +
			"  - an item of a list\n    that is long\n  - another\n\nthe end",
	} {
		if got := reflow(text, width); got != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, got, want)
		}
	}
}

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
