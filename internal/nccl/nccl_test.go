package nccl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rail"
)

func TestFilterGrammar(t *testing.T) {
	ports := []string{"mlx5_1:1", "mlx5_10:1", "mlx5_2:2"}
	for value, want := range map[string]string{
		"":                  "mlx5_1:1 mlx5_10:1 mlx5_2:2",
		"=":                 "mlx5_1:1 mlx5_10:1 mlx5_2:2",
		"^":                 "",
		"mlx5_1":            "mlx5_1:1 mlx5_10:1",
		"=mlx5_1":           "mlx5_1:1",
		"^=mlx5_1":          "mlx5_10:1 mlx5_2:2",
		"=^mlx5_1":          "",
		"mlx5_2:1":          "",
		"mlx5_2:2":          "mlx5_2:2",
		"mlx5_2:0":          "",
		"mlx5_1, mlx5_2":    "mlx5_1:1 mlx5_10:1",
		"=mlx5_2:2:1:0":     "mlx5_2:2",
		"=mlx5_10::0:0":     "mlx5_10:1",
		"=mlx5_10:":         "",
		",,=":               "",
		"=mlx5_10:1,mlx5_2": "mlx5_10:1 mlx5_2:2",
	} {
		f := hcaFilter(value, nil)
		var got []string
		for _, name := range ports {
			device, port, _ := strings.Cut(name, ":")
			if f.selects(device, host.Atoi(port)) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q selects %v, want %s", value, got, want)
		}
	}
}

func gid(index int, addr, kind string) host.GID {
	a, err := host.ParseGID(addr)
	if err != nil {
		panic(err)
	}
	return host.GID{Index: index, Addr: a, Type: host.Know(kind)}
}

func find(vars []Var, name string) Var {
	for _, v := range vars {
		if v.Name == name {
			return v
		}
	}
	return Var{}
}

func pod(t *testing.T, name string) (host.Snapshot, []rail.Rail) {
	t.Helper()
	m, err := sysfs.Open("../../testdata/hosts/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := m.Snapshot()
	return s, rail.Resolve(s, rail.Pod).Rails
}

func TestGIDIndexByVersion(t *testing.T) {
	for _, c := range []struct{ host, version, variable, value string }{
		{"pod-roce-4vf", "2.20.5", "NCCL_IB_GID_INDEX", "3"},
		{"pod-roce-4vf", "2.21.5", "NCCL_IB_GID_INDEX", ""},
		{"pod-roce-4vf", "2.27.3", "NCCL_IB_GID_INDEX", ""},
		{"pod-roce-4vf", "", "NCCL_IB_GID_INDEX", "3"},
		{"pod-macvlan-shifted", "2.27.3", "NCCL_IB_ADDR_RANGE", "10.30.8.0/23"},
		{"pod-shared-plugin", "2.20.5", "NCCL_IB_GID_INDEX", "7"},
		{"pod-infiniband-4vf", "2.20.5", "NCCL_IB_GID_INDEX", ""},
	} {
		s, rails := pod(t, c.host)
		s.NCCL.Libraries = nil
		if c.version != "" {
			s.NCCL.Libraries = []host.NCCLLibrary{{Path: "/lib/libnccl.so." + c.version, Version: c.version}}
		}
		vars, _ := Compute(rails, s, Policy{})
		if got := find(vars, c.variable).Value; got != c.value {
			t.Errorf("%s with NCCL %q: %s=%q, want %q", c.host, c.version, c.variable, got, c.value)
		}
	}
}

func TestUserSettings(t *testing.T) {
	s, rails := pod(t, "pod-roce-4vf")
	s.Env["NCCL_IB_HCA"] = "=mlx5_6:1"
	s.NCCL.Config = []host.ConfigVar{{File: "/etc/nccl.conf", Name: "NCCL_NET", Value: "Socket"}}
	vars, findings := Compute(rails, s, Policy{})
	if v := find(vars, "NCCL_IB_HCA"); v.Source != UserSet || v.Value != "=mlx5_6:1" {
		t.Errorf("kept: %+v", v)
	}
	ids := map[string]bool{}
	for _, f := range findings {
		ids[string(f.Check)] = true
	}
	if !ids["hca-filter"] || !ids["network-choice"] {
		t.Errorf("findings: %v", findings)
	}
	vars, findings = Compute(rails, s, Policy{Override: true})
	if v := find(vars, "NCCL_NET"); v.Value != "IB" || len(findings) != 0 {
		t.Errorf("override: %+v, findings %v", v, findings)
	}
}

func TestFormats(t *testing.T) {
	vars := []Var{{"A", "=x", "why", Computed}, {"NCCL_B", "it's", "r", Computed}, {"NCCL_C", "", "left", LeftUnset}}
	for format, want := range map[string]string{
		"shell":     "export A='=x'\nexport NCCL_B='it'\\''s'\nunset NCCL_C\n",
		"dotenv":    "A==x\nNCCL_B=it's\n",
		"nccl-conf": "NCCL_B=it's\n",
	} {
		got, err := Format(vars, format, false)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", format, err, diff)
		}
	}
	if _, err := Format(vars, "xml", false); err == nil {
		t.Error("an unknown format was accepted")
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("^=mlx5_1:1,mlx5_2", "mlx5_1")
	f.Fuzz(func(t *testing.T, value, device string) {
		filter := hcaFilter(value, nil)
		opposite := filter
		opposite.exclude = !filter.exclude
		if filter.selects(device, 1) == opposite.selects(device, 1) {
			t.Errorf("%q: ^ does not invert", value)
		}
	})
}
