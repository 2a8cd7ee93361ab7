package sysfs

import (
	"encoding/json"
	"io/fs"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
)

func recorded(t *testing.T) map[string]Machine {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/hosts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded machines: %v", err)
	}
	machines := map[string]Machine{}
	for _, file := range files {
		m, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		machines[filepath.Base(file)] = m
	}
	return machines
}

var comparer = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func TestRecordingReplays(t *testing.T) {
	for name, m := range recorded(t) {
		want := m.Snapshot()
		_, archive := m.Record()
		again, err := replay.Parse(archive.Format())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		replay, err := Recorded(again)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, replay.Snapshot(), comparer...); diff != "" {
			t.Errorf("%s (-recorded +replayed):\n%s", name, diff)
		}
	}
}

func TestSnapshotJSON(t *testing.T) {
	for name, m := range recorded(t) {
		want := m.Snapshot()
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got host.Snapshot
		if err := json.Unmarshal(append([]byte(`{"fieldOfALaterVersion":1,`), data[1:]...), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, comparer...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBrokenHCAHidesNoOther(t *testing.T) {
	s := recorded(t)["pod-half-broken.txtar"].Snapshot()
	if len(s.Devices) != 8 {
		t.Errorf("%d devices, want 8", len(s.Devices))
	}
	d, _ := s.Device("mlx5_11")
	if !d.Ports[0].State.IsUnreadable() || !d.Ports[0].Rate.IsUnreadable() || !d.Firmware.IsUnreadable() {
		t.Errorf("broken facts must be unreadable: %+v", d.Ports[0])
	}
	var paths []string
	for _, p := range s.Problems {
		paths = append(paths, filepath.Base(p.Path)+" "+p.Op)
	}
	want := []string{"state read", "rate parse", "fw_ver read"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestNothingToRead(t *testing.T) {
	s := Read(fstest.MapFS{}, Probes{})
	if len(s.Devices) != 0 || len(s.Problems) != 0 || s.Limits.MemlockSoft.IsKnown() {
		t.Errorf("an empty machine shows %+v", s)
	}
}

func TestHugeAndHostileFiles(t *testing.T) {
	huge := strings.Repeat("x", 2*maxFile)
	s := Read(fstest.MapFS{
		"sys/class/infiniband/mlx5_0/node_type":          {Data: []byte(huge)},
		"sys/class/infiniband/mlx5_0/ports/1/state":      {Data: []byte("4: ACTIVE\n")},
		"sys/class/infiniband/mlx5_0/ports/1/rate":       {Data: []byte("\x00\x01")},
		"sys/class/infiniband/mlx5_0/ports/1/gids/0":     {Data: []byte("not a gid")},
		"sys/class/infiniband/mlx5_0/ports/1/gids/seven": {Data: []byte("fe80::1")},
		"sys/class/infiniband/mlx5_1":                    {Mode: fs.ModeNamedPipe},
		"proc/self/limits":                               {Mode: fs.ModeNamedPipe},
	}, Probes{})
	if d, ok := s.Device("mlx5_0"); !ok || d.Ports[0].State.Value != "ACTIVE" || !d.NodeType.IsUnreadable() {
		t.Errorf("device: %+v", d)
	}
	if len(s.Problems) < 4 {
		t.Errorf("problems: %+v", s.Problems)
	}
}

// Some shells do not pass on variables whose names have a dash: the container's first process still has them.
func TestDashedVariables(t *testing.T) {
	const first = "PCIDEVICE_X_COM_RAIL-1=0000:1a:00.2\x00PATH=/bin\x00A-B=2\x00\x00"
	got := withDashed([]string{"PATH=/usr/bin", "A-B=1"}, first)
	want := []string{"PATH=/usr/bin", "A-B=1", "PCIDEVICE_X_COM_RAIL-1=0000:1a:00.2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentIsAllowListed(t *testing.T) {
	got := allowedEnv([]string{
		"AWS_SECRET_ACCESS_KEY=x", "NCCL_DEBUG=INFO", "HOME=/root", "K=0000:19:00.6",
		`K_INFO={"0000:19:00.6":{"generic":{"deviceID":"0000:19:00.6"},"rdma":{"rdma_dev":"mlx5_18"}}}`, "OTHER_INFO=secret",
		`PCIDEVICE_X_INFO={"0000:8b:01.5":{"extra":{"VFIO_TOKEN":"02bddbbf"},"generic":{"deviceID":"0000:8b:01.5"}},"0000:8b:01.7":{"extra":{"VFIO_TOKEN":"02b`,
	})
	want := map[string]string{
		"NCCL_DEBUG": "INFO", "K": "0000:19:00.6",
		"K_INFO":           `{"0000:19:00.6":{"generic":{"deviceID":"0000:19:00.6"},"rdma":{"rdma_dev":"mlx5_18"}}}`,
		"PCIDEVICE_X_INFO": `{"0000:8b:01.5":{"extra":{"VFIO_TOKEN":"redacted"},"generic":{"deviceID":"0000:8b:01.5"}},"0000:8b:01.7":{"extra":{"VFIO_TOKEN":"redacted`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLiveInterfaces: a launch, which asks the kernel alone, knows of an interface what a full reading knows.
func TestLiveInterfaces(t *testing.T) {
	m, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	if m.Probes.Interfaces == nil {
		t.Skip("not Linux")
	}
	var full, brief host.Snapshot
	readLinks(newInput(m.Root, m.Probes), &full)
	readLinksWithAddress(newInput(m.Root, m.Probes), &brief)
	told := func(links []host.Link) []host.Link {
		var all []host.Link
		for _, l := range links {
			if len(l.Addresses.Value) > 0 {
				all = append(all, host.Link{Name: l.Name, Index: l.Index, Up: l.Up, Running: l.Running, Addresses: l.Addresses})
			}
		}
		return all
	}
	if diff := cmp.Diff(told(full.Links), told(brief.Links), comparer...); diff != "" {
		t.Errorf("(-full +launch):\n%s", diff)
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"400 Gb/sec (4X NDR)", "0000:18:00.5", "4: ACTIVE", "fe80:0000:0000:0000:b83f:d203:00aa:0001", "unlimited",
		`"[{\"name\":\"n\",\"device-info\":{\"pci\":{\"pci-address\":\"0000:18:00.5\"}}}]"`, `{"requests":[{"devices":[{}]}]}`, "NCCL_IB_HCA==mlx5_6", "|-- 10.0.0.1\n/32 host LOCAL"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := host.ParseRate(text); err == nil && r.Gbps < 0 {
			t.Errorf("rate %q is %v", text, r)
		}
		if a, err := host.ParsePCIAddress(text); err == nil {
			if again, err := host.ParsePCIAddress(a.String()); err != nil || again != a {
				t.Errorf("PCI address %q does not survive: %v", text, a)
			}
		}
		_, _ = host.ParseGID(text)
		_, _ = afterNumber(text)
		_, _ = host.ParseLimit(text)
		_, _ = parseMemTotal(text)
		_, _ = host.ParseNetworkStatus(text)
		_, _ = parseDRAMetadata(text, "claim")
		_ = parseNCCLConfig("f", text)
		_ = parseRoutes(text)
		_ = localAddresses(text)
		_, _, _ = parseIfInet6(text)
		_, _ = parseIPv6Default(text)
		_ = host.FindPCIAddresses(text)
		_, _ = host.ParsePCIPath(text)
		_, _ = host.ParseVersion(text)
		if s := withoutSecrets(text); strings.Contains(text, `"VFIO_TOKEN":"zq9"`) && strings.Contains(s, "zq9") {
			t.Errorf("a secret survives in %q", s)
		}
	})
}

func FuzzArchive(f *testing.F) {
	f.Add("-- a/1..3 ! EINVAL --\n-- b -> a --\n-- c --\nx\n")
	f.Add("-- 0000000001 --\n-- 0 --\n-- +2 --\n-- 03..4 --")
	f.Add("\\-- comment --")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := replay.Parse(text)
		if err != nil {
			return
		}
		again, err := replay.Parse(a.Format())
		if err != nil {
			t.Fatalf("formatted archive does not parse: %v", err)
		}
		if again.Format() != a.Format() {
			t.Errorf("not stable: %q, then %q", a.Format(), again.Format())
		}
		if m, err := Recorded(a); err == nil {
			m.Snapshot()
		}
	})
}
