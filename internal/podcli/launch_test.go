package podcli

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// TestLaunchJudgesEnough: what run reads leads to the variables and the findings that a full reading leads to, whatever
// the user set.
func TestLaunchJudgesEnough(t *testing.T) {
	for _, file := range hosts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			m := openWithout(t, file, "")
			full := m.Snapshot()
			for _, tc := range []struct{ name, variable, value string }{
				{"prefix of other devices", "NCCL_IB_HCA", "mlx5_1"},
				{"prefix of every device", "NCCL_IB_HCA", "mlx5"},
				{"excluded device", "NCCL_IB_HCA", "^mlx5_0"},
				{"device that is not there", "NCCL_IB_HCA", "=mlx5_6:1,mlx5_77:1"},
				{"sockets", "NCCL_NET", "Socket"},
				{"slot of a GID", "NCCL_IB_GID_INDEX", "3"},
				{"slot of no GID", "NCCL_IB_GID_INDEX", "99"},
				{"bootstrap on a rail", "NCCL_SOCKET_IFNAME", "net1"},
				{"bootstrap on two rails", "NCCL_SOCKET_IFNAME", "net1,net2"},
				{"bootstrap on no interface", "NCCL_SOCKET_IFNAME", "=none0"},
				{"devices of another library", "UCX_NET_DEVICES", "mlx5_0:1"},
				{"empty filter", "NCCL_IB_HCA", ""},
				{"addresses of another family", "NCCL_IB_ADDR_FAMILY", "AF_INET6"},
				{"addresses of another network", "NCCL_IB_ADDR_RANGE", "192.168.0.0/16"},
				{"other RoCE version", "NCCL_IB_ROCE_VERSION_NUM", "1"},
				{"automatic GID", "NCCL_IB_GID_INDEX", "-1"},
				{"bootstrap by leaving others out", "NCCL_SOCKET_IFNAME", "^docker"},
				{"interfaces of Gloo", "GLOO_SOCKET_IFNAME", "eth0,net1,none0"},
				{"fusion of cards", "NCCL_IB_MERGE_VFS", "1"},
			} {
				all := full
				all.Env = maps.Clone(full.Env)
				all.Env[tc.variable] = tc.value
				compareDecisions(t, tc.name, all, readForLaunch(m, tc.variable, tc.value))
			}
		})
	}
}

// TestLaunchWithoutDefaultRoute: then all that could tell the interface for bootstrap is read.
func TestLaunchWithoutDefaultRoute(t *testing.T) {
	for _, file := range hosts(t) {
		m := openWithout(t, file, "proc/net/route")
		compareDecisions(t, filepath.Base(file), m.Snapshot(), sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted))
	}
}

// TestLaunchWithSeveralSettings: a machine of which much is not as usual at once.
func TestLaunchWithSeveralSettings(t *testing.T) {
	for _, file := range hosts(t) {
		m := openWithout(t, file, "proc/net/route")
		environ := append(m.Probes.Environ(), "NCCL_IB_HCA=mlx5", "NCCL_IB_GID_INDEX=7", "GLOO_SOCKET_IFNAME=net2", "NCCL_IB_DISABLE=0x1")
		m.Probes.Environ = func() []string { return environ }
		compareDecisions(t, filepath.Base(file), m.Snapshot(), sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted))
	}
}

// TestLaunchWithoutNodes: a process without /dev/infiniband can reach no device, whatever it was given.
func TestLaunchWithoutNodes(t *testing.T) {
	for _, file := range hosts(t) {
		m := openWithout(t, file, "")
		m.Root = withoutNodes{m.Root}
		full, brief := m.Snapshot(), sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted)
		compareDecisions(t, filepath.Base(file), full, brief)
		if d := decide(brief, rail.Pod, nccl.Policy{}); d.noRail == nil {
			t.Errorf("%s: rails %v", filepath.Base(file), d.resolution.Devices())
		}
	}
}

// TestLaunchAllocations: what was allocated counts for a launch as it does otherwise.
func TestLaunchAllocations(t *testing.T) {
	info := func(address, device string) string {
		return `{"` + address + `":{"generic":{"deviceID":"` + address + `"},"rdma":{"rdma_dev":"` + device + `"}}}`
	}
	for _, tc := range []struct {
		name, machine string
		environ       []string // all there is
		rails         string
	}{
		{"name at another function, InfiniBand", "pod-infiniband-4vf", []string{"PCIDEVICE_X=0000:1a:00.7", "PCIDEVICE_X_INFO=" + info("0000:1a:00.7", "mlx5_7")}, ""},
		{"name at another function, RoCE", "pod-roce-4vf", []string{"PCIDEVICE_X=0000:1a:00.6", "PCIDEVICE_X_INFO=" + info("0000:1a:00.6", "mlx5_7")}, "mlx5_7"},
		{"device whose node is not here", "pod-shared-plugin", []string{"PCIDEVICE_X=0000:9a:00.0"}, "mlx5_0,mlx5_1"},
		{"function without a device", "pod-shared-plugin", []string{"PCIDEVICE_X=0000:77:02.0"}, "mlx5_0,mlx5_1"},
		{"plugin and a claim", "pod-dra", []string{"PCIDEVICE_X=0000:1a:00.2"}, "mlx5_4,mlx5_5"},
		{"empty list", "pod-roce-4vf", []string{"PCIDEVICE_X="}, "mlx5_6,mlx5_7,mlx5_10,mlx5_11"},
		{"nothing", "pod-roce-two-containers", nil, "mlx5_6,mlx5_7"},
	} {
		m := openWithout(t, "../../testdata/hosts/"+tc.machine+".txtar", "")
		m.Probes.Environ = func() []string { return tc.environ }
		full, brief := m.Snapshot(), sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted)
		compareDecisions(t, tc.name, full, brief)
		if got := strings.Join(rail.Resolve(brief, rail.Pod).Devices(), ","); got != tc.rails {
			t.Errorf("%s: rails %s, want %s", tc.name, got, tc.rails)
		}
	}
}

// TestLaunchReadsOnce asserts that where no device can be reached, what a launch reads explains it as a full reading does.
func TestLaunchReadsOnce(t *testing.T) {
	count := 0
	for _, file := range hosts(t) {
		m, err := sysfs.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(filepath.Base(file), "pod-") {
			m.Root = withoutNodes{m.Root}
		}
		brief := sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted)
		if brief.ReachesDevice() {
			continue
		}
		count++
		full := m.Snapshot()
		for _, scope := range []rail.Scope{rail.Pod, rail.Host} {
			for _, mode := range []nccl.Mode{nccl.RDMA, nccl.Auto} {
				want, got := decide(full, scope, nccl.Policy{Mode: mode}), decide(brief, scope, nccl.Policy{Mode: mode})
				if diff := cmp.Diff(want.noRail, got.noRail); diff != "" {
					t.Errorf("%s, mode %s: why there is no rail (-full +launch):\n%s", filepath.Base(file), mode, diff)
				}
				if diff := cmp.Diff(want.findings, got.findings); diff != "" {
					t.Errorf("%s, mode %s: findings (-full +launch):\n%s", filepath.Base(file), mode, diff)
				}
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d recorded machines without a device", count)
	}
}

// withoutNodes is a root without /dev/infiniband.
type withoutNodes struct{ fs.FS }

func (w withoutNodes) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "dev/infiniband" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return fs.ReadDir(w.FS, name)
}

func (w withoutNodes) ReadLink(name string) (string, error) { return fs.ReadLink(w.FS, name) }

func (w withoutNodes) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(w.FS, name) }

// openWithout opens a recorded machine without one of its files.
func openWithout(t *testing.T, file, lost string) sysfs.Machine {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := replay.Parse(strings.Replace(string(text), "-- "+lost+" --", "-- lost --", 1))
	if err != nil {
		t.Fatal(err)
	}
	m, err := sysfs.Recorded(archive)
	if err != nil {
		t.Fatal(err)
	}
	if m.Probes.Environ == nil {
		m.Probes.Environ = func() []string { return nil }
	}
	return m
}

// readForLaunch reads a machine on which the user set a variable.
func readForLaunch(m sysfs.Machine, variable, value string) host.Snapshot {
	environ := slices.DeleteFunc(m.Probes.Environ(), func(e string) bool { return strings.HasPrefix(e, variable+"=") })
	m.Probes.Environ = func() []string { return append(environ, variable+"="+value) }
	return sysfs.ReadForLaunch(m.Root, m.Probes, rail.Wanted)
}

// compareDecisions leaves out what run reads everything for: why there is no rail, and the GPUs.
func compareDecisions(t *testing.T, situation string, all, enough host.Snapshot) {
	t.Helper()
	for _, mode := range []nccl.Mode{nccl.RDMA, nccl.Auto, nccl.TCP} {
		compare(t, situation+", mode "+string(mode), decide(all, rail.Pod, nccl.Policy{Mode: mode}), decide(enough, rail.Pod, nccl.Policy{Mode: mode}))
	}
}

func compare(t *testing.T, situation string, full, brief decision) {
	t.Helper()
	if diff := cmp.Diff(full.vars, brief.vars); diff != "" {
		t.Errorf("%s: variables (-full +launch):\n%s", situation, diff)
	}
	if (full.noRail == nil) != (brief.noRail == nil) {
		t.Errorf("%s: no rail: full %v, launch %v", situation, full.noRail, brief.noRail)
	}
	if full.noRail != nil {
		return
	}
	if diff := cmp.Diff(summaries(full.findings), summaries(brief.findings)); diff != "" {
		t.Errorf("%s: findings (-full +launch):\n%s", situation, diff)
	}
	if diff := cmp.Diff(summaries(full.blocking()), summaries(brief.blocking())); diff != "" {
		t.Errorf("%s: refusal (-full +launch):\n%s", situation, diff)
	}
}

func summaries(findings []check.Finding) []string {
	var lines []string
	for _, f := range findings {
		if f.Check != nccl.GPUDirectDistance && f.Check != nccl.GPUDirectPossible && f.Check != nccl.IOMMUPassthrough {
			lines = append(lines, fmt.Sprintf("%s: %s %s [%s]", f.Status, f.Subject, f.Summary, f.Check))
		}
	}
	return lines
}
