package assets

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cacheOf makes a cache of files, and points to it.
func cacheOf(t *testing.T, files ...string) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache, err := Cache()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(cache, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cache, name), []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

func TestFindOld(t *testing.T) {
	cache := cacheOf(t,
		"kube/0123456789ab/etcd", "kube/ba9876543210/etcd", "kube/ba9876543210/kube-apiserver", "gone/aaaaaaaaaaaa/program",
		"machine/base/111111111111/base.cpio.zst", "machine/base/222222222222/base.cpio.zst", "machine/base/222222222222.lock",
		"machine/rxe/333333333333.part/build/x.c", "debian/qemu/444444444444/files/usr/bin/qemu", "debian/apt/lists/partial", "run/default/lock",
		"run/abcdefabcdef/lock", "use.lock", "kvm.json",
	)
	old, err := findOld(cache, []string{
		filepath.Join(cache, "kube/0123456789ab"), filepath.Join(cache, "machine/base/111111111111/base.cpio.zst"),
		filepath.Join(cache, "debian/qemu/444444444444/files"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range old {
		got = append(got, strings.TrimPrefix(o.Path, cache+"/"))
		if want := int64(5); o.Bytes != want && !strings.Contains(o.Path, "ba9876543210") {
			t.Errorf("%s has %d bytes, want %d", o.Path, o.Bytes, want)
		}
	}
	want := []string{
		"gone/aaaaaaaaaaaa",
		"kube/ba9876543210",
		"machine/base/222222222222",
		"machine/rxe/333333333333.part",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	cache := cacheOf(t, "kube/0123456789ab/etcd", "kube/ba9876543210/etcd", "kube/ba9876543210.lock",
		"machine/rxe/333333333333.part/x")
	if err := Use(t.Context(), func(string) {}); err != nil {
		t.Fatal(err) // this process's own use is no hindrance
	}
	var told []string
	old := []Old{
		{Path: filepath.Join(cache, "kube/ba9876543210")},
		{Path: filepath.Join(cache, "machine/rxe/333333333333.part")},
	}
	if err := Remove(old, func(o Old) { told = append(told, filepath.Base(o.Path)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ba9876543210", "333333333333.part"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*/*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		filepath.Join(cache, "kube/0123456789ab"),
		filepath.Join(cache, "machine/rxe"),
	}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestMain lets the test program stand for another process that uses the cache.
func TestMain(m *testing.M) {
	if os.Getenv("USE_THE_CACHE") == "" {
		os.Exit(m.Run())
	}
	if err := Use(context.Background(), func(line string) { os.Stdout.WriteString(line + "\n") }); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("used\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is told to end
}

// user starts another process that uses the cache; what it says, and how to end it.
func user(t *testing.T) (says *bufio.Scanner, end func()) {
	t.Helper()
	other := exec.CommandContext(t.Context(), "/proc/self/exe")
	other.Env = append(os.Environ(), "USE_THE_CACHE=1")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	return bufio.NewScanner(out), func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func wantLine(t *testing.T, says *bufio.Scanner, want string) {
	t.Helper()
	if !says.Scan() || says.Text() != want {
		t.Fatalf("it says %q, %v; want %q", says.Text(), says.Err(), want)
	}
}

func TestRemoveInUse(t *testing.T) {
	cache := cacheOf(t, "kube/ba9876543210/etcd")
	says, end := user(t)
	wantLine(t, says, "used")
	old := []Old{{Path: filepath.Join(cache, "kube/ba9876543210")}}
	if err := Remove(old, func(o Old) { t.Errorf("removed %s", o.Path) }); err == nil ||
		!strings.Contains(err.Error(), "the cache is in use by process") {
		t.Errorf("while another process uses it: %v", err)
	}
	if !isFolder(old[0].Path) {
		t.Error("what is in use has gone")
	}
	end()
	if err := Remove(old, func(Old) {}); err != nil || isFolder(old[0].Path) {
		t.Errorf("when it has ended: %v", err)
	}
}

func TestUseWaits(t *testing.T) {
	cacheOf(t)
	giveBack, err := useAlone()
	if err != nil {
		t.Fatal(err)
	}
	says, end := user(t)
	defer end()
	wantLine(t, says, "waiting for another process that removes old folders of the cache")
	if err := giveBack(); err != nil {
		t.Fatal(err)
	}
	wantLine(t, says, "used")
}
