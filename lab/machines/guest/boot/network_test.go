package boot

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		ask  func(times int) (int, error)
		want int
		err  error
	}{
		{"at once", func(int) (int, error) { return 7, nil }, 7, nil},
		{"the third time", func(times int) (int, error) {
			if times < 3 {
				return 0, errNotYet
			}
			return 8, nil
		}, 8, nil},
		{"an error ends it", func(int) (int, error) { return 0, broken }, 0, broken},
		{"never", func(int) (int, error) { return 0, errNotYet }, 0, context.DeadlineExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				times := 0
				got, err := await(ctx, "it", func() (int, error) { times++; return tt.ask(times) })
				if got != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("await = %d, %v; want %d, %v", got, err, tt.want, tt.err)
				}
			})
		})
	}
}

func TestIPNet(t *testing.T) {
	for _, text := range []string{"10.1.1.15/24", "10.244.2.0/24", "fd00::1/64"} {
		if got := ipNet(netip.MustParsePrefix(text)).String(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "net")
	if _, err := only(folder); !errors.Is(err, errNotYet) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := only(folder); !errors.Is(err, errNotYet) {
		t.Errorf("empty folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(folder, "eth0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := only(folder); got != "eth0" || err != nil {
		t.Errorf("only = %q, %v", got, err)
	}
}

func TestBegins(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, tt := range []struct {
		content string
		want    error
	}{{"1: DOWN\n", errNotYet}, {"4: ACTIVE\n", nil}, {"", errNotYet}} {
		if err := os.WriteFile(state, []byte(tt.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := begins(state, "4: ACTIVE"); !errors.Is(err, tt.want) {
			t.Errorf("state %q: %v, want %v", tt.content, err, tt.want)
		}
	}
	if _, err := begins(state+"2", "4"); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
