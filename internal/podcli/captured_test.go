package podcli

import (
	"archive/tar"
	"compress/bzip2"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

// captured are real machines' trees, which lie next to a developer's checkout, not in the project; what detect says of
// each was compared by eye with what ibv_devinfo, rdma and lspci said on it.
var captured = map[string]struct {
	archive string
	under   string // where the archive's only directory belongs in the machine
	rails   []string
	away    []string
	exit    exit.Code
	said    []string // what doctor says of it as a job's machine, and as a node
}{
	"two NICs with igb VFs under Soft-RoCE, AMD IOMMU": {
		archive: "lab/captures/sysfs-cap-amd-lab.tgz",
		rails:   []string{"mlx5_0:1 vf0 10.0.0.1 GID 1", "mlx5_1:1 vf1 10.0.1.1 GID 1", "mlx5_2:1 vf2 10.0.2.1 GID 1"},
		away:    []string{"mlx5_3:1 port 1 DOWN (Disabled)", "mlx5_pf physical function; virtual functions are used, and no source shows what was allocated"},
		exit:    exit.Unknown,
		said: []string{
			"host: unknown uverbs-openable mlx5_pf:1", "host: unknown gid-usable mlx5_pf:1", "host: unknown memlock-limit pod",
			"host: unknown socket-interface pod", "node: warn iommu-passthrough node",
		},
	},
	"igb VFs under Soft-RoCE, Intel IOMMU": {
		archive: "lab/captures/sysfs-cap-intel-stock.tgz",
		rails:   []string{"rxe0:1 vf0 10.0.0.1 GID 1", "rxe1:1 vf1 10.0.1.1 GID 1"},
		away:    []string{"rxe2 physical function; virtual functions are used, and no source shows what was allocated"},
		exit:    exit.Unknown,
		said: []string{
			"host: warn hardware-rdma rxe2:1", "host: unknown uverbs-openable rxe2:1", "host: unknown gid-usable rxe2:1",
			"host: unknown memlock-limit pod", "host: unknown socket-interface pod",
		},
	},
	"8 InfiniBand NDR and an Ethernet bond, 8 H100": {
		archive: "corpus/topo/gpud-sys-class-infiniband-h100.tar.gz", under: "sys/class/infiniband",
		rails: []string{"mlx5_0:1", "mlx5_1:1", "mlx5_4:1", "mlx5_5:1", "mlx5_6:1", "mlx5_7:1", "mlx5_8:1", "mlx5_9:1"},
		away:  []string{"mlx5_bond_0:1 no GID: the table of port 1 is empty or missing"},
		exit:  exit.Unknown,
		said: []string{
			"host: unknown uverbs-openable mlx5_0:1", "host: unknown uverbs-openable mlx5_1:1", "host: unknown uverbs-openable mlx5_4:1",
			"host: unknown uverbs-openable mlx5_5:1", "host: unknown uverbs-openable mlx5_6:1", "host: unknown uverbs-openable mlx5_7:1",
			"host: unknown uverbs-openable mlx5_8:1", "host: unknown uverbs-openable mlx5_9:1", "host: unknown socket-interface pod",
		},
	},
	"a ConnectX-3 and a Xeon Phi": {
		archive: "corpus/topo/hwloc-32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2",
		rails:   []string{"mlx4_0:1 ib0"},
		away:    []string{"scif0 no port could be read"},
		exit:    exit.Unknown,
		said:    []string{"host: unknown uverbs-openable mlx4_0:1", "host: unknown socket-interface pod", "node: unknown pci-config node"},
	},
	"a DGX GB10 without the infiniband class": {
		archive: "corpus/topo/hwloc-nvidia-dgx-gb10.tar.bz2",
		exit:    exit.Fault,
		said:    []string{"host: fail device-allocated pod", "node: fail device-allocated pod"},
	},
}

func TestCapturedMachines(t *testing.T) {
	for name, want := range captured {
		t.Run(name, func(t *testing.T) {
			root := unpack(t, filepath.Join("../../../shared", want.archive), want.under)
			machine, err := sysfs.Open(root)
			if err != nil {
				t.Fatal(err)
			}
			s := machine.Snapshot()
			for _, u := range s.Uverbs {
				if u.Access == host.Openable {
					t.Errorf("%s of a captured machine is said to open", u.Name)
				}
			}
			var rails, away []string
			found := rail.Resolve(s, rail.Pod)
			for _, r := range found.Rails {
				line := r.Name() + " " + r.Netdev
				if r.GID != nil {
					line += fmt.Sprintf(" %s GID %d", r.GID.IP(), r.GID.Index)
				}
				rails = append(rails, strings.TrimSpace(line))
			}
			for _, a := range found.Rejected {
				away = append(away, a.Name()+" "+a.Reason)
			}
			if diff := cmp.Diff(want.rails, rails); diff != "" {
				t.Errorf("rails (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.away, away); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if _, talk, code := cli("detect", "--root", root); code != want.exit {
				t.Errorf("detect: exit %d, want %d\n%s", code, want.exit, talk)
			}
			var said []string
			for _, scope := range []string{string(rail.Host), scopeNode} {
				out, talk, _ := cli("doctor", "--scope", scope, "--root", root, "-o", "json")
				var d diagnosis
				if err := json.Unmarshal([]byte(out), &d); err != nil {
					t.Fatalf("%v: %s", err, talk)
				}
				for _, f := range d.AtLeast(check.Unknown) {
					said = append(said, fmt.Sprintf("%s: %s %s %s", scope, f.Status, f.Check, f.Subject))
				}
			}
			if diff := cmp.Diff(want.said, said); diff != "" {
				t.Errorf("doctor (-want +got):\n%s", diff)
			}
			var names []string
			for _, r := range found.Rails {
				names = append(names, r.Name())
			}
			out, _, _ := cli("env", "--root", root)
			if line := "export NCCL_IB_HCA='=" + strings.Join(names, ",") + "'\n"; len(names) > 0 != strings.Contains(out, line) {
				t.Errorf("env: want %s in\n%s", line, out)
			}
		})
	}
}

// unpack makes a machine's root of an archive whose only directory is the root, or belongs at under in it.
func unpack(t *testing.T, archive, under string) string {
	t.Helper()
	f, err := os.Open(archive)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no captured machines next to the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stream io.Reader = bzip2.NewReader(f)
	if !strings.HasSuffix(archive, ".bz2") {
		if stream, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	dir := filepath.Join(root, under)
	for tree := tar.NewReader(stream); ; {
		entry, err := tree.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(entry.Name, "/")
		if err := write(filepath.Join(dir, filepath.Clean("/"+name)), entry, tree); err != nil {
			t.Fatal(err)
		}
	}
}

func write(path string, entry *tar.Header, content io.Reader) error {
	if entry.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if entry.Typeflag == tar.TypeSymlink {
		return os.Symlink(entry.Linkname, path)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
