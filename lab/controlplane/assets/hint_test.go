package assets

import (
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	for name, test := range map[string]struct{ said, want string }{
		"no space": {
			"compile: writing output: write $WORK/b065/_pkg_.a: no space left on device\n",
			"no space is left",
		},
		"no network": {
			`go: x@v1: Get "https://proxy.example/x/@v/v1.info": dial tcp: lookup proxy.example: network is ` +
				`unreachable` + "\n",
			"is there a network",
		},
		"the source": {"./main.go:7:2: undefined: y\n", ""},
	} {
		if got := hint(test.said); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
