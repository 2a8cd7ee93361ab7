package fabric

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/image"
)

// onNodes are the programs of a node that are built from Go modules, by where they lie in the machines' share.
func onNodes() map[string]assets.Program {
	return map[string]assets.Program{
		"kubelet": assets.Kubelet, "coredns": assets.CoreDNS,
		"containerd": assets.Containerd, "containerd-shim-runc-v2": assets.ContainerdShim, "ctr": assets.Ctr,
		"cni/multus": assets.Multus, "cni/whereabouts": assets.Whereabouts, "cni/bridge": assets.Bridge,
		"cni/host-local": assets.HostLocal, "cni/loopback": assets.Loopback, "cni/tuning": assets.Tuning,
		// It moves the device that Multus names into the pod and back, as the SR-IOV plugin does; VLANs and the like
		// are left out.
		"cni/sriov": assets.HostDevice,
	}
}

// Build downloads and builds everything that a lab of any options needs.
func Build(ctx context.Context, progress func(line string)) (image.Parts, error) {
	m, _, err := parts(ctx, Options{Rollout: true, DRADriver: true, Progress: progress})
	return m, err
}

// parts returns the parts of machines, and the paths of the nodes' programs from Go modules. It also builds the
// control plane's programs, because the start of the lab has a time limit.
func parts(ctx context.Context, o Options) (image.Parts, map[string]string, error) {
	m, err := image.Build(ctx, o.Progress)
	if err != nil || o.PodsOnly {
		return m, nil, err
	}
	where := onNodes()
	if o.DRADriver {
		where["dranet"] = assets.DRANet
	}
	var wanted []assets.Program
	for _, p := range where {
		wanted = append(wanted, p)
	}
	built, err := assets.Build(ctx, o.Progress, wanted...)
	if err != nil {
		return m, nil, err
	}
	files := map[string]string{}
	for name, p := range where {
		files[name] = built[p]
	}
	return m, files, controlplane.Build(ctx, o.controlPlane())
}

// gather makes one folder of the machines' programs by links, for a share has no links that lead out of it.
func gather(folder, base string, files map[string]string) error {
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(base), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name] = filepath.Join(base, name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list the machines' programs: %w", err)
	}
	for name, file := range files {
		all[name] = file
	}
	for name, file := range all {
		to := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := linkOrCopy(file, to); err != nil {
			return err
		}
	}
	return nil
}

// linkOrCopy makes a file appear elsewhere; another file system has no links to it.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
