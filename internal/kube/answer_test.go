package kube

import (
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
)

func TestAskAgain(t *testing.T) {
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		errs   []error // of each call
		answer int     // the call whose answer counts
		want   string
	}{
		"complete":            {[]error{nil}, 1, ""},
		"cut short once":      {[]error{ErrCutShort, nil}, 2, ""},
		"cut short twice":     {[]error{ErrCutShort, ErrCutShort}, 2, "the output was cut short, also when asked again"},
		"another error":       {[]error{refused}, 1, "connection refused"},
		"another error later": {[]error{ErrCutShort, refused}, 2, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			answer, err := AskAgain(func() (int, error) {
				calls++
				return calls, test.errs[calls-1]
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if calls != len(test.errs) || answer != test.answer || got != test.want {
				t.Errorf("answer %d after %d calls: %q", answer, calls, got)
			}
		})
	}
}

// TestDecodeSnapshot cuts JSON at every byte.
func TestDecodeSnapshot(t *testing.T) {
	const text = `{"pod": "h-kim-0", "devices": [{"name": "mlx5_0"}], "numaNodes": 2, "env": {"A": "b"}, "wire": null}`
	var value host.Snapshot
	for n := range len(text) {
		if err := DecodeSnapshot(strings.NewReader(text[:n]), &value); !errors.Is(err, ErrCutShort) {
			t.Errorf("%q: %v", text[:n], err)
		}
	}
	if err := DecodeSnapshot(strings.NewReader(text), &value); err != nil || value.Pod.Value != "h-kim-0" ||
		len(value.Devices) != 1 || value.NUMANodes.Value != 2 || value.Env["A"] != "b" || !value.Wire.IsZero() {
		t.Errorf("%v, %v", value, err)
	}
	for _, other := range []string{"motd of the image\n", `{"pod": h-kim-0}`} {
		if err := DecodeSnapshot(strings.NewReader(other), &value); err == nil || errors.Is(err, ErrCutShort) {
			t.Errorf("%q: %v", other, err)
		}
	}
	broken := io.MultiReader(strings.NewReader(text[:9]), resetting{})
	if err := DecodeSnapshot(broken, &value); !errors.Is(err, errReset) {
		t.Errorf("broken stream: %v", err)
	}
}

var errReset = errors.New("connection reset by peer")

type resetting struct{}

func (resetting) Read([]byte) (int, error) { return 0, errReset }

func TestFramed(t *testing.T) {
	for script, want := range map[string]struct {
		text string
		code int
	}{
		"\necho a\necho b\n":             {"a\nb\n", 0},
		"printf a":                       {"a", 0},
		"true":                           {"", 0},
		"echo a; exit 0; echo b":         {"a\n", 0},
		"exec echo \"$1\"":               {"argument\n", 0},
		"set -- other; echo \"$1\"":      {"other\n", 0},
		"echo a; exit 3":                 {"a\n", 3},
		"echo a # with a comment":        {"a\n", 0},
		"for i in 1 2; do echo $i; done": {"1\n2\n", 0},
	} {
		cmd := exec.Command("sh", "-c", Framed(script), "railhead", "argument")
		output, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != want.code {
			t.Errorf("%q: exit code %d, want %d", script, code, want.code)
		}
		text, err := Unframed(string(output))
		if text != want.text || (err == nil) != (want.code == 0) || err != nil && !errors.Is(err, ErrCutShort) {
			t.Errorf("%q: %q, %v", script, text, err)
		}
		if want.code != 0 {
			continue
		}
		for n := range len(output) {
			if _, err := Unframed(string(output[:n])); !errors.Is(err, ErrCutShort) {
				t.Errorf("%q cut after %d bytes: %v", script, n, err)
			}
		}
	}
}
