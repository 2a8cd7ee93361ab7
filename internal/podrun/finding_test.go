//go:build linux

package podrun

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

func TestMemlockWords(t *testing.T) {
	for _, tc := range []struct {
		name   string
		m      Memlock
		want   string
		enough bool
	}{
		{"no limit", Memlock{Soft: host.Unlimited, Hard: host.Unlimited}, "unlimited", true},
		{"whole unit", Memlock{Soft: 64 << 10}, "64 KiB", false},
		{"between two units", Memlock{Soft: 3 << 29}, "1.5 GiB", false},
		{"below a unit", Memlock{Soft: 1023}, "1023 B", false},
		{
			"all the memory there is",
			Memlock{Soft: 2 << 30, limits: host.Limits{MemTotal: host.Know[uint64](2 << 30)}},
			"2 GiB",
			true,
		},
		{
			"less than the memory",
			Memlock{Soft: 2<<30 - 1<<29, limits: host.Limits{MemTotal: host.Know[uint64](2 << 30)}},
			"1.5 GiB",
			false,
		},
		{
			"capability", Memlock{Soft: 8 << 20, IPCLock: true, How: "CAP_IPC_LOCK of uid 0"},
			"none applies to the command (CAP_IPC_LOCK of uid 0; the rlimit stays 8 MiB)", true,
		},
		{
			"limit not readable",
			Memlock{Err: errors.New("function not implemented")},
			"not known (function not implemented)",
			false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.m.String(); got != tc.want {
				t.Errorf("String() = %q, want %q", got, tc.want)
			}
			if _, short := tc.m.Finding(); tc.m.Enough() != tc.enough || short == tc.enough {
				t.Errorf("enough %v, finding %v, want %v, %v", tc.m.Enough(), short, tc.enough, !tc.enough)
			}
		})
	}
}

func TestMemlockFindingStatus(t *testing.T) {
	for _, tc := range []struct {
		name string
		m    Memlock
		want check.Status
	}{
		{"less than any training needs", Memlock{Soft: 1<<30 - 1}, check.Fail},
		{"enough for a small job", Memlock{Soft: 1 << 30}, check.Warn},
		{"limit not readable", Memlock{Err: errors.New("function not implemented")}, check.Unknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if f, short := tc.m.Finding(); !short || f.Status != tc.want {
				t.Errorf("finding %v with status %s, want %s", short, f.Status, tc.want)
			}
		})
	}
}

func TestMemlockEvidence(t *testing.T) {
	f, _ := Memlock{Soft: 8 << 20, Hard: host.Unlimited, limits: host.Limits{
		UID: host.Know(1000), CapEff: host.Know(host.Caps(0)), CapBnd: host.Know(host.Caps(1 << host.CapIPCLock)),
	}}.Finding()
	want := []check.Evidence{
		{Source: "/proc/self/limits", Got: "Max locked memory 8388608 soft, unlimited hard", Want: "unlimited"},
		{
			Source: "/proc/self/status", Got: "Uid 1000, CapEff 0000000000000000, CapBnd 0000000000004000",
			Want: "CAP_SYS_RESOURCE (bit 24) or CAP_IPC_LOCK (bit 14) in CapEff",
		},
	}
	if diff := cmp.Diff(want, f.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestMemlockMachineConfig reads the administrator's fix as a machine would.
func TestMemlockMachineConfig(t *testing.T) {
	var machineConfig struct {
		APIVersion, Kind string
		Metadata         struct{ Labels map[string]string }
		Spec             struct {
			Config struct {
				Storage struct {
					Files []struct {
						Path      string
						Mode      int
						Overwrite bool
						Contents  struct{ Source string }
					}
				}
			}
		}
	}
	f, _ := Memlock{Soft: 64 << 10}.Finding()
	if err := yaml.Unmarshal([]byte(f.Fix.Commands[0]), &machineConfig); err != nil {
		t.Fatal(err)
	}
	files := machineConfig.Spec.Config.Storage.Files
	if machineConfig.Kind != "MachineConfig" || len(files) != 1 || files[0].Mode != 0o644 {
		t.Fatalf("not one file with mode 0644: %+v", machineConfig)
	}
	data, isData := strings.CutPrefix(files[0].Contents.Source, "data:,")
	got, err := url.PathUnescape(data)
	if err != nil || !isData {
		t.Fatalf("source %q: %v", files[0].Contents.Source, err)
	}
	want := "[crio.runtime]\ndefault_ulimits = [\n  \"memlock=-1:-1\",\n]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", files[0].Path, diff)
	}
}
