package rxe

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/railhead/railhead/lab/machines/debian"
)

// prefix starts the names of Debian's compiler and binutils, as the kernel's makefiles call them.
const prefix = "x86_64-linux-gnu-"

// compiler makes the tools that build a module. All of them are Debian's, and the host's loader may be too old for
// them: so whatever starts one is given a script that starts it with its own.
//
//	tools    compiler and binutils, to be first in PATH
//	headers  the folder of linux-headers, whose scripts and tools have such scripts in place of programs
func (b build) compiler() error {
	tools := filepath.Join(b.folder, "tools")
	cc1, gcc, err := b.findGCC()
	if err != nil {
		return err
	}
	scripts := map[string]string{
		// gcc looks for its programs in the folder of -B first, and for the rest relative to its own path.
		filepath.Base(gcc): b.kernel.Script(b.kernel.Path(gcc), gcc, "-B"+tools+"/"),
		"cc1":              b.kernel.Script("", cc1),
		"as":               b.kernel.Script("", "usr/bin/"+prefix+"as"),
		"make":             b.kernel.Script("", "usr/bin/make"),
	}
	for _, t := range []string{"ar", "ld", "nm", "objcopy", "objdump", "readelf", "strip"} {
		scripts[prefix+t] = b.kernel.Script("", "usr/bin/"+prefix+t)
	}
	for name, text := range scripts {
		if err := write(filepath.Join(tools, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return b.headers()
}

// findGCC returns the files of the compiler proper and of the driver before it, of which Debian's names bear the
// version.
func (b build) findGCC() (cc1, gcc string, err error) {
	files := os.DirFS(b.kernel.Dir)
	found, err := fs.Glob(files, "usr/libexec/gcc/x86_64-linux-gnu/*/cc1")
	if err != nil {
		return "", "", err
	}
	if len(found) != 1 {
		return "", "", fmt.Errorf("one C compiler is wanted in %s, found %q: %w", b.kernel.Dir, found, fs.ErrNotExist)
	}
	return found[0], "usr/bin/" + prefix + "gcc-" + filepath.Base(filepath.Dir(found[0])), nil
}

// headers makes the folder of linux-headers anew.
func (b build) headers() error {
	from, to := "usr/src/linux-headers-"+b.release, filepath.Join(b.folder, "headers")
	entries, err := os.ReadDir(b.kernel.Path(from))
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(from, e.Name())
		if e.Type()&fs.ModeSymlink == 0 { // scripts and tools are links into linux-kbuild
			err = os.Symlink(b.kernel.Path(name), filepath.Join(to, e.Name()))
		} else {
			err = copyScripted(b.kernel, name, filepath.Join(to, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyScripted copies a folder of the tree with a script in place of each program.
func copyScripted(tree debian.Tree, from, to string) error {
	dir, err := filepath.EvalSymlinks(tree.Path(from))
	if err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if info.Mode()&0o100 != 0 && bytes.HasPrefix(content, []byte("\x7fELF")) {
			content = []byte(tree.Script("", filepath.Join(from, name)))
		}
		return write(filepath.Join(to, name), content, info.Mode().Perm())
	})
}

// compile builds the module next to its source, without debug information.
func (b build) compile(ctx context.Context) error {
	common := strings.TrimSuffix(b.release, "-amd64") + "-common" // shared by all flavours of a kernel
	at, tools := filepath.Join(b.folder, sources), filepath.Join(b.folder, "tools")
	for _, argv := range [][]string{
		{
			"make", "-C", filepath.Join(b.folder, "headers"), "-f",
			b.kernel.Path("usr/src/linux-headers-" + common + "/Makefile"),
			fmt.Sprintf("-j%d", runtime.NumCPU()), "M=" + at, "CONFIG_RDMA_RXE=m",
			"CONFIG_DEBUG_INFO_BTF_MODULES=", // the kernel's own BTF is not among the packages
			"KCFLAGS=-ffile-prefix-map=" + b.folder + "/=", "modules",
		},
		{prefix + "strip", "--strip-debug", filepath.Join(at, "rdma_rxe.ko")},
	} {
		cmd := exec.CommandContext(ctx, filepath.Join(tools, argv[0]), argv[1:]...)
		// Nothing else of the environment: a make that runs the lab would take this one for its own.
		cmd.Env = []string{"PATH=" + tools + ":/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TMPDIR=" + os.TempDir()}
		if err := debian.Run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}
