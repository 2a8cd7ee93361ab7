package sysfs

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
)

func TestVerbsLibrary(t *testing.T) {
	link := func(target string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(target), Mode: 1 << 27} } // fs.ModeSymlink
	for name, tc := range map[string]struct {
		root fstest.MapFS
		want *host.VerbsLibrary
	}{
		"no library is seen":  {fstest.MapFS{"proc/cmdline": {}}, nil},
		"an image without it": {fstest.MapFS{"usr/lib64/libc.so.6": {}}, &host.VerbsLibrary{}},
		"rdma-core of Red Hat": {
			fstest.MapFS{
				"usr/lib64/libibverbs.so.1": link("libibverbs.so.1.14.54.0"), "usr/lib64/libibverbs.so.1.14.54.0": {},
				"usr/lib64/libibverbs/libmlx5-rdmav34.so": {}, "usr/lib64/libibverbs/libefa-rdmav34.so": {},
				"etc/libibverbs.d/mlx5.driver": {}, "etc/libibverbs.d/README": {},
			},
			&host.VerbsLibrary{Path: "/usr/lib64/libibverbs.so.1", RDMACore: "54.0", Providers: []string{"efa", "mlx5"}, Drivers: []string{"mlx5"}},
		},
		"a folder of the loader's configuration": {
			fstest.MapFS{"etc/ld.so.conf.d/x.conf": {Data: []byte("# mine\n/opt/ofed/lib\n")}, "opt/ofed/lib/libibverbs.so.1": {}},
			&host.VerbsLibrary{Path: "/opt/ofed/lib/libibverbs.so.1"},
		},
	} {
		if diff := cmp.Diff(tc.want, newSnapshot(tc.root).Verbs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRuntime(t *testing.T) {
	for name, tc := range map[string]struct {
		root      fstest.MapFS
		want      *host.Runtime
		unlimited bool
	}{
		"a container": {fstest.MapFS{"proc/cmdline": {}}, nil, false},
		"CRI-O, the last drop-in holds": {fstest.MapFS{
			"etc/crio/crio.conf.d/00-default":   {Data: []byte("[crio.runtime]\ndefault_ulimits = [\"memlock=1:1\"]\n")},
			"etc/crio/crio.conf.d/01-x.conf":    {Data: []byte("[crio.runtime]\ndefault_ulimits = [\n  \"nofile=1:1\",\n  \"memlock=65536:65536\",\n]\nlog_level = \"memlock=9\"\n")},
			"etc/crio/crio.conf.d/99-rdma.conf": {Data: []byte("[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n")},
			"etc/crio/crio.conf.d/99-zulu.conf": {Data: []byte("[crio.image]\n")},
		}, &host.Runtime{Name: "CRI-O", File: "/etc/crio/crio.conf.d/99-rdma.conf", Memlock: "-1:-1"}, true},
		"CRI-O takes a file of any name": {fstest.MapFS{
			"etc/crio/crio.conf.d/99-rdma.conf":  {Data: []byte("default_ulimits = [\"memlock=-1:-1\"]\n")},
			"etc/crio/crio.conf.d/99-rdma.conf~": {Data: []byte("default_ulimits = [\"memlock=65536:65536\"]\n")},
		}, &host.Runtime{Name: "CRI-O", File: "/etc/crio/crio.conf.d/99-rdma.conf~", Memlock: "65536:65536"}, false},
		"OpenShift's CRI-O that nothing was told": {fstest.MapFS{"etc/crio/crio.conf.d/00-default": {Data: []byte("[crio.runtime]\n")}}, &host.Runtime{Name: "CRI-O"}, false},
		"a later list without memlock takes it away": {fstest.MapFS{
			"etc/crio/crio.conf":             {Data: []byte("default_ulimits = [\"memlock=-1:-1\"]\n")},
			"etc/crio/crio.conf.d/50-x.conf": {Data: []byte("default_ulimits = [\"nofile=1:1\"]\n")},
		}, &host.Runtime{Name: "CRI-O", File: "/etc/crio/crio.conf.d/50-x.conf", Memlock: ""}, false},
		"CRI-O that nothing was told": {fstest.MapFS{"etc/crio/crio.conf": {Data: []byte("[crio]\n#default_ulimits = [\n#]\n")}}, &host.Runtime{Name: "CRI-O"}, false},
		"containerd, a drop-in over its unit": {fstest.MapFS{
			"usr/lib/systemd/system/containerd.service":         {Data: []byte("[Service]\nLimitMEMLOCK=8388608\n")},
			"etc/systemd/system/containerd.service.d/rdma.conf": {Data: []byte("[Service]\nLimitMEMLOCK=infinity\n")},
		}, &host.Runtime{Name: "containerd", File: "/etc/systemd/system/containerd.service.d/rdma.conf", Memlock: "infinity"}, true},
		"containerd, an edited copy of its unit": {fstest.MapFS{
			"usr/lib/systemd/system/containerd.service": {Data: []byte("[Service]\nLimitNOFILE=infinity\n")},
			"etc/systemd/system/containerd.service":     {Data: []byte("[Service]\nLimitMEMLOCK=infinity\n")},
		}, &host.Runtime{Name: "containerd", File: "/etc/systemd/system/containerd.service", Memlock: "infinity"}, true},
		"CRI-O, in single quotes": {fstest.MapFS{
			"etc/crio/crio.conf": {Data: []byte("[crio.runtime]\ndefault_ulimits = ['memlock=-1:-1']\n")},
		}, &host.Runtime{Name: "CRI-O", File: "/etc/crio/crio.conf", Memlock: "-1:-1"}, true},
		"CRI-O, a comment in its list": {fstest.MapFS{
			"etc/crio/crio.conf.d/99-x.conf": {Data: []byte("default_ulimits = [\n  # \"memlock=-1:-1\",\n  \"nofile=1:1\",\n]\n")},
		}, &host.Runtime{Name: "CRI-O", File: "/etc/crio/crio.conf.d/99-x.conf"}, false},
		"CRI-O, an entry that it does not accept": {fstest.MapFS{
			"etc/crio/crio.conf.d/99-x.conf": {Data: []byte("default_ulimits = [\"memlock=unlimited:unlimited\"]\n")},
		}, &host.Runtime{
			Name: "CRI-O", File: "/etc/crio/crio.conf.d/99-x.conf",
			Refused: "memlock=unlimited:unlimited in /etc/crio/crio.conf.d/99-x.conf",
		}, false},
		"containerd, with blanks": {fstest.MapFS{
			"lib/systemd/system/containerd.service": {Data: []byte("[Service]\n LimitMEMLOCK = infinity \n")},
		}, &host.Runtime{Name: "containerd", File: "/lib/systemd/system/containerd.service", Memlock: "infinity"}, true},
		"containerd, a drop-in that systemd ignores": {fstest.MapFS{
			"lib/systemd/system/containerd.service":           {Data: []byte("[Service]\nLimitMEMLOCK=infinity\n")},
			"etc/systemd/system/containerd.service.d/50.conf": {Data: []byte("[Service]\nLimitMEMLOCK=unlimited\n")},
			"etc/systemd/system/containerd.service.d/60.conf": {Data: []byte("[Unit]\nLimitMEMLOCK=64K\n")},
		}, &host.Runtime{
			Name: "containerd", File: "/lib/systemd/system/containerd.service", Memlock: "infinity",
			Refused: "LimitMEMLOCK=unlimited in /etc/systemd/system/containerd.service.d/50.conf",
		}, true},
		"containerd, a soft limit": {fstest.MapFS{
			"lib/systemd/system/containerd.service": {Data: []byte("[Service]\nLimitMEMLOCK=64K:infinity\n")},
		}, &host.Runtime{Name: "containerd", File: "/lib/systemd/system/containerd.service", Memlock: "64K:infinity"}, false},
	} {
		got := newSnapshot(tc.root).Runtime
		if diff := cmp.Diff(tc.want, got); diff != "" || got != nil && got.Unlimited() != tc.unlimited {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestConfigSpace(t *testing.T) {
	space := make([]byte, 4096)
	put := func(at int, value ...byte) { copy(space[at:], value) }
	put(0x34, 0x50)
	put(0x50, 0x01, 0x60)              // power management, then PCI Express
	put(0x60, 0x10, 0x00)              //
	put(0x68, 0x30, 0x29)              // payload 256, read request 512
	put(0x100, 0x01, 0x00, 0x01, 0x14) // AER, next 0x140
	put(0x140, 0x0d, 0x00, 0x01, 0x00, 0x5f, 0x00, 0x1d, 0x00)
	full := host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(512), ACS: host.Know(0x1d)}
	plain := append([]byte{}, space...)
	plain[0x140], plain[0x141] = 0x0e, 0 // another capability
	short := full
	short.ACS = host.Unread[int]("only 256 bytes of configuration space")
	for name, tc := range map[string]struct {
		data      []byte
		want      host.PCIConfig
		redirects bool
	}{
		"with the right":    {space, full, true},
		"no ACS":            {plain, host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(512)}, false},
		"without the right": {space[:64], noConfig(errShortConfig.Error()), false},
		"an old bridge":     {space[:256], short, false},
		"not PCI Express":   {make([]byte, 256), host.PCIConfig{}, false},
	} {
		for form, text := range map[string]string{"bytes": string(tc.data), "recorded": formatConfigSpace(string(tc.data))} {
			const address = "0000:01:00.0"
			root := fstest.MapFS{pciDevices + "/" + address + "/config": {Data: []byte(text)}}
			got := pciConfig(&tree{root: root}, host.PCIAddress{Bus: 1})
			if diff := cmp.Diff(tc.want, got); diff != "" || got.Redirects() != tc.redirects {
				t.Errorf("%s, %s (-want +got):\n%s", name, form, diff)
			}
		}
	}
}

func TestNeighbours(t *testing.T) {
	const table = "IP address       HW type     Flags       HW address            Mask     Device\n" +
		"192.168.5.2      0x1         0x2         52:54:00:A0:02:01     *        net1\n" +
		"192.168.5.9      0x1         0x0         00:00:00:00:00:00     *        net1\n" +
		"nonsense 0x1 0x2 x * net1\n"
	want := []host.Neighbour{
		{Link: "net1", Addr: netip.MustParseAddr("192.168.5.2"), MAC: "52:54:00:a0:02:01", Resolved: true},
		{Link: "net1", Addr: netip.MustParseAddr("192.168.5.9")},
	}
	if diff := cmp.Diff(want, parseNeighbours(table), comparer...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLaunched(t *testing.T) {
	const vars = `[{"name": "NCCL_NET", "value": "IB", "reason": "x", "source": "computed"},
		{"name": "NCCL_IB_GID_INDEX", "value": "", "reason": "x", "source": "left unset"},
		{"name": "AWS_SECRET_ACCESS_KEY", "value": "x", "reason": "x", "source": "user"}]`
	const runs = "7 (sh (a) b) S 1 7 7 0 -1 4194560 120 0 0 0 1 2 0 0 20 0 1 0 4711 2000000 100 18446744073709551615\n"
	limits := func(soft string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("Max locked memory         " + soft + "              unlimited            bytes\n")}
	}
	for name, tc := range map[string]struct {
		process, stat string
		want          map[string]string
		memlock       host.Limit // of the command, or else of the container's first process
	}{
		"it runs":                           {"7 4711", runs, map[string]string{"NCCL_NET": "IB", "NCCL_IB_GID_INDEX": ""}, 1 << 30},
		"it has ended":                      {"7 4711", "", nil, 8 << 20},
		"it has ended and was not reaped":   {"7 4711", strings.Replace(runs, ") S", ") Z", 1), nil, 8 << 20},
		"another process has its number":    {"7 4710", runs, nil, 8 << 20},
		"nothing says which process it was": {"", runs, nil, 8 << 20},
		"no process at all":                 {"7", "7 (sh) S", nil, 8 << 20},
	} {
		s := newSnapshot(fstest.MapFS{
			"run/railhead/env.json": {Data: []byte(vars)}, "run/railhead/process": {Data: []byte(tc.process + "\n")}, "proc/7/stat": {Data: []byte(tc.stat)},
			"proc/7/limits": limits("1073741824"), "proc/1/limits": limits("8388608"),
		})
		if diff := cmp.Diff(tc.want, s.Launched); diff != "" || s.Limits.MainMemlock.Value != tc.memlock {
			t.Errorf("%s: limit %v, environment (-want +got):\n%s", name, s.Limits.MainMemlock, diff)
		}
	}
	if got := identity(identityOnly(runs)); got != "7 4711" {
		t.Errorf("a recording of the process says %q", got)
	}
	if got := identityOnly(runs); strings.Contains(got, "sh") {
		t.Errorf("recorded with the command: %q", got)
	}
}

func TestLockable(t *testing.T) {
	upTo := func(limit uint64) func(uint64) error {
		return func(bytes uint64) error {
			if bytes > limit {
				return syscall.ENOMEM
			}
			return nil
		}
	}
	for name, tc := range map[string]struct {
		probe func(uint64) error
		want  host.Fact[uint64]
	}{
		"not tried":             {nil, host.Fact[uint64]{}},
		"a recording before it": {func(uint64) error { return errNotProbed }, host.Fact[uint64]{}},
		"without a limit":       {upTo(1 << 62), host.Know[uint64](host.MaxLocked)},
		"8 MiB":                 {upTo(8 << 20), host.Know[uint64](8 << 20)},
		"nothing at all":        {upTo(0), host.Know[uint64](0)},
	} {
		got := Read(fstest.MapFS{}, Probes{LockMemory: tc.probe}).Limits.Lockable
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNewerProbesAreRecorded: what the probes said replays, errors too.
func TestNewerProbesAreRecorded(t *testing.T) {
	root := recorded(t)["pod-roce-4vf.txtar"]
	live := root.Probes
	live.ShmFree = func() (uint64, error) { return 5 << 20, nil }
	live.LockMemory = func(bytes uint64) error {
		if bytes > 8<<20 {
			return syscall.ENOMEM
		}
		return nil
	}
	live.VFs = func() ([]host.Link, error) {
		return []host.Link{{Name: "net1", Index: host.Know(10), VFs: []host.VF{{LinkState: "auto"}}}}, nil
	}
	live.Route = func(from netip.Addr, _ int, dest netip.Addr) (netip.Addr, error) {
		switch {
		case strings.HasPrefix(from.String(), "10.10.11."):
			return netip.MustParseAddr("10.10.11.1"), nil
		case strings.HasPrefix(from.String(), "10.10.12."):
			return netip.Addr{}, syscall.ENETUNREACH
		}
		return netip.Addr{}, nil
	}
	want := replayed(t, Machine{Root: root.Root, Probes: live})
	if len(want.Lookups) != 12 || want.Limits.Lockable.Value != 8<<20 || len(want.Links[2].VFs) != 1 {
		t.Errorf("read: %d lookups, %v lockable, %+v", len(want.Lookups), want.Limits.Lockable, want.Links[2])
	}
	live.VFs = func() ([]host.Link, error) { return nil, syscall.EPERM }
	refused := host.Problem{Path: "/proc/net", Op: "netlink", Err: "operation not permitted"}
	if want := replayed(t, Machine{Root: root.Root, Probes: live}); !slices.Contains(want.Problems, refused) {
		t.Errorf("problems %v, want %v", want.Problems, refused)
	}
}

// replayed records a machine, and asserts that the recording gives the same snapshot.
func replayed(t *testing.T, m Machine) host.Snapshot {
	t.Helper()
	want, archive := m.Record()
	again, err := replay.Parse(archive.Format())
	if err != nil {
		t.Fatal(err)
	}
	recording, err := Recorded(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recording.Snapshot(), comparer...); diff != "" {
		t.Errorf("(-recorded +replayed):\n%s", diff)
	}
	return want
}

// TestFullShmIsRecorded: a /dev/shm that is full, or that is not there, replays as such.
func TestFullShmIsRecorded(t *testing.T) {
	size := func(bytes uint64, err error) func() (uint64, error) {
		return func() (uint64, error) { return bytes, err }
	}
	for name, probes := range map[string]Probes{
		"full":      {ShmBytes: size(8<<30, nil), ShmFree: size(0, nil)},
		"not there": {ShmBytes: size(0, syscall.ENOENT), ShmFree: size(0, syscall.ENOENT)},
	} {
		want, archive := Machine{Root: fstest.MapFS{"proc/cmdline": {}}, Probes: probes}.Record()
		replay, err := Recorded(archive)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, replay.Snapshot(), comparer...); diff != "" {
			t.Errorf("%s (-recorded +replayed):\n%s", name, diff)
		}
	}
}

// TestLongTablesAreRecorded: a recording has as much of the routing table of a large cluster's node as was read of it.
func TestLongTablesAreRecorded(t *testing.T) {
	const gateway = "eth0\t00000000\t0102800A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
	const block = "*\t0002800A\t00000000\t0201\t0\t0\t0\tC0FFFFFF\t0\t0\t0\n"
	table := &fstest.MapFile{Data: []byte(gateway + strings.Repeat(block, maxFile/len(block)+1))}
	want, archive := Machine{Root: fstest.MapFS{"proc/net/route": table}}.Record()
	if got := Read(archive, Probes{}).Routes; len(want.Routes) != 1 || !cmp.Equal(want.Routes, got) {
		t.Errorf("recorded %v, read %v", got, want.Routes)
	}
}

func FuzzNodeFiles(f *testing.F) {
	for _, seed := range []string{
		"default_ulimits = [\n\"memlock=-1:-1\"\n]", "10.0.0.1 0x1 0x2 52:54:00:aa:00:01 * net1", "configuration space of 4096 bytes\n034: 00000060\n",
		"libibverbs.so.1.14.54.0", strings.Repeat("\x10", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = crioMemlock(text), unitLimit(text)
		_ = host.IsUlimit(text)
		_ = host.IsSystemdLimit(text)
		for _, n := range parseNeighbours(text) {
			if !n.Addr.IsValid() {
				t.Errorf("no address: %+v", n)
			}
		}
		_ = rdmaCoreVersion(text)
		_ = providers([]string{text})
		if _, ok := parseLink([]byte(text)); ok && len(text) < 16 {
			t.Error("a link of less than its header")
		}
		_ = parseGateway([]byte(text))
		space, err := parseConfigSpace(text)
		if err != nil {
			return
		}
		c, err := space.decode()
		if again, err2 := parseConfigSpace(formatConfigSpace(string(space.data))); err2 == nil && len(space.data) <= 4096 {
			if d, err3 := again.decode(); d != c || !errors.Is(err3, err) {
				t.Errorf("recorded: %+v, %v; read: %+v, %v", d, err3, c, err)
			}
		}
	})
}
