package setup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

func TestPassthrough(t *testing.T) {
	arm := node("a", "", "c", "worker")
	arm.Arch = "arm64"
	tests := map[string]struct {
		nodes         []cluster.Node
		want, unknown []string
	}{
		"intel": {[]cluster.Node{node("a", "Intel", "c")}, []string{"intel_iommu=on", "iommu=pt"}, nil},
		"amd":   {[]cluster.Node{node("a", "AMD", "c")}, []string{"iommu=pt"}, nil},
		"intel and amd": {
			[]cluster.Node{node("a", "AMD", "c"), node("b", "Intel", "c")},
			[]string{"intel_iommu=on", "iommu=pt"},
			nil,
		},
		"vendor not labelled": {
			[]cluster.Node{node("a", "", "c"), node("b", "AMD", "c")},
			[]string{"intel_iommu=on", "iommu=pt"},
			[]string{"a"},
		},
		"arm64":         {[]cluster.Node{arm}, []string{"iommu.passthrough=1"}, nil},
		"arm64 and amd": {[]cluster.Node{arm, node("b", "AMD", "c")}, []string{"iommu=pt", "iommu.passthrough=1"}, nil},
		"no nodes":      {nil, []string{"intel_iommu=on", "iommu=pt"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, unknown := passthrough(test.nodes)
			if diff := cmp.Diff([][]string{test.want, test.unknown}, [][]string{got, unknown}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, a := range got {
				if strings.HasPrefix(a, "amd_iommu") {
					t.Errorf("%s is no kernel option", a)
				}
			}
		})
	}
}

func TestMissingArguments(t *testing.T) {
	tests := map[string]struct{ have, want, missing []string }{
		"nothing there": {
			nil,
			[]string{"intel_iommu=on", "iommu=pt"},
			[]string{"intel_iommu=on", "iommu=pt"},
		},
		"Intel's is on": {
			[]string{"intel_iommu=on"},
			[]string{"intel_iommu=on", "iommu=pt"},
			[]string{"iommu=pt"},
		},
		"passthrough is enough": {[]string{"iommu=pt"}, []string{"intel_iommu=on", "iommu=pt"}, []string{}},
		"all there": {
			[]string{"iommu=pt", "quiet", "intel_iommu=on"},
			[]string{"intel_iommu=on", "iommu=pt"},
			[]string{},
		},
		"other spelling": {[]string{"iommu.passthrough=1"}, []string{"iommu=pt"}, []string{}},
		"iommu=pt has no effect on arm64": {
			[]string{"iommu=pt"},
			[]string{"iommu.passthrough=1"},
			[]string{"iommu.passthrough=1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.missing, missingArguments(test.have, test.want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// limits is a drop-in with a list of limits.
func limits(name string, entries ...string) cluster.File {
	quoted := make([]string, 0, len(entries))
	for _, e := range entries {
		quoted = append(quoted, fmt.Sprintf("%q", e))
	}
	return crio(name, "[crio.runtime]\ndefault_ulimits = ["+strings.Join(quoted, ", ")+"]\n")
}

func TestUlimitsOf(t *testing.T) {
	tests := map[string]struct {
		configs []cluster.MachineConfig
		entries []string
		last    string
		free    bool
		unread  []string
	}{
		"none sets them": {configs: []cluster.MachineConfig{config("01-a", "worker", crio("00-default", crioDefault))}},
		"the last file by its name wins": {
			configs: []cluster.MachineConfig{
				config("99-z", "worker", limits("10-a.conf", "memlock=-1:-1")),
				config("50-b", "worker", limits("20-b.conf", "nofile=1024")),
			},
			entries: []string{"nofile=1024"},
			last:    "20-b.conf",
		},
		"one path in two configs: the later config wins": {
			configs: []cluster.MachineConfig{
				config("50-b", "worker", limits("a.conf", "nofile=1")),
				config("99-z", "worker", limits("a.conf", "nofile=2")),
			},
			entries: []string{"nofile=2"},
			last:    "a.conf",
		},
		"one path: a custom role wins over worker whatever the name": {
			configs: []cluster.MachineConfig{
				config("50-b", "gpu", limits("a.conf", "nofile=1")),
				config("99-z", "worker", limits("a.conf", "nofile=2")),
			},
			entries: []string{"nofile=1"},
			last:    "a.conf",
		},
		"an empty list removes all limits": {
			configs: []cluster.MachineConfig{config("50-b", "worker", limits("a.conf", "nofile=1"), limits("b.conf"))},
			entries: []string{}, last: "b.conf",
		},
		"crio.conf comes before all drop-ins": {
			configs: []cluster.MachineConfig{
				config("50-b", "worker", limits("00-a", "nofile=1"), cluster.File{
					Path:    plan.CRIOConfig,
					Content: "[crio.runtime]\ndefault_ulimits=['memlock=-1']",
				}),
			},
			entries: []string{"nofile=1"},
			last:    "00-a",
		},
		"a folder is read where its name stands": {
			configs: []cluster.MachineConfig{
				config("50-b", "worker", limits("50-a.conf", "nofile=1"), limits("50-a/x", "nofile=2")),
			},
			entries: []string{"nofile=1"},
			last:    "50-a.conf",
		},
		"soft alone is hard, too": {
			configs: []cluster.MachineConfig{config("a", "worker", limits("a", "memlock=-1"))},
			entries: []string{"memlock=-1"},
			last:    "a",
			free:    true,
		},
		"the soft limit counts": {
			configs: []cluster.MachineConfig{config("a", "worker", limits("a", "memlock=65536:-1"))},
			entries: []string{"memlock=65536:-1"},
			last:    "a",
		},
		"the last of two entries of one name": {
			configs: []cluster.MachineConfig{config("a", "worker", limits("a", "memlock=-1", "memlock=1"))},
			entries: []string{"memlock=-1", "memlock=1"},
			last:    "a",
		},
		"no TOML": {
			configs: []cluster.MachineConfig{config("a", "worker", crio("a", "= ="))},
			last:    "a",
			unread:  []string{"a"},
		},
		"an entry that CRI-O rejects": {
			configs: []cluster.MachineConfig{config("a", "worker", limits("a", "memlock=lots"))},
			last:    "a",
			unread:  []string{"a"},
		},
		"a file with unknown content": {
			configs: []cluster.MachineConfig{
				config("a", "worker", cluster.File{Path: plan.CRIODropIns + "a", Unread: "https"}),
			},
			last:   "a",
			unread: []string{"a"},
		},
		"files elsewhere are no configuration": {
			configs: []cluster.MachineConfig{
				config("a", "worker", cluster.File{Path: "/etc/crio/seccomp.json", Content: "{"}),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := pool("gpu", 1, selectsRoles("worker", "gpu"))
			u := plan.UlimitsOf(plan.CRIOFiles(plan.SelectedConfigs(all, test.configs)))
			var unread []string
			for _, f := range u.Unread {
				unread = append(unread, strings.TrimPrefix(f.Path, plan.CRIODropIns))
				if f.Unread == "" {
					t.Errorf("%s: no reason", f.Path)
				}
			}
			got := []any{u.Entries, strings.TrimPrefix(u.Last, plan.CRIODropIns), u.MemlockUnlimited(), unread}
			if diff := cmp.Diff([]any{test.entries, test.last, test.free, test.unread}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMemlockFile(t *testing.T) {
	const plain = "# RDMA pins the memory that it registers. Written by `railhead setup cluster`.\n[crio.runtime]\n" +
		"default_ulimits = [\n  \"memlock=-1:-1\",\n]\n"
	tests := map[string]struct {
		keep []string
		last string
		want cluster.File
	}{
		"alone": {nil, "", crio("99-rdma-memlock.conf", plain)},
		"after others": {
			nil,
			plan.CRIODropIns + "99-nofile.conf",
			crio("99-rdma-memlock.conf", plain),
		},
		"one is read later": {
			nil,
			plan.CRIODropIns + "99-ulimits.conf",
			crio("zz-rdma-memlock.conf", plain),
		},
		"one has the same name": {
			nil,
			plan.CRIODropIns + "99-rdma-memlock.conf",
			crio("zz-rdma-memlock.conf", plain),
		},
		"one is read after zz": {
			nil,
			plan.CRIODropIns + "zzz.conf",
			crio("zzz.conf-rdma-memlock.conf", plain),
		},
		"after the main file": {nil, plan.CRIOConfig, crio("99-rdma-memlock.conf", plain)},
		"the limits of others come first": {
			[]string{"nofile=1024:2048"},
			"",
			crio("99-rdma-memlock.conf", strings.Replace(plain, "  \"mem", "  \"nofile=1024:2048\",\n  \"mem", 1)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := memlockFile(test.keep, test.last)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			entries, set, err := plan.DefaultUlimits(got.Content)
			if diff := cmp.Diff(append(test.keep, plan.UnlimitedMemlock), entries); diff != "" || !set || err != nil {
				t.Errorf("read back: %v %v (-want +got):\n%s", set, err, diff)
			}
		})
	}
}

// FuzzDefaultUlimits: limits that are read from a file are written and read back unchanged.
func FuzzDefaultUlimits(f *testing.F) {
	for _, text := range []string{
		"", crioDefault, "[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n",
		"crio.runtime.default_ulimits = ['nofile=1:2']",
		"[crio.runtime]\ndefault_ulimits = 5", "[[crio]]\n", "default_ulimits = [\"memlock=-1\"]",
		"[crio.runtime]\ndefault_ulimits = [\"a=b\"]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		entries, set, err := plan.DefaultUlimits(text)
		if err != nil || !set {
			return
		}
		again, set, err := plan.DefaultUlimits(memlockFile(entries, "").Content)
		if err != nil || !set {
			t.Fatalf("%q is written as what is no list: %v", entries, err)
		}
		if diff := cmp.Diff(append(entries, plan.UnlimitedMemlock), again); diff != "" {
			t.Errorf("(-read +written):\n%s", diff)
		}
	})
}
