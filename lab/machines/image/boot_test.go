//go:build vm

package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/u-root/u-root/pkg/cpio"

	"github.com/railhead/railhead/lab/controlplane/assets"
)

// TestBoot boots a machine of each IOMMU and asks the kernel in it. The first run downloads and builds for minutes.
func TestBoot(t *testing.T) {
	parts, err := Build(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	initrd := withInit(t, parts)
	for name, c := range map[string]struct {
		device  []string
		group   string // type of the VF's IOMMU group
		kernels []string
	}{
		"no IOMMU": {group: "open /sys/class/infiniband/mlx5_0/device/iommu_group/type: no such file or directory"},
		"Intel":    {device: []string{"-device", "intel-iommu,intremap=on"}, group: "DMA-FQ"},
		"AMD": {
			device:  []string{"-device", "amd-iommu,intremap=off"},
			group:   "identity",
			kernels: []string{"iommu=pt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := boot(t, parts, initrd, c.device, c.kernels)
			want := map[string]string{
				"modules": "", "programs": "", "insmod": "", "vf netdevs": "2", "rdma link add": "",
				"device is the VF": "true", "iommu": c.group, "ibv_devices": "mlx5_0",
				"netns": "", "move": "", "survives the move": "true", "release": parts.KernelRelease,
				"crun": parts.Versions["crun"], "nft": "", "netem": "",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// withInit is the root file system with the test's own init behind it.
func withInit(t *testing.T, parts Parts) string {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "init")
	if err := assets.BuildOwn(t.Context(), "./machines/image/testdata/init", program); err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(parts.Base)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.NewBuffer(base)
	w := cpio.Newc.Writer(all)
	if err := cpio.WriteRecords(w, []cpio.Record{cpio.StaticFile("init", string(content), 0o755)}); err != nil {
		t.Fatal(err)
	}
	if err := cpio.WriteTrailer(w); err != nil {
		t.Fatal(err)
	}
	initrd := filepath.Join(folder, "initrd")
	if err := os.WriteFile(initrd, all.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return initrd
}

// boot runs a machine to its end and returns what its init saw.
func boot(t *testing.T, parts Parts, initrd string, devices, arguments []string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // it hangs
	defer cancel()
	console := filepath.Join(t.TempDir(), "console")
	args := slices.Concat(parts.QEMU[1:], []string{
		"-M", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-m", "1024", "-nodefaults",
		"-no-user-config",
		"-display", "none", "-no-reboot", "-serial", "file:" + console, "-kernel", parts.Kernel, "-initrd", initrd,
		"-append", strings.Join(append([]string{"console=ttyS0", "panic=-1", "quiet"}, arguments...), " "),
		"-virtfs", "local,path=" + parts.Programs + ",mount_tag=programs,security_model=none,readonly=on,id=programs",
		"-device", "pcie-root-port,id=root0,bus=pcie.0,chassis=1,slot=1", "-netdev", "user,id=net", "-device",
		"igb,bus=root0,netdev=net",
	}, devices)
	cmd := exec.CommandContext(ctx, parts.QEMU[0], args...)
	cmd.Env = append(os.Environ(), parts.QEMUEnv...)
	out, err := cmd.CombinedOutput()
	said, readErr := os.ReadFile(console)
	if err != nil || readErr != nil {
		t.Fatalf("QEMU: %v, %v\n%s\n%s", err, readErr, out, said)
	}
	found := regexp.MustCompile(`(?m)^SEEN (.*)\r?$`).FindSubmatch(said)
	if found == nil {
		t.Fatalf("init did not say what it saw:\n%s", said)
	}
	seen := map[string]string{}
	if err := json.Unmarshal(bytes.TrimSpace(found[1]), &seen); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, found[1]))
	}
	return seen
}
