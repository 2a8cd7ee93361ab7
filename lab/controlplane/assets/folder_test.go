package assets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var made atomic.Int32
	folder := func(key ...string) Folder {
		return Folder{Name: "kind", Key: key, What: "things", Make: func(_ context.Context, folder string) error {
			made.Add(1)
			return os.WriteFile(filepath.Join(folder, "thing"), []byte(key[0]), 0o644)
		}}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			path, err := folder("a", "b").Path(t.Context(), func(string) {})
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(filepath.Join(path, "thing")); err != nil || string(text) != "a" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
	if _, err := folder("ab").Path(t.Context(), func(string) {}); err != nil || made.Load() != 2 {
		t.Errorf("another key is the same folder, or %v", err)
	}
}

func TestFolderInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	broken := errors.New("broken")
	for name, make := range map[string]func(context.CancelFunc) error{
		"failed":      func(context.CancelFunc) error { return broken },
		"interrupted": func(cancel context.CancelFunc) error { cancel(); return broken },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := Folder{Name: name, What: "things", Make: func(_ context.Context, folder string) error {
			if err := os.WriteFile(filepath.Join(folder, "thing"), nil, 0o644); err != nil {
				return err
			}
			return make(cancel)
		}}
		_, err := f.Path(ctx, func(string) {})
		if want := context.Cause(ctx); !errors.Is(err, broken) && (want == nil || !errors.Is(err, want)) {
			t.Errorf("%s: got %v", name, err)
		}
		cache, err := Cache()
		if err != nil {
			t.Fatal(err)
		}
		left, err := filepath.Glob(filepath.Join(cache, name, "*", "*"))
		if diff := cmp.Diff([]string(nil), left); err != nil || diff != "" {
			t.Errorf("%s: left behind (-want +got):\n%s%v", name, diff, err)
		}
	}
}
