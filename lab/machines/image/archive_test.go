package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
)

// some are files of every kind that archives know.
func some(t *testing.T) files {
	t.Helper()
	return files{
		"bin/sh":      {mode: 0o755, path: tree(t, map[string]string{"sh": "a shell"}).Path("sh")},
		"etc/hosts":   {mode: 0o644, text: "127.0.0.1 localhost\n"},
		"lib":         {mode: fs.ModeSymlink | 0o777, target: "usr/lib"},
		"dev/console": {mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, device: device{5, 1}},
		"tmp":         {mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

func TestInitramfs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base")
	if err := writeInitramfs(path, some(t)); err != nil {
		t.Fatal(err)
	}
	compressed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(compressed)%4 != 0 {
		t.Errorf("%d bytes: the next archive is not found", len(compressed))
	}
	z, err := zstd.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil && !errors.Is(err, zstd.ErrMagicMismatch) &&
		!errors.Is(err, io.ErrUnexpectedEOF) { // the filling
		t.Fatal(err)
	}
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(plain.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range records {
		content, err := io.ReadAll(io.NewSectionReader(r, 0, int64(r.FileSize)))
		if err != nil {
			t.Fatal(err)
		}
		got[r.Name] = fmt.Sprintf("%o %d:%d %d:%d %s", r.Mode, r.UID, r.GID, r.Rmajor, r.Rminor, content)
	}
	want := map[string]string{
		"bin": "40755 0:0 0:0 ", "bin/sh": "100755 0:0 0:0 a shell", "etc": "40755 0:0 0:0 ",
		"etc/hosts": "100644 0:0 0:0 127.0.0.1 localhost\n", "lib": "120777 0:0 0:0 usr/lib",
		"dev": "40755 0:0 0:0 ", "dev/console": "20600 0:0 5:1 ", "tmp": "41777 0:0 0:0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImage(t *testing.T) {
	all := some(t)
	delete(all, "dev/console")
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := writeImage(path, PerfImage, all, "/bin/sh"); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(PerfImage)
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/bin/sh"}, config.Config.Entrypoint); diff != "" || config.Architecture != "amd64" ||
		config.OS != "linux" {
		t.Errorf("%s/%s, entrypoint (-want +got):\n%s", config.OS, config.Architecture, diff)
	}
	content := mutate.Extract(image)
	defer content.Close()
	got := map[string]string{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = fmt.Sprintf("%o %d:%d %s%s", h.Mode, h.Uid, h.Gid, h.Linkname, text)
	}
	want := map[string]string{
		"bin": "755 0:0 ", "bin/sh": "755 0:0 a shell", "etc": "755 0:0 ", "etc/hosts": "644 0:0 127.0.0.1 localhost\n",
		"lib": "777 0:0 usr/lib", "tmp": "1777 0:0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
