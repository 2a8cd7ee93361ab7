package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCheckPage(t *testing.T) {
	for _, id := range Checks() {
		page, err := CheckPage(id)
		if err != nil || !strings.HasPrefix(page, "# "+id+"\n") || !strings.Contains(page, "**Healthy:** ") {
			t.Errorf("checks/%s.md: %v; want \"# %s\", and a line that begins with **Healthy:** in\n%.80s", id, err, id, page)
		}
	}
	if _, err := CheckPage("no-such-check"); err == nil {
		t.Error("a page of no check")
	}
}

// words are those in the guide that look like checks and are none.
var words = []string{"railhead-pod", "host-local", "loc-prot-err", "explain-check"}

// TestTroubleshooting: every check that the guide sends people to has a page.
func TestTroubleshooting(t *testing.T) {
	text, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z]+(?:-[a-z0-9]+)+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 40 {
		t.Errorf("the guide names %d checks", len(named))
	}
	for _, m := range named {
		if !slices.Contains(words, m[1]) && !slices.Contains(Checks(), m[1]) {
			t.Errorf("the guide names %s, which has no page", m[1])
		}
	}
}
