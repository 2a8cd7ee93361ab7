package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/railhead/railhead/internal/kube"
)

// TestVerifyAgain: the command that is to be tried again has what this try lacked.
func TestVerifyAgain(t *testing.T) {
	tests := map[string]struct {
		image string
		err   error
		want  string
	}{
		"no image": {
			"", fmt.Errorf("%w; set one", kube.ErrNoShellImage),
			"railhead setup cluster --verify-first --verify-image IMAGE",
		},
		"an image that was named": {
			"registry.example/tools:1", errors.New("image cannot be pulled"),
			"railhead setup cluster --verify-first --verify-image registry.example/tools:1",
		},
		"another error": {"", errors.New("pod is Pending"), "railhead setup cluster --verify-first"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := verifier{probe: nodeProbe{image: test.image}}
			if got := v.again(test.err); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
