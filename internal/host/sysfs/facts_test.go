package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

func TestAccessTo(t *testing.T) {
	opens := func(string) error { return nil }
	class := fstest.MapFS{
		"sys/class/infiniband_verbs/uverbs0/ibdev": {Data: []byte("mlx5_0\n")},
		"sys/class/infiniband_verbs/uverbs1/ibdev": {Data: []byte("mlx5_1\n")},
	}
	with := func(files map[string]*fstest.MapFile) fs.FS {
		all := fstest.MapFS{}
		for _, tree := range []map[string]*fstest.MapFile{class, files} {
			for name, file := range tree {
				all[name] = file
			}
		}
		return all
	}
	for name, tc := range map[string]struct {
		root fs.FS
		open func(string) error
		want host.Access // to mlx5_0, whose node is uverbs0
	}{
		"node that opens":                        {with(fstest.MapFS{"dev/infiniband/uverbs0": {}}), opens, host.Openable},
		"node that does not":                     {with(fstest.MapFS{"dev/infiniband/uverbs0": {}}), func(string) error { return syscall.EACCES }, host.Denied},
		"other node, probed":                     {with(fstest.MapFS{"dev/infiniband/uverbs1": {}}), opens, host.Missing},
		"other node, captured":                   {with(fstest.MapFS{"dev/infiniband/uverbs1": {}}), nil, host.Missing},
		"folder with other devices, captured":    {with(fstest.MapFS{"dev/infiniband/rdma_cm": {}}), nil, host.Missing},
		"node, captured":                         {with(fstest.MapFS{"dev/infiniband/uverbs0": {}}), nil, host.NotProbed},
		"no folder, probed":                      {class, opens, host.Missing},
		"no folder, captured":                    {class, nil, host.NotProbed},
		"no class and no folder, probed":         {fstest.MapFS{}, opens, host.Missing},
		"no class and no folder, captured":       {fstest.MapFS{}, nil, host.NotProbed},
		"node of a device that cannot be told":   {fstest.MapFS{"dev/infiniband/uverbs0": {}, "sys/class/infiniband_verbs/uverbs0/ibdev": {Mode: fs.ModeNamedPipe}}, opens, host.NotProbed},
		"node of another device that can, alone": {fstest.MapFS{"dev/infiniband/uverbs1": {}, "sys/class/infiniband_verbs/uverbs1/ibdev": {Data: []byte("mlx5_1")}}, opens, host.Missing},
	} {
		for _, brief := range []bool{false, true} {
			read := readVerbsDevices
			if brief {
				read = readVerbsNodes
			}
			var s host.Snapshot
			read(newInput(tc.root, Probes{OpenDevice: tc.open}), &s)
			if got := s.AccessTo("mlx5_0"); got != tc.want {
				t.Errorf("%s (launch %v): %s, want %s", name, brief, got, tc.want)
			}
		}
	}
}

// unreadableRoot answers everything but the folder of a device with one error, as a /sys that may not be searched does.
type unreadableRoot struct{ fstest.MapFS }

func (u unreadableRoot) readBounded(name string) (string, error) {
	if strings.Contains(name, "/ports/") {
		return "", &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
	}
	return readBounded(u.MapFS, name)
}

func TestPortsThatCannotBeReadAreNotInvented(t *testing.T) {
	one := fstest.MapFS{"sys/class/infiniband/mlx5_0/ports/1/state": {Data: []byte("4: ACTIVE\n")}}
	for name, tc := range map[string]struct {
		root fs.FS
		want int
	}{
		"one port":                           {one, 1},
		"one port whose files are forbidden": {unreadableRoot{one}, 1},
		"folder that may not be searched":    {unreadableRoot{fstest.MapFS{"sys/class/infiniband/mlx5_0": {Mode: fs.ModeDir}}}, 0},
	} {
		if d, _ := newSnapshot(tc.root).Device("mlx5_0"); len(d.Ports) != tc.want {
			t.Errorf("%s: %d ports, want %d", name, len(d.Ports), tc.want)
		}
	}
}

func newSnapshot(root fs.FS) *host.Snapshot {
	s := Read(root, Probes{})
	return &s
}

func TestDefaultRoutes(t *testing.T) {
	const heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	for name, tc := range map[string]struct {
		ipv4, ipv6 string
		want       []host.Route
	}{
		"gateway":                     {"eth0\t00000000\t0102800A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n", "", []host.Route{{Link: "eth0", Family: "inet", Metric: 100}}},
		"unreachable":                 {"*\t00000000\t00000000\t0200\t0\t0\t4278198272\t00000000\t0\t0\t0\n", "", nil},
		"unreachable by an interface": {"eth0\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n", "", nil},
		"blackhole":                   {"*\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", "", nil},
		"unreachable, and a gateway": {
			"*\t00000000\t00000000\t0200\t0\t0\t4278198272\t00000000\t0\t0\t0\neth0\t00000000\t0102800A\t0003\t0\t0\t4278198273\t00000000\t0\t0\t0\n", "",
			[]host.Route{{Link: "eth0", Family: "inet", Metric: 4278198273}},
		},
		"IPv6 and the kernel's own reject route": {
			"", strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 net1\n" +
				strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " ffffffff 00000001 00000000 00200200 lo\n",
			[]host.Route{{Link: "net1", Family: "inet6", Metric: 1024}},
		},
	} {
		s := newSnapshot(fstest.MapFS{"proc/net/route": {Data: []byte(heading + tc.ipv4)}, "proc/net/ipv6_route": {Data: []byte(tc.ipv6)}})
		if diff := cmp.Diff(tc.want, s.Routes, comparer...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGPUsOfContainers: only a container's own /dev says which GPUs it was given.
func TestGPUsOfContainers(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const gpu = pciDevices + "/0000:18:00.0/"
	root := fstest.MapFS{
		gpu + "class": file("0x030200"), gpu + "vendor": file("0x10de"), "dev/null": file(""),
		nvidiaGPUs + "/0000:18:00.0/information": file("Device Minor: \t 0\n"),
	}
	for name, tc := range map[string]struct {
		open func(string) error
		want host.Fact[bool]
	}{
		"a container without GPUs":              {func(string) error { return nil }, host.Know(false)},
		"a node whose driver is in a container": {nil, host.Fact[bool]{}},
	} {
		if s := Read(root, Probes{OpenDevice: tc.open}); len(s.GPUs) != 1 || s.GPUs[0].Given != tc.want {
			t.Errorf("%s: %+v", name, s.GPUs)
		}
	}
}

func TestRunning(t *testing.T) {
	for name, tc := range map[string]struct {
		flags, operstate string
		want             host.Fact[bool]
	}{
		"up":                             {"0x1003", "up", host.Know(true)},
		"without a state of its own":     {"0x9", "unknown", host.Know(true)},
		"no carrier":                     {"0x1003", "down", host.Know(false)},
		"no carrier below it":            {"0x1003", "lowerlayerdown", host.Know(false)},
		"administratively down":          {"0x1002", "unknown", host.Know(false)},
		"state not there":                {"0x1003", "", host.Fact[bool]{}},
		"state there, flags not readble": {"", "up", host.Know(true)},
	} {
		root := fstest.MapFS{"sys/class/net/net1/ifindex": {Data: []byte("7")}}
		for file, text := range map[string]string{"flags": tc.flags, "operstate": tc.operstate} {
			if text != "" {
				root["sys/class/net/net1/"+file] = &fstest.MapFile{Data: []byte(text + "\n")}
			}
		}
		if l, _ := newSnapshot(root).Link("net1"); l.Running != tc.want {
			t.Errorf("%s: %v, want %v", name, l.Running, tc.want)
		}
	}
}

// TestOpenIsBounded: what is no recording is said to be none, and not waited for.
func TestOpenIsBounded(t *testing.T) {
	dir := t.TempDir()
	pipe, big := filepath.Join(dir, "pipe"), filepath.Join(dir, "big")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxRecording+1); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"/dev/zero": errNotRecording.Error(), pipe: errNoMachine.Error(), big: "larger than 64 MiB", filepath.Join(dir, "none"): syscall.ENOENT.Error(),
	} {
		if _, err := Open(place); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
}

// TestLibrariesOfEnvironments: the library of a virtual environment is found by PATH alone, wherever it is. A recording
// has it, and no other package.
func TestLibrariesOfEnvironments(t *testing.T) {
	file := &fstest.MapFile{}
	const site = "srv/venv/lib/python3.12/site-packages/"
	root := fstest.MapFS{
		"srv/venv/pyvenv.cfg":                        file,
		site + "nvidia/nccl/lib/libnccl.so.2":        file,
		site + "nvidia_nccl_cu13-2.28.9.dist-info/x": file,
		site + "nvidia_nccl_cu13-2.27.0.egg-info/x":  file,
		site + "secret_package/x":                    file,
		"srv/lib/python3.12/site-packages/nvidia/xx": file,
	}
	var s host.Snapshot
	s.Env = map[string]string{"PATH": "/usr/bin:/srv/bin:/srv/venv/bin"}
	readNCCL(newInput(root, Probes{}), &s)
	want := []host.NCCLLibrary{{Path: "/" + site + "nvidia/nccl/lib/libnccl.so.2", Version: "2.28.9"}}
	if diff := cmp.Diff(want, s.NCCL.Libraries); diff != "" {
		t.Error(diff)
	}
	dir := strings.TrimSuffix(site, "/")
	if worthRecording(dir, "secret_package") || !worthRecording(dir, "nvidia_nccl_cu13-2.28.9.dist-info") {
		t.Error("a recording has the wrong packages")
	}
}

// TestConfigFiles: NCCL's files and RCCL's are read, those of the user first, if the user has a home.
func TestConfigFiles(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"etc/passwd":       file("root:x:0:0::/root:/bin/sh\nuser:x:7:0::/:/bin/sh\n"),
		"root/.nccl.conf":  file("NCCL_NET=IB\n"),
		"etc/nccl.conf":    file("# NCCL_NET=x\nNCCL_DEBUG=INFO\nUCX_TLS=tcp\n"),
		"root/.rccl.conf":  file("NCCL_IB_DISABLE=1"),
		"etc/rccl.conf":    file("NCCL_NET=Socket\n"),
		".nccl.conf":       file("NCCL_NET=slash\n"),
		"chosen/nccl.conf": file("NCCL_NET=chosen\n"),
	}
	for _, tc := range []struct {
		uid  int
		env  map[string]string
		want []string
	}{
		{0, nil, []string{
			"/root/.nccl.conf NCCL_NET=IB", "/etc/nccl.conf NCCL_DEBUG=INFO", "/root/.rccl.conf NCCL_IB_DISABLE=1",
			"/etc/rccl.conf NCCL_NET=Socket",
		}},
		{7, nil, []string{
			"/.nccl.conf NCCL_NET=slash", "/etc/nccl.conf NCCL_DEBUG=INFO", "/etc/rccl.conf NCCL_NET=Socket",
		}},
		{8, map[string]string{"NCCL_CONF_FILE": "/chosen/nccl.conf"}, []string{
			"/chosen/nccl.conf NCCL_NET=chosen", "/etc/nccl.conf NCCL_DEBUG=INFO", "/etc/rccl.conf NCCL_NET=Socket",
		}},
	} {
		in := newInput(root, Probes{UID: func() int { return tc.uid }})
		var got []string
		for _, v := range ncclConfig(in, tc.env) {
			got = append(got, v.File+" "+v.Name+"="+v.Value)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("user %d (-want +got):\n%s", tc.uid, diff)
		}
	}
	want := []host.ConfigVar{{File: "f", Name: "NCCL_IB_HCA", Value: "mlx5_6\r"}, {File: "f", Name: "NCCL_NET", Value: "IB"}}
	if diff := cmp.Diff(want, parseNCCLConfig("f", "NCCL_IB_HCA=mlx5_6\r\nNCCL_NET=IB\n")); diff != "" {
		t.Errorf("a file with line ends of Windows, which NCCL takes for part of the value (-want +got):\n%s", diff)
	}
	if kept := allowed("etc/rccl.conf", "NCCL_NET=IB\nTOKEN=x\n", 0); kept != "NCCL_NET=IB\n" {
		t.Errorf("a recording has %q", kept)
	}
}
