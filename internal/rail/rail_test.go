package rail

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
)

func TestPluginInfo(t *testing.T) {
	const two = `{"0000:18:00.5":{"generic":{"deviceID":"0000:18:00.5"},` +
		`"rdma":{"rdma_dev":"mlx5_6","uverbs":"/dev/infiniband/uverbs6"}},` +
		`"mlx5_core.sf.4":{"generic":{"deviceID":"mlx5_core.sf.4"},"rdma":{"uverbs":"/dev/infiniband/uverbs9"}}}`
	first := pluginDevice{ID: "0000:18:00.5", RDMADevice: "mlx5_6", Uverbs: "/dev/infiniband/uverbs6"}
	second := pluginDevice{ID: "mlx5_core.sf.4", Uverbs: "/dev/infiniband/uverbs9"}
	for name, c := range map[string]struct {
		text   string
		want   []pluginDevice
		failed bool
	}{
		"two devices, one a subfunction": {two, []pluginDevice{first, second}, false},
		"torn in the second":             {two[:len(two)-20], []pluginDevice{first}, true},
		"torn in the first":              {two[:30], nil, true},
		"empty object":                   {"{}", nil, false},
		"vfio": {
			`{"a":{"generic":{},"vfio":{"mount":"/dev/vfio/1"}}}`, []pluginDevice{{ID: "a", NonRDMA: true}},
			false,
		},
		"values of other types": {
			`{"a":{"generic":7,"rdma":{"rdma_dev":["x"],"uverbs":null}}}`, []pluginDevice{{ID: "a"}}, false,
		},
		"not JSON": {"hello", nil, true},
		"nothing":  {"", nil, true},
	} {
		got, err := parsePluginInfo(c.text)
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.failed {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func FuzzPluginInfo(f *testing.F) {
	f.Add(`{"0000:18:00.5":{"rdma":{"rdma_dev":"mlx5_6"}}}`)
	f.Add(`{"a":{"b":[1,{"c":"d"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := parsePluginInfo(text)
		var want map[string]map[string]map[string]string
		object := strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &want) == nil
		if !object || strings.ContainsAny(text, `\`) || !utf8.ValidString(text) {
			return // encoding/json decides what is whole
		}
		if err != nil {
			t.Fatalf("%q is whole: %v", text, err)
		}
		for _, d := range devices {
			if _, ok := want[d.ID]; !ok {
				t.Errorf("%q: invented %q", text, d.ID)
			}
		}
	})
}

func function(path ...string) host.Function {
	p := host.PCIPath{HostBridge: path[0]}
	for _, hop := range path[1:] {
		a, err := host.ParsePCIAddress(hop)
		if err != nil {
			panic(err)
		}
		p.Hops = append(p.Hops, a)
	}
	return host.Function{Path: host.Know(p), NUMANode: host.Know(0)}
}

func TestBetween(t *testing.T) {
	gpu := function("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:18:00.0")
	other := function("pci0000:95", "0000:95:01.0", "0000:96:00.0")
	other.NUMANode = host.Know(1)
	for want, b := range map[Distance]host.Function{
		PIX: function("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:01.0", "0000:1a:00.2"),
		PXB: function("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:02.0",
			"0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"),
		PHB:        function("pci0000:15", "0000:15:02.0", "0000:20:00.0"),
		NODE:       function("pci0000:2a", "0000:2a:01.0", "0000:2b:00.0"),
		SYS:        other,
		Unmeasured: {},
	} {
		if got := Between(gpu, b, 2); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRealEnvironments reads the variables of other people's pods.
func TestRealEnvironments(t *testing.T) {
	want := map[string]string{ // by the variables' names, in order
		"01-list-two-vfs.env":           "0000:03:02.1, 0000:03:04.3",
		"05-info-fec-truncated.env":     "0000:8b:01.5",
		"06-info-kata-generic.env":      "0000:1a:01.0, 0000:1b:02.0",
		"08-kubevirt-vdpa.env":          "0000:cc:00.2, 0000:cc:00.3, 0000:cc:00.2, 0000:cc:00.3",
		"09-vfio-noiommu-group0.env":    "0000:02:00.0, 0000:02:00.0, 0000:03:00.0",
		"11-rdma-dev-only-live-pod.env": "0000:19:00.6, 0000:19:00.6 mlx5_18",
		"13-three-resources.env":        "0000:00:06.0, 0000:00:07.0, 0000:00:08.0",
		"14-fec-acc100.env":             "0000:b0:00.0",
		"16-app-netutil.env":            "0000:01:02.5, 0000:01:0a.4",
		"19-hostdev.env":                "0000:64:00.0",
	}
	for _, file := range corpustest.Files(t, "pcidevice") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		environ := func() []string { return strings.Split(string(text), "\n") }
		s := sysfs.Read(os.DirFS(t.TempDir()), sysfs.Probes{Environ: environ})
		j := judge{s: &s}
		var got []string
		for _, c := range j.collect() {
			got = append(got, strings.TrimSpace(c.id+" "+c.rdmaDevice))
		}
		named, known := want[filepath.Base(file)]
		if diff := cmp.Diff(named, strings.Join(got, ", ")); known && diff != "" {
			t.Errorf("%s: what was given (-want +got):\n%s", filepath.Base(file), diff)
		}
		if r := Resolve(s, Pod); len(r.Rails) != 0 {
			t.Errorf("%s: rails without devices: %v", filepath.Base(file), r.Rails)
		}
	}
}
