package machine

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/rail"
)

const portDown = "host-port-down"

// A port that is not ACTIVE is a fault if its card should be a rail: by the GPU beside it, and by equal cards.
func TestLostPorts(t *testing.T) {
	state := func(value string, devices ...string) hosttest.Edit {
		files := map[string]string{}
		for _, d := range devices {
			files[d+"/ports/1/state"] = value
		}
		return hosttest.Edit{Files: files}
	}
	withoutGPUs := func(s *host.Snapshot) { s.GPUs = nil }
	// flat puts every function on a host bridge of its own, as virtual machines do.
	flat := func(s *host.Snapshot) {
		for i := range s.GPUs {
			f := &s.GPUs[i].Function
			f.Path = host.Know(host.PCIPath{HostBridge: "pci-gpu" + f.Address.String()})
		}
	}
	for name, test := range map[string]struct {
		edit   hosttest.Edit
		change func(*host.Snapshot)
		want   []string
	}{
		"one rail, and an idle port of another board": {
			want: []string{
				"fail mlx5_4 (0000:5e:00.0), the rail of GPU3, is DOWN (Polling): 7 of 8 equal cards are ACTIVE",
				"pass mlx5_2 (0000:29:00.0) is DOWN (Polling): it is not the rail of a GPU, by its place and its equal cards",
			},
		},
		"all rails, as behind a switch without power": {
			edit: state("1: DOWN", "mlx5_0", "mlx5_1", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"),
			want: []string{
				"fail mlx5_0 (", "fail mlx5_1 (", "fail mlx5_3 (",
				"fail mlx5_4 (0000:5e:00.0), the rail of GPU3, is DOWN (Polling): 0 of 8 equal cards are ACTIVE",
				"fail mlx5_6 (", "fail mlx5_7 (", "fail mlx5_8 (", "fail mlx5_9 (", "pass mlx5_2 (",
			},
		},
		"no subnet manager at one rail": {
			edit: state("2: INIT", "mlx5_4"),
			want: []string{"fail mlx5_4 (0000:5e:00.0), the rail of GPU3, is INIT", "pass mlx5_2 ("},
		},
		"a machine without GPUs": {
			change: withoutGPUs, want: []string{"pass mlx5_2 (", "pass mlx5_4 ("},
		},
		"a machine that hides which cards are beside its GPUs": {
			change: flat, want: []string{"fail mlx5_4 (0000:5e:00.0) is DOWN (Polling): 7 of 8", "pass mlx5_2 ("},
		},
		"all rails are ACTIVE": {
			edit: state("4: ACTIVE", "mlx5_4"), want: []string{"pass mlx5_2 ("},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := hosttest.Edited(t, portDown, test.edit)
			if test.change != nil {
				test.change(&s)
			}
			var got []string
			for _, f := range Node(s).AtLeast(check.Pass) {
				if f.Check == rail.PortActive {
					got = append(got, f.Status.String()+" "+f.Summary)
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("found %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("found %q, want %q", got[i], want)
				}
			}
		})
	}
}

// The distance of the GPU whose rail is down is no finding of its own: its fix would hide the fault.
func TestDistanceFollowsFromPort(t *testing.T) {
	s := hosttest.Read(t, portDown)
	for _, f := range Pod(s, Options{Scope: rail.Host}).Findings {
		if f.Fix != nil && strings.Contains(strings.Join(f.Fix.Commands, " "), "--gdr-level") {
			t.Errorf("%s: %s", f.Check, f.Summary)
		}
	}
}
