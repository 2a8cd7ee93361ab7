package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	_ "github.com/k8snetworkplumbingwg/sriov-network-operator/pkg/consts" // pins the SR-IOV operator's CRDs in go.mod
)

// module is this module's path.
const module = "github.com/railhead/railhead/lab"

// Root returns the lab's source folder: the one this file was compiled from, else the first one found upwards from the
// working folder. A program built with -trimpath only knows the second way.
func Root() (string, error) {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if root := filepath.Join(filepath.Dir(file), "..", ".."); isRoot(root) {
			return root, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, root := range []string{at, filepath.Join(at, "lab")} {
			if isRoot(root) {
				return root, nil
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no source of module %s in %s or above it", module, dir)
		}
	}
}

func isRoot(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), "module "+module+"\n")
}

// pinned returns a module's version in the go.mod of the folder.
func pinned(ctx context.Context, folder, path string) (string, error) {
	out, err := runGo(ctx, folder, "list", "-m", "-f", "{{.Version}}", path)
	return strings.TrimSpace(out), err
}

// sources returns the folders of the sources of modules that the go.mod in the folder pins, and downloads them if
// needed.
func sources(ctx context.Context, folder string, paths ...string) (map[string]string, error) {
	out, err := runGo(ctx, folder, append([]string{"mod", "download", "-json"}, paths...)...)
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	d := json.NewDecoder(strings.NewReader(out))
	for {
		var m struct{ Path, Dir, Error string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return dirs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go mod download -json in %s: %w", folder, err)
		}
		if m.Error != "" {
			return nil, fmt.Errorf("download %s: %s", m.Path, m.Error)
		}
		dirs[m.Path] = m.Dir
	}
}
