package machine

import (
	"context"
	"embed"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/lab/assets"
	"github.com/railhead/railhead/lab/debian"
)

//go:embed programs.go images.go base.go select.go archive.go pause/main.go
var programSources embed.FS

// runtimePrograms are the container runtime.
func runtimePrograms() []string {
	return []string{"usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/bin/ctr", "usr/sbin/runc"}
}

// makePrograms returns the folder that machines share: the runtime, the module and the images.
func makePrograms(ctx context.Context, progress func(string), system debian.Tree, module string) (string, error) {
	key, err := key(programSources, system)
	if err != nil {
		return "", err
	}
	return assets.Folder{
		Name: "machine/programs", What: "the machines' container runtime and images", Key: append(key, module), First: 10 * time.Second,
		Make: func(ctx context.Context, folder string) error {
			for _, p := range runtimePrograms() {
				if err := os.Link(system.Path(p), filepath.Join(folder, path.Base(p))); err != nil {
					return err
				}
			}
			if err := copyFile(module, filepath.Join(folder, "modules", filepath.Base(module)), 0o644); err != nil {
				return err
			}
			return writeImages(ctx, system, filepath.Join(folder, "images"))
		},
	}.Path(ctx, progress)
}
