package deviceplugin

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine makes a root of what testdata/sysfs.txt says, and of more lines like those.
func machine(t *testing.T, more ...string) (fs.FS, string) {
	t.Helper()
	f, err := os.Open("testdata/sysfs.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root := t.TempDir()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "#") {
			put(t, root, lines.Text())
		}
	}
	for _, line := range more {
		put(t, root, line)
	}
	return os.DirFS(root), root
}

func put(t *testing.T, root, line string) {
	t.Helper()
	path, target, link := strings.Cut(line, " -> ")
	content := ""
	if !link {
		path, content, _ = strings.Cut(line, " =")
	}
	file := filepath.Join(root, path)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil && link {
		err = os.Symlink(target, file)
	} else if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(strings.TrimPrefix(content, " "), ";", "\n")), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const vf0 = "sys/devices/pci0000:00/0000:00:05.0/0000:01:10.0"

func TestFind(t *testing.T) {
	second := device{"0000:01:10.2", []string{"mlx5_1"}, []string{"/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm"}}
	tests := []struct {
		name  string
		more  []string
		spoil func(t *testing.T, root string)
		want  []device
	}{
		{
			name: "two virtual functions",
			want: []device{
				{"0000:01:10.0", []string{"mlx5_0"}, []string{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"}},
				second,
			},
		},
		{
			name: "with management datagrams",
			more: []string{
				"sys/class/infiniband_mad/umad0/ibdev = mlx5_0;",
				"sys/class/infiniband_mad/issm0/ibdev = mlx5_0;",
			},
			want: []device{{"0000:01:10.0", []string{"mlx5_0"}, []string{
				"/dev/infiniband/issm0", "/dev/infiniband/umad0", "/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm",
			}}, second},
		},
		{
			name: "two RDMA devices on one function",
			more: []string{
				vf0 + "/infiniband/mlx5_9/node_guid = 1;",
				"sys/class/infiniband_verbs/uverbs9/ibdev = mlx5_9;",
			},
			want: []device{{"0000:01:10.0", []string{"mlx5_0", "mlx5_9"}, []string{
				"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs9",
			}}, second},
		},
		{
			name:  "a function without RDMA device is left out",
			spoil: func(t *testing.T, root string) { remove(t, root, vf0+"/infiniband") },
			want:  []device{second},
		},
		{
			name:  "no connection manager",
			spoil: func(t *testing.T, root string) { remove(t, root, "dev/infiniband/rdma_cm") },
			want: []device{
				{"0000:01:10.0", []string{"mlx5_0"}, []string{"/dev/infiniband/uverbs0"}},
				{"0000:01:10.2", []string{"mlx5_1"}, []string{"/dev/infiniband/uverbs1"}},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, folder := machine(t, tt.more...)
			if tt.spoil != nil {
				tt.spoil(t, folder)
			}
			got, err := find(root, "eno5np0")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(device{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func remove(t *testing.T, root, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
		t.Fatal(err)
	}
}

func TestFindNoCard(t *testing.T) {
	root, _ := machine(t)
	if got, err := find(root, "eno7np0"); err == nil {
		t.Errorf("devices of a card that is not there: %v", got)
	}
}

// TestEnvironment holds what containers got from sriov-network-device-plugin v3.11.0 on such a machine.
func TestEnvironment(t *testing.T) {
	first := device{"0000:01:10.0", []string{"mlx5_0"}, []string{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"}}
	second := device{"0000:01:10.2", []string{"mlx5_1"}, []string{"/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm"}}
	tests := []struct {
		name     string
		resource string
		devices  []device
		want     map[string]string
	}{
		{
			name: "one device", resource: "openshift.io/eno5np0rdma", devices: []device{second},
			want: map[string]string{
				"PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA": "0000:01:10.2",
				"PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA_INFO": `{"0000:01:10.2":{"generic":{"deviceID":"0000:01:10.2"},` +
					`"rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_1",` +
					`"uverbs":"/dev/infiniband/uverbs1"}}}`,
			},
		},
		{
			name:     "two devices: the list in the kubelet's order, the object sorted",
			resource: "openshift.io/eno5np0rdma", devices: []device{second, first},
			want: map[string]string{
				"PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA": "0000:01:10.2,0000:01:10.0",
				"PCIDEVICE_OPENSHIFT_IO_ENO5NP0RDMA_INFO": `{"0000:01:10.0":{"generic":{"deviceID":"0000:01:10.0"},` +
					`"rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_0",` +
					`"uverbs":"/dev/infiniband/uverbs0"}},"0000:01:10.2":{"generic":{"deviceID":"0000:01:10.2"},` +
					`"rdma":{"rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_1",` +
					`"uverbs":"/dev/infiniband/uverbs1"}}}`,
			},
		},
		{
			name: "a dash stays", resource: "nvidia.com/net-dev",
			devices: []device{{"0000:18:00.5", []string{"mlx5_6"}, []string{
				"/dev/infiniband/issm6", "/dev/infiniband/umad6", "/dev/infiniband/uverbs6", "/dev/infiniband/rdma_cm",
			}}},
			want: map[string]string{
				"PCIDEVICE_NVIDIA_COM_NET-DEV": "0000:18:00.5",
				"PCIDEVICE_NVIDIA_COM_NET-DEV_INFO": `{"0000:18:00.5":{"generic":{"deviceID":"0000:18:00.5"},` +
					`"rdma":{"issm":"/dev/infiniband/issm6","rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_6",` +
					`"umad":"/dev/infiniband/umad6","uverbs":"/dev/infiniband/uverbs6"}}}`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := environment(tt.resource, tt.devices)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseResource(t *testing.T) {
	want := Resource{"openshift.io/eno5np0rdma", "eno5np0"}
	if got, err := ParseResource(want.String()); err != nil || got != want {
		t.Errorf("ParseResource(%q) = %v, %v", want.String(), got, err)
	}
	for _, text := range []string{
		"",
		"openshift.io/x",
		"x=eno5np0",
		"/x=eno5np0",
		"openshift.io/=eno5np0",
		"openshift.io/x=",
	} {
		if got, err := ParseResource(text); err == nil {
			t.Errorf("ParseResource(%q) = %v", text, got)
		}
	}
}
