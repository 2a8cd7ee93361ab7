package controlplane

import (
	"errors"
	"os"
	"path/filepath"
)

// folders are the names of temporary folders.
const folders = "railhead-lab-*"

// leave removes the temporary folder, or all of it but the logs where they are kept.
func (p *ControlPlane) leave() error {
	if p.lock == nil {
		return nil
	}
	defer p.lock.Close()
	if !p.keep {
		return os.RemoveAll(p.dir)
	}
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if path := filepath.Join(p.dir, e.Name()); path != p.Logs() {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}
