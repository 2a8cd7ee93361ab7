package assets

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Old is something in the cache that nothing uses any more.
type Old struct {
	Path  string
	Bytes int64
}

// FindOld returns the folders of the cache that are of another version than this one: neither of a program, nor among
// those in which the used files and folders are; and the leftovers of killed processes.
func FindOld(used []string) ([]Old, error) {
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	for _, forTests := range []bool{false, true} {
		b := builder{modules: filepath.Join(root, "modules"), cache: cache, recipes: recipes(forTests)}
		for _, r := range b.recipes {
			folder, err := b.folder(r.module)
			if err != nil {
				return nil, err
			}
			used = append(used, folder)
		}
	}
	return findOld(cache, used)
}

// Folders of the cache have the hash of their key for a name; one that is not whole has .part behind it.
var hashed = regexp.MustCompile(`^[0-9a-f]{12}(\.part)?$`)

func findOld(cache string, used []string) ([]Old, error) {
	var old []Old
	running := filepath.Join(cache, "run") + "/" // labs, which may be named as they like
	for _, pattern := range []string{"*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if !hashed.MatchString(filepath.Base(path)) || !isFolder(path) || isUsed(path, used) ||
				strings.HasPrefix(path, running) {
				continue
			}
			size, err := sizeOf(path)
			if err != nil {
				return nil, err
			}
			old = append(old, Old{path, size})
		}
	}
	return old, nil
}

func isUsed(folder string, used []string) bool {
	for _, u := range used {
		if u == folder || strings.HasPrefix(u, folder+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// sizeOf returns the bytes of a folder's files, including files that have other links.
func sizeOf(folder string) (sum int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// Remove removes old folders, and calls removed for each. No other process may use the cache meanwhile: where a lab
// runs, or something is built, nothing is removed.
func Remove(old []Old, removed func(Old)) (err error) {
	giveBack, err := useAlone()
	if err != nil {
		return err
	}
	for _, o := range old {
		if err = remove(o.Path); err != nil {
			break
		}
		removed(o)
	}
	if back := giveBack(); err == nil {
		err = back
	}
	return err
}

// remove removes a folder and its lock. Half of it must not look like a whole one, whenever this is interrupted.
func remove(folder string) error {
	part := strings.TrimSuffix(folder, ".part") + ".part"
	if part != folder {
		if err := os.RemoveAll(part); err != nil {
			return err
		}
		if err := os.Rename(folder, part); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("remove %s: %w", part, err)
	}
	return os.RemoveAll(strings.TrimSuffix(part, ".part") + ".lock")
}
