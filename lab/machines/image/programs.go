package image

import (
	"context"
	"embed"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/debian"
)

//go:embed programs.go images.go base.go select.go archive.go pause/main.go
var programSources embed.FS

// starter starts containers: crun as on OpenShift since 4.18. An emulated processor needs a third of the time for it
// that runc takes, which copies itself into memory for every container and every exec.
const starter = "usr/bin/crun"

// makePrograms returns the folder that machines share: the container runtime, the module and the images.
func makePrograms(ctx context.Context, progress func(string), system, mpi debian.Tree, module string) (string, error) {
	key, err := key(programSources, system, mpi)
	if err != nil {
		return "", err
	}
	return assets.Folder{
		Name:  "machine/programs",
		What:  "what machines share, and images",
		Key:   append(key, module),
		First: 10 * time.Second,
		Make: func(ctx context.Context, folder string) error {
			if err := os.Link(system.Path(starter), filepath.Join(folder, path.Base(starter))); err != nil {
				return err
			}
			if err := copyFile(module, filepath.Join(folder, "modules", filepath.Base(module)), 0o644); err != nil {
				return err
			}
			return writeImages(ctx, system, mpi, filepath.Join(folder, "images"))
		},
	}.Path(ctx, progress)
}
