package debian

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loaded is a tree whose loader says what it is to load.
func loaded(t *testing.T) Tree {
	t.Helper()
	tree := Tree{Dir: filepath.Join(t.TempDir(), "it's a tree")}
	put(t, tree.Path(loader), "#!/bin/sh\nprintf '<%s>' \"$@\"\n")
	if err := os.Chmod(tree.Path(loader), 0o755); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCommand(t *testing.T) {
	tree := loaded(t)
	out, err := tree.Command(t.Context(), "usr/sbin/depmod", "-b", "a folder").Output()
	want := "<--argv0><depmod><--library-path><" + tree.Path(libraries) + "><" + tree.Path("usr/sbin/depmod") + "><-b><a folder>"
	if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestScript(t *testing.T) {
	tree := loaded(t)
	script := filepath.Join(t.TempDir(), "cc1")
	for argv0, want := range map[string]string{"": script, "/the driver": "/the driver"} {
		put(t, script, tree.Script(argv0, "usr/bin/cc1", "-Bits"))
		if err := os.Chmod(script, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(script, "a b", "*").Output()
		want := "<--argv0><" + want + "><--library-path><" + tree.Path(libraries) + "><" + tree.Path("usr/bin/cc1") + "><-Bits><a b><*>"
		if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestRun(t *testing.T) {
	err := Run(t.Context(), exec.Command("/bin/sh", "-c", "echo first; echo the reason >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3\nfirst\nthe reason") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, exec.CommandContext(ctx, "/bin/sh", "-c", "exec cat")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestVersion(t *testing.T) {
	tree := Tree{
		Versions: []string{
			"qemu-system-common_1%3a9_amd64",
			"qemu-system-x86_1%3a10.0.13+ds-0+deb13u1_amd64",
			"runc_1.1.15+ds1-2+b4_amd64",
			"busybox_1_all",
		},
	}
	for name, want := range map[string]string{
		"qemu-system-x86": "10.0.13",
		"runc":            "1.1.15",
		"busybox":         "1",
		"qemu":            "",
		"nosuch":          "",
	} {
		if got := tree.Version(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
