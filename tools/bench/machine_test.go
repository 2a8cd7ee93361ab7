package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
)

func TestMachines(t *testing.T) {
	for _, m := range []spec{
		{hcas: 8, owned: 8, gids: 16},
		{hcas: 32, owned: 32, gids: 32, crowded: true},
		{hcas: 32, owned: 4, gids: 16, privileged: true},
		{hcas: 32, owned: 4, gids: 16},
	} {
		t.Run(m.String(), func(t *testing.T) {
			want := facts{
				Devices:  m.hcas,
				Openable: m.owned,
				GIDs:     4,
				Links:    2 + m.owned,
				GPUs:     cards,
				Statuses: 1 + m.owned,
			}
			if m.privileged {
				want.Openable = m.hcas
			}
			if m.crowded {
				want.GIDs = m.gids
			}
			s := snapshot(t, m)
			if diff := cmp.Diff(want, factsOf(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(s.Problems) > 0 {
				t.Errorf("problems: %v", s.Problems)
			}
		})
	}
}

func TestOwnedDevices(t *testing.T) {
	want := []string{"mlx5_0", "mlx5_16", "mlx5_24", "mlx5_8"}
	if diff := cmp.Diff(want, spec{hcas: 32, owned: 4, gids: 4}.ownedDevices()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDevicesOfHCAFilter(t *testing.T) {
	for value, want := range map[string][]string{
		"=mlx5_1:1,mlx5_0:1": {"mlx5_0", "mlx5_1"},
		"mlx5_0":             {"mlx5_0"},
		"":                   {""},
	} {
		if got := devices(value); !slices.Equal(got, want) {
			t.Errorf("devices(%q) = %q, want %q", value, got, want)
		}
	}
}

// facts that a made-up machine must show when it is read as a real one.
type facts struct{ Devices, Openable, GIDs, Links, GPUs, Statuses int }

func factsOf(s host.Snapshot) facts {
	f := facts{Devices: len(s.Devices), Links: len(s.Links), GPUs: len(s.GPUs), Statuses: len(s.NetworkStatus)}
	for _, u := range s.Uverbs {
		if u.Access == host.Openable {
			f.Openable++
		}
	}
	for _, d := range s.Devices {
		for _, p := range d.Ports {
			f.GIDs = len(p.GIDs)
		}
	}
	return f
}

func snapshot(t *testing.T, m spec) host.Snapshot {
	t.Helper()
	text, err := m.archive()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := replay.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := sysfs.Recorded(archive)
	if err != nil {
		t.Fatal(err)
	}
	return machine.Snapshot()
}
