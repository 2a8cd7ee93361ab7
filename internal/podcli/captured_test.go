package podcli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

// captured are machines whose files somebody packed; what detect says of each was compared by eye with what
// ibv_devinfo, rdma and lspci said on it.
var captured = map[string]struct {
	rails []string
	away  []string
	exit  exit.Code
	said  []string // what doctor says of it as a job's machine, and as a node
}{
	"rxe-amd-iommu.txtar": {
		rails: []string{"mlx5_0:1 vf0 10.20.2.1 GID 1", "mlx5_1:1 vf1 10.20.3.1 GID 1", "mlx5_2:1 vf2 10.20.4.1 GID 1"},
		away:  []string{"mlx5_3:1 port 1 DOWN (Disabled)", "mlx5_pf physical function; virtual functions are used, and no source shows what was allocated"},
		exit:  exit.Unknown,
		said: []string{
			"host: unknown uverbs-openable mlx5_pf:1", "host: unknown gid-usable mlx5_pf:1", "host: unknown memlock-limit pod",
			"host: unknown socket-interface pod", "node: warn iommu-passthrough node",
		},
	},
	"rxe-intel-iommu.txtar": {
		rails: []string{"rxe0:1 vf0 10.20.1.1 GID 1", "rxe1:1 vf1 10.20.2.1 GID 1"},
		away:  []string{"rxe2 physical function; virtual functions are used, and no source shows what was allocated"},
		exit:  exit.Unknown,
		said: []string{
			"host: warn hardware-rdma rxe2:1", "host: unknown uverbs-openable rxe2:1", "host: unknown gid-usable rxe2:1",
			"host: unknown memlock-limit pod", "host: unknown socket-interface pod",
		},
	},
	"h100-ib-bond.txtar": {
		rails: []string{"mlx5_0:1", "mlx5_1:1", "mlx5_4:1", "mlx5_5:1", "mlx5_6:1", "mlx5_7:1", "mlx5_8:1", "mlx5_9:1"},
		away:  []string{"mlx5_bond_0:1 no GID: the table of port 1 is empty or missing"},
		exit:  exit.Unknown,
		said: []string{
			"host: unknown uverbs-openable mlx5_0:1", "host: unknown uverbs-openable mlx5_1:1", "host: unknown uverbs-openable mlx5_4:1",
			"host: unknown uverbs-openable mlx5_5:1", "host: unknown uverbs-openable mlx5_6:1", "host: unknown uverbs-openable mlx5_7:1",
			"host: unknown uverbs-openable mlx5_8:1", "host: unknown uverbs-openable mlx5_9:1", "host: unknown socket-interface pod",
		},
	},
	"connectx3-xeon-phi.txtar": {
		rails: []string{"mlx4_0:1 ib0"},
		away:  []string{"scif0 no port could be read"},
		exit:  exit.Unknown,
		said:  []string{"host: unknown uverbs-openable mlx4_0:1", "host: unknown socket-interface pod", "node: unknown pci-config node"},
	},
	"gb10-no-rdma.txtar": {
		exit: exit.Fault,
		said: []string{"host: fail device-allocated pod", "node: fail device-allocated pod"},
	},
}

func TestCapturedMachines(t *testing.T) {
	for name, want := range captured {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(corpustest.Folder(t, "machines"), name)
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
