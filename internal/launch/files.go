package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// file is a local file to copy into every pod.
type file struct {
	path, name string
	mode       string // of the copy
	size       int64
	sha256     string
}

// OpenFiles checks the files to copy and hashes them.
func OpenFiles(paths []string) ([]file, error) {
	var files []file
	from := map[string]string{}
	for _, path := range paths {
		f, err := statFile(path)
		if err != nil {
			return nil, fmt.Errorf("--copy: %w", err)
		}
		if other, twice := from[f.name]; twice {
			return nil, fmt.Errorf("--copy: %s and %s would have the same name in the pods: %s", other, path, f.name)
		}
		from[f.name] = path
		files = append(files, f)
	}
	return files, nil
}

func statFile(path string) (file, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return file{}, err
	case info.IsDir():
		return file{}, fmt.Errorf("%s is a directory: copy its files one by one with --copy, "+
			"or put them into the image or a volume", path)
	case !info.Mode().IsRegular():
		return file{}, fmt.Errorf("%s is not a regular file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return file{}, err
	}
	defer in.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, in)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", path, err)
	}
	f := file{
		path:   path,
		name:   filepath.Base(path),
		mode:   "644",
		size:   size,
		sha256: hex.EncodeToString(sum.Sum(nil)),
	}
	if info.Mode().Perm()&0o111 != 0 {
		f.mode = "755"
	}
	return f, nil
}

// copy copies a file into a rank's directory and compares the copy.
func (l *Session) copy(ctx context.Context, r *rank, f file) error {
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	name := f.name
	if strings.HasPrefix(name, "-") {
		name = "./" + name // not an option of the commands in the script
	}
	text, err := l.runScript(ctx, r, in, l.script(r, copyScript, r.dir, name, f.mode))
	if err != nil {
		return err
	}
	return f.arrived(text)
}

// arrived compares the size in the answer of copyScript, and the hash if the image has sha256sum.
func (f file) arrived(text string) error {
	answer := strings.Fields(text)
	if len(answer) == 0 {
		return errors.New("the pod did not report the size of the copy")
	}
	if answer[0] != strconv.FormatInt(f.size, 10) {
		return fmt.Errorf("%s of %d bytes arrived", answer[0], f.size)
	}
	if len(answer) > 1 && answer[1] != f.sha256 {
		return fmt.Errorf("the copy differs from the file: its SHA-256 is %s, not %s", answer[1], f.sha256)
	}
	return nil
}
