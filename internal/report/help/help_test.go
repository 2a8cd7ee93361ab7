package help

import "testing"

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
