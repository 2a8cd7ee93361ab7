package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/debian"
)

// tree makes a tree of files by their content; "-> x" makes a link to x.
func tree(t *testing.T, content map[string]string) debian.Tree {
	t.Helper()
	tree := debian.Tree{Dir: t.TempDir()}
	for name, text := range content {
		path := tree.Path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "-> ")
		var err error
		if link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestPick(t *testing.T) {
	from := tree(t, map[string]string{
		"usr/bin/kmod": "kmod", "usr/sbin/depmod": "-> ../bin/kmod", "usr/sbin/modprobe": "-> /usr/bin/kmod",
		"usr/sbin/unwanted": "no", "usr/share/rdma/a/b": "deep", "usr/share/rdma/c": "flat",
		"usr/bin/dangling": "-> nothing",
	})
	f := files{}
	if err := f.pick(from, append(programs("depmod", "modpr*"), "usr/share/rdma")...); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"usr", "usr/bin", "usr/bin/kmod", "usr/sbin", "usr/sbin/depmod", "usr/sbin/modprobe",
		"usr/share", "usr/share/rdma", "usr/share/rdma/a", "usr/share/rdma/a/b", "usr/share/rdma/c",
	}
	if diff := cmp.Diff(want, f.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f.entry("usr/sbin/depmod"); got.target != "../bin/kmod" || got.mode.Type() != fs.ModeSymlink {
		t.Errorf("got %+v for a link", got)
	}
	if err := f.pick(from, "usr/bin/nosuch"); err == nil || !strings.Contains(err.Error(), "no usr/bin/nosuch") {
		t.Errorf("missing program: got %v", err)
	}
	if err := f.pick(from, "usr/bin/dangl*"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("link to nothing: got %v", err)
	}
}

func TestLibraries(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Skipf("no program to look into: %v", err)
	}
	needs, err := needed("/bin/sh")
	if err != nil || !slices.Contains(needs, "libc.so.6") {
		t.Skipf("/bin/sh is no dynamic program: %q, %v", needs, err)
	}
	content := map[string]string{
		"usr/bin/sh": string(program), "usr/lib64/ld-linux-x86-64.so.2": "loader",
		library + "libgcc_s.so.1": "", library + "libother.so": "no",
	}
	f := files{}
	from := tree(t, content)
	if err := errors.Join(f.pick(from, "usr/bin/sh"), f.libraries(from)); err == nil ||
		!strings.Contains(err.Error(), "library of usr/bin/sh") {
		t.Errorf("without its libraries: got %v", err)
	}
	for _, n := range needs {
		content[library+n] = "-> " + n + ".1"
		content[library+n+".1"] = "library"
	}
	f, from = files{}, tree(t, content)
	if err := errors.Join(f.pick(from, "usr/bin/sh"), f.libraries(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		library + "libc.so.6",
		library + "libc.so.6.1",
		library + "libgcc_s.so.1",
		"usr/lib64/ld-linux-x86-64.so.2",
	} {
		if !f.has(name) {
			t.Errorf("no %s among %q", name, f.names())
		}
	}
	if f.has(library + "libother.so") {
		t.Error("a library is there that nothing needs")
	}
}

func TestBusybox(t *testing.T) {
	f := files{"usr/bin/busybox": {}, "usr/sbin/ip": {}, "usr/bin/ping": {}}
	f.busybox([]string{"busybox", "ip", "ping", "sh"})
	if diff := cmp.Diff([]string{
		"usr",
		"usr/bin",
		"usr/bin/busybox",
		"usr/bin/ping",
		"usr/bin/sh",
		"usr/sbin",
		"usr/sbin/ip",
	}, f.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := f["usr/bin/sh"].target; got != "busybox" {
		t.Errorf("sh leads to %q", got)
	}
}

func TestModules(t *testing.T) {
	made, shipped := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(made, "modules.dep"): "kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz " +
			"kernel/fs/netfs/netfs.ko.xz\n" +
			"kernel/net/9p/9pnet.ko.xz: " +
			"kernel/fs/netfs/netfs.ko.xz\nkernel/fs/netfs/netfs.ko.xz:\nkernel/x/crc32-pclmul.ko.xz:\n",
		filepath.Join(shipped, "modules.builtin"): "kernel/drivers/virtio/virtio-pci.ko\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known, err := readModules(made, shipped)
	if err != nil {
		t.Fatal(err)
	}
	got, err := known.closure([]string{"9p", "virtio_pci", "crc32_pclmul"})
	want := []string{
		"kernel/fs/9p/9p.ko.xz",
		"kernel/fs/netfs/netfs.ko.xz",
		"kernel/net/9p/9pnet.ko.xz",
		"kernel/x/crc32-pclmul.ko.xz",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := known.closure([]string{"nosuch"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown module: got %v", err)
	}
}

func TestKernelRelease(t *testing.T) {
	one := tree(t, map[string]string{"boot/vmlinuz-6.12.1-amd64": "", "boot/config-6.12.1-amd64": ""})
	if got, err := kernelRelease(one); err != nil || got != "6.12.1-amd64" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, content := range map[string]map[string]string{
		"none": {}, "two": {"boot/vmlinuz-6.12.1-amd64": "", "boot/vmlinuz-6.12.2-amd64": ""},
	} {
		if got, err := kernelRelease(tree(t, content)); err == nil {
			t.Errorf("%s: got %q and no error", name, got)
		}
	}
}

func TestNamedQEMU(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"new":  {`echo 'name "igb", bus PCI'`, ""},
		"old":  {`echo 'name "e1000e", bus PCI'`, "knows no card igb"},
		"none": {`echo cannot run >&2; exit 1`, "cannot run"},
	} {
		program := tree(t, map[string]string{"qemu": "#!/bin/sh\n" + c.script + "\n"}).Path("qemu")
		t.Setenv(QEMUVariable, program)
		got, err := qemu(t.Context(), func(string) {})
		switch {
		case c.want == "" && (err != nil || !slices.Equal(got.argv, []string{program})):
			t.Errorf("%s: got %q, %v", name, got.argv, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
