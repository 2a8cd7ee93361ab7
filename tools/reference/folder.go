package reference

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the pages in a folder.
func Write(folder string, pages map[string]string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Stale returns an error for every page in a folder that differs, is missing or belongs to no command.
func Stale(folder string, pages map[string]string) error {
	var all []error
	for name, page := range pages {
		text, err := os.ReadFile(filepath.Join(folder, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = append(all, fmt.Errorf("%s/%s is missing", folder, name))
		case err != nil:
			all = append(all, err)
		case string(text) != page:
			all = append(all, fmt.Errorf("%s/%s differs from the help of the command", folder, name))
		}
	}
	files, err := os.ReadDir(folder)
	for _, f := range files {
		if _, ok := pages[f.Name()]; !ok {
			all = append(all, fmt.Errorf("%s/%s belongs to no command", folder, f.Name()))
		}
	}
	return errors.Join(append(all, err)...)
}
