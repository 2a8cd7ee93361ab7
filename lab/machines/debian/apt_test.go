package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArchives(t *testing.T) {
	got, err := parseArchives(`Reading package lists...
The following NEW packages will be installed:
  libacl1
'http://deb.debian.org/debian/pool/main/a/acl/libacl1_2.3.2-2%2bb1_amd64.deb' libacl1_2.3.2-2+b1_amd64.deb 32860 SHA256:00
'http://deb.debian.org/debian/pool/main/q/qemu/qemu.deb' qemu-system-x86_1%3a10.0.13+ds-0+deb13u1_amd64.deb 10278596 SHA256:00
`)
	want := []archive{
		{file: "libacl1_2.3.2-2+b1_amd64.deb", name: "libacl1", version: "2.3.2-2+b1", size: 32860},
		{
			file: "qemu-system-x86_1%3a10.0.13+ds-0+deb13u1_amd64.deb", name: "qemu-system-x86",
			version: "1:10.0.13+ds-0+deb13u1", size: 10278596,
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(archive{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"nothing": "Reading package lists...\n", "no size": "'http://x/a_1_all.deb' a_1_all.deb\n",
		"size no number": "'http://x/a_1_all.deb' a_1_all.deb big SHA256:00\n",
		"odd file":       "'http://x/a.deb' a.deb 1 SHA256:00\n",
	} {
		if got, err := parseArchives(text); err == nil {
			t.Errorf("%s: got %v and no error", name, got)
		}
	}
}

func TestMirror(t *testing.T) {
	const own = "http://deb.debian.org/debian"
	for _, c := range []struct{ name, targets, want string }{
		{"none", "", own},
		{
			"Debian",
			"http://ftp.example.org/debian-security/ main\nhttp://ftp.example.org/debian/ " +
				"contrib\nhttp://ftp.example.org/debian/ main\n",
			"http://ftp.example.org/debian/",
		},
		{"Ubuntu", "http://archive.example.org/ubuntu/ main\n", own},
	} {
		if got := mirror(c.targets); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// repository makes an apt of a mirror on disk with four packages: lean needs lib and installer, other needs nothing.
func repository(t *testing.T) apt {
	t.Helper()
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s here", program)
		}
	}
	mirror := t.TempDir()
	index := filepath.Join(mirror, "dists", suite, "main", "binary-amd64", "Packages")
	put(t, index, pack(t, mirror, "lean", "Depends: lib, installer\n")+pack(t, mirror, "lib", "")+
		pack(t, mirror, "installer", "")+pack(t, mirror, "other", ""))
	put(t, filepath.Join(mirror, "dists", suite, "Release"), release(t, index, "main/binary-amd64/Packages"))
	a, err := newApt(t.TempDir(), source{mirror: "file:" + mirror, trust: "trusted=yes"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// pack makes a package whose one file has its name, and returns its entry in the list.
func pack(t *testing.T, mirror, name, more string) string {
	t.Helper()
	folder := t.TempDir()
	control := fmt.Sprintf("Package: %s\nVersion: 1:2.0-1\nArchitecture: amd64\nMaintainer: nobody "+
		"<nobody@example.org>\nDescription: none\n%s", name, more)
	put(t, filepath.Join(folder, "DEBIAN", "control"), control)
	put(t, filepath.Join(folder, "usr", "share", name), name)
	file := name + ".deb"
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", folder,
		filepath.Join(mirror, file)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(mirror, file))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%sFilename: %s\nSize: %d\nSHA256: %x\n\n", control, file, len(content), sha256.Sum256(content))
}

func release(t *testing.T, index, name string) string {
	t.Helper()
	content, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("Suite: %s\nCodename: %s\nComponents: main\nArchitectures: amd64\nSHA256:\n %x %d %s\n",
		suite, suite, sha256.Sum256(content), len(content), name)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFetch(t *testing.T) {
	a := repository(t)
	var said []string
	files, err := a.fetch(t.Context(), Set{What: "tests", Packages: []string{"lean"}, Without: []string{"install*"}},
		func(line string) { said = append(said, line) })
	if err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	if err := Unpack(t.Context(), files, into, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(into, "usr", "share"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff([]string{"lean", "lib"}, got); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"downloading 2 packages for tests, 1 MB"}, said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if err := a.clean(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(files[0]); err == nil {
		t.Errorf("%s is still there", files[0])
	}
}

func TestFetchErrors(t *testing.T) {
	a := repository(t)
	quiet := func(string) {}
	if _, err := a.fetch(t.Context(), Set{What: "tests", Packages: []string{"nosuch"}}, quiet); err == nil ||
		!strings.Contains(err.Error(), "Unable to locate package nosuch") {
		t.Errorf("unknown package: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.fetch(ctx, Set{
		What:     "tests",
		Packages: []string{"lean"},
	}, quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	put(t, a.path("sources.list"), source{mirror: "file:/nosuch", trust: "trusted=yes"}.line())
	if _, err := a.fetch(t.Context(), Set{What: "tests", Packages: []string{"lean"}}, quiet); err == nil ||
		!strings.Contains(err.Error(), "is there a network") {
		t.Errorf("no mirror: got %v", err)
	}
}
