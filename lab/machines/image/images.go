package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/debian"
	"github.com/railhead/railhead/lab/machines/guest"
)

// PerfImage has perftest and the tools of RDMA, for pods.
const PerfImage = "lab.local/perf:1"

// MPIImage has Open MPI and OpenSSH besides. Its sshd runs without root, as in the images of the mpi-operator, for a
// user who writes an own line into /etc/passwd and whose home is /tmp.
const MPIImage = "lab.local/mpi:1"

// writeImages writes the images to the folder: pause.tar, perf.tar and mpi.tar, archives that docker load and ctr
// images import read.
func writeImages(ctx context.Context, system, mpi debian.Tree, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	program := filepath.Join(folder, "pause")
	defer os.Remove(program)
	if err := assets.BuildOwn(ctx, "./machines/image/pause", program); err != nil {
		return fmt.Errorf("build the program of %s: %w", guest.PauseImage, err)
	}
	pause := files{"pause": {mode: 0o755, path: program}}
	if err := writeImage(filepath.Join(folder, "pause.tar"), guest.PauseImage, pause, "/pause"); err != nil {
		return err
	}
	perf, err := perfFiles(ctx, system)
	if err != nil {
		return fmt.Errorf("choose the files of %s: %w", PerfImage, err)
	}
	if err := writeImage(filepath.Join(folder, "perf.tar"), PerfImage, perf, "/bin/bash"); err != nil {
		return err
	}
	if err := perf.addMPI(mpi); err != nil {
		return fmt.Errorf("choose the files of %s: %w", MPIImage, err)
	}
	return writeImage(filepath.Join(folder, "mpi.tar"), MPIImage, perf, "/bin/bash")
}

// addMPI adds the files that the image of MPI has besides those of perftest.
func (f files) addMPI(mpi debian.Tree) error {
	wanted := append(programs("mpirun.openmpi", "prte", "prted", "prterun", "NPopenmpi", "ucx_perftest", "ssh", "sshd"),
		"etc/openmpi", "usr/share/openmpi", "usr/share/prte", library+"pmix2", "usr/lib/openssh",
		library+"ucx/libuct_ib.so*") // UCX loads it for verbs
	if err := f.pick(mpi, wanted...); err != nil {
		return err
	}
	f["usr/bin/mpirun"] = file{mode: fs.ModeSymlink | 0o777, target: "mpirun.openmpi"}
	f["etc/passwd"] = file{mode: 0o664, text: f["etc/passwd"].text}
	f["etc/ssh/ssh_config"] = file{
		mode: 0o644, text: "Port 2222\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
	}
	f["etc/ssh/sshd_config"] = file{
		mode: 0o644, text: "Port 2222\nStrictModes no\nPidFile none\nHostKey /tmp/.ssh/id_rsa\n",
	}
	return f.libraries(mpi)
}

// perfFiles lists the files of the perftest image.
func perfFiles(ctx context.Context, system debian.Tree) (files, error) {
	f := skeleton()
	for name, file := range f {
		if file.mode&fs.ModeDevice != 0 { // the runtime makes those
			delete(f, name)
		}
	}
	wanted := append(programs("busybox", "bash", "ip", "ping", "prlimit", "iperf3"), rdmaPrograms()...)
	if err := f.pick(system, wanted...); err != nil {
		return nil, err
	}
	if err := f.libraries(system); err != nil {
		return nil, err
	}
	return f, f.applets(ctx, system)
}

// writeImage writes an image of one layer.
func writeImage(path, tag string, all files, entrypoint ...string) error {
	var layer bytes.Buffer
	if err := writeLayer(&layer, all); err != nil {
		return fmt.Errorf("layer of %s: %w", tag, err)
	}
	l, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil },
	)
	if err != nil {
		return fmt.Errorf("layer of %s: %w", tag, err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return fmt.Errorf("image %s: %w", tag, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("image %s: %w", tag, err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "amd64", "linux"
	config.Config = v1.Config{Entrypoint: entrypoint, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("image %s: %w", tag, err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("image %s: %w", tag, err)
	}
	return tarball.WriteToFile(path, ref, image)
}
