package fleet_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// fault is a job of some pods and what is wrong with them.
type fault struct {
	pods   int
	change func([]fleet.Machine)
	want   check.ID // "": nothing
	says   []string
}

// of returns a change of one pod of a job.
func of(pod int, change func(*fleet.Machine)) func([]fleet.Machine) {
	return func(m []fleet.Machine) { change(&m[pod]) }
}

// devicesOf returns a change of the devices of one pod.
func devicesOf(pod int, change func(*host.Device)) func([]fleet.Machine) {
	return of(pod, func(m *fleet.Machine) { rulestest.EachDevice(m, change) })
}

func faults() map[string]fault {
	return map[string]fault{
		"healthy":       {pods: 40},
		"one pod alone": {pods: 1},
		"no pod":        {},
		"the network drops packets": {
			pods: 2,
			change: func(m []fleet.Machine) {
				connect(&m[0], 17, 42, 1000, 5, host.StateRTS)
				connect(&m[1], 42, 17, 5, 990, host.StateRTS)
			},
			want: fleet.WireLost,
			says: []string{"1 connection: from pod/train/h-kim-1 mlx5_", " to pod/train/h-kim-2 mlx5_"},
		},
		"the peer gave up": {
			pods: 2,
			change: func(m []fleet.Machine) {
				connect(&m[0], 17, 42, 1000, 5, host.StateRTS)
				connect(&m[1], 42, 17, 5, 1000, host.StateError)
			},
			want: fleet.WirePeerGone,
			says: []string{"1 connection lost the other end"},
		},
		"the pods talk over TCP": {
			pods: 2,
			change: func(m []fleet.Machine) {
				move(&m[0], 1e9)
				move(&m[1], 1e9)
			},
			want: fleet.WireTCP,
			says: []string{"not RDMA: 16 Gb/s over eth0, and no queue pair is connected"},
		},
		"one pod leaves out a rail": {
			pods: 3,
			change: func(m []fleet.Machine) {
				move(&m[0], 0, "mlx5_6", "mlx5_7", "mlx5_10", "mlx5_11")
				move(&m[1], 0, "mlx5_6", "mlx5_7", "mlx5_10")
				move(&m[2], 0, "mlx5_6", "mlx5_7", "mlx5_10", "mlx5_11")
			},
			want: fleet.WireIdleRail,
			says: []string{"1 rail without a queue pair", "pod/train/h-kim-2 mlx5_11"},
		},
		"no pod uses one of the rails": {
			pods: 3,
			change: func(m []fleet.Machine) {
				for i := range m {
					move(&m[i], 1e9, "mlx5_6", "mlx5_7", "mlx5_10")
				}
			},
		},
		"the pods download": {
			pods: 2,
			change: func(m []fleet.Machine) {
				for i := range m {
					move(&m[i], 1e9)
					m[i].Snapshot.Earlier.Wire.Value.Links[0].Sent = host.Know[uint64](1e9)
				}
			},
		},
		"three of forty have a smaller MTU": {
			pods: 40,
			change: func(m []fleet.Machine) {
				for _, i := range []int{3, 7, 20} {
					rulestest.SmallMTU(&m[i])
				}
			},
			want: fleet.MTU,
			says: []string{
				"on 37 of 40 pods the MTU of the rails is 9000",
				"1500 on pod/train/h-kim-4 on gpu-4, pod/train/h-kim-8 on gpu-8, pod/train/h-kim-21 on gpu-21",
			},
		},
		"one rail of one pod has a smaller MTU": {
			pods: 4,
			change: of(2, func(m *fleet.Machine) {
				rulestest.EachLink(m, func(l *host.Link) {
					if l.Name == "net1" {
						l.MTU = host.Know(1500)
					}
				})
			}),
			want: fleet.MTU,
			says: []string{"on 3 of 4 pods", "1500, 9000 on pod/train/h-kim-3"},
		},
		"two against two": {
			pods: 4,
			change: func(m []fleet.Machine) {
				rulestest.SmallMTU(&m[0])
				rulestest.SmallMTU(&m[1])
			},
			want: fleet.MTU,
			says: []string{"no value has the majority: 1500 on 2 pods, 9000 on 2 pods; "},
		},
		"a slower rail": {
			pods: 5,
			change: devicesOf(1, func(d *host.Device) {
				d.Ports[0].Rate = host.Know(host.Rate{Gbps: 200, Lanes: 4, Speed: "HDR"})
			}),
			want: fleet.Rate,
			says: []string{"on 4 of 5 pods", "200 Gb/s on pod/train/h-kim-2"},
		},
		"another firmware": {
			pods:   5,
			change: devicesOf(4, func(d *host.Device) { d.Firmware = host.Know("28.30.0") }),
			want:   fleet.Firmware,
			says:   []string{"on 4 of 5 pods the firmware of", "28.30.0 on pod/train/h-kim-5"},
		},
		"another NCCL": {
			pods: 3,
			change: of(0, func(m *fleet.Machine) {
				m.Snapshot.NCCL.Libraries = []host.NCCLLibrary{{Path: "/usr/lib/libnccl.so.2.18.1", Version: "2.18.1"}}
			}),
			want: fleet.NCCL,
			says: []string{"2.18.1 on pod/train/h-kim-1"},
		},
		"another rdma-core": {
			pods: 3,
			change: func(m []fleet.Machine) {
				for i, version := range []string{"48.0", "48.0", "39.0"} {
					m[i].Snapshot.Verbs = &host.VerbsLibrary{Path: "/usr/lib/libibverbs.so.1", RDMACore: version}
				}
			},
			want: fleet.RDMACore,
			says: []string{"on 2 of 3 pods the version of rdma-core is 48.0, but 39.0 on pod/train/h-kim-3"},
		},
		"a small locked-memory limit": {
			pods:   3,
			change: of(2, func(m *fleet.Machine) { m.Snapshot.Limits.MemlockSoft = host.Know(host.Limit(8 << 20)) }),
			want:   fleet.Memlock,
			says:   []string{"8 MiB on pod/train/h-kim-3"},
		},
		"no GPUDirect on one": {
			pods: 3,
			change: of(2, func(m *fleet.Machine) {
				m.Snapshot.GPUDirect = host.GPUDirect{OpenModules: host.Know(false)}
			}),
			want: fleet.GPUDirect,
			says: []string{"none on pod/train/h-kim-3"},
		},
		"a pod with fewer rails": {
			pods: 3,
			change: of(1, func(m *fleet.Machine) {
				m.Snapshot.Uverbs = slices.Clone(m.Snapshot.Uverbs)
				i := slices.IndexFunc(m.Snapshot.Uverbs, func(u host.Uverbs) bool { return u.Access == host.Openable })
				m.Snapshot.Uverbs[i].Access = host.Denied
			}),
			want: fleet.Rails,
			says: []string{"on 2 of 3 pods the number of rails is 4, but 3 on pod/train/h-kim-2"},
		},
		"two pods with the same addresses": {
			pods:   3,
			change: func(m []fleet.Machine) { rulestest.ShareAddresses(&m[2], &m[1]) },
			want:   fleet.DuplicateAddress,
			says: []string{
				"is the address of pod/train/h-kim-2 on gpu-2 net1, pod/train/h-kim-3 on gpu-3 net1: data for one",
				"they share 3 more",
			},
		},
		"pods on the node's own network have its addresses": {
			pods:   2,
			change: func(m []fleet.Machine) { m[1].Snapshot, m[1].Node = m[0].Snapshot, m[0].Node },
		},
		"pods on two nodes with the same addresses and MACs": {
			pods:   2,
			change: func(m []fleet.Machine) { m[1].Snapshot = m[0].Snapshot },
			want:   fleet.DuplicateAddress,
			says:   []string{"is the address of pod/train/h-kim-1 on gpu-1 net1, pod/train/h-kim-2 on gpu-2 net1"},
		},
		"crossed rails": {
			pods:   3,
			change: of(1, rulestest.CrossRails),
			want:   fleet.RailSubnet,
			says:   []string{"the rails are crossed", "pod/train/h-kim-2 on gpu-2"},
		},
		"interfaces with other names on another kind of machine": {
			pods: 4,
			change: func(m []fleet.Machine) {
				rulestest.RenameRails(&m[2])
				rulestest.RenameRails(&m[3])
			},
		},
		"one subnet for all rails, and the first pod has a rail less": {
			pods: 3,
			change: func(m []fleet.Machine) {
				for i := range m {
					rulestest.EachLink(&m[i], func(l *host.Link) {
						l.Addresses = host.Know(slices.Clone(l.Addresses.Value))
						for k, p := range l.Addresses.Value {
							l.Addresses.Value[k] = netip.PrefixFrom(p.Addr(), 8)
						}
					})
				}
				m[0].Snapshot.Uverbs = slices.Clone(m[0].Snapshot.Uverbs)
				for i := range m[0].Snapshot.Uverbs {
					if u := &m[0].Snapshot.Uverbs[i]; u.Device.Value == "mlx5_11" {
						u.Access = host.Denied
					}
				}
			},
			want: fleet.Rails,
		},
		"a routed fabric": {
			pods: 4,
			change: func(m []fleet.Machine) {
				for i := range m {
					rulestest.EachLink(&m[i], func(l *host.Link) {
						l.Addresses = host.Know(slices.Clone(l.Addresses.Value))
						for k, p := range l.Addresses.Value {
							l.Addresses.Value[k] = netip.PrefixFrom(p.Addr(), 31)
						}
					})
				}
			},
		},
		"a pod that could not be reached": {
			pods: 3,
			change: of(1, func(m *fleet.Machine) {
				*m = fleet.Machine{Ref: m.Ref, Node: "gpu-2", Unreached: "no answer within 30s"}
			}),
			want: fleet.MachineReached,
			says: []string{"could not be examined: no answer within 30s"},
		},
		"one pod on InfiniBand": {
			pods:   3,
			change: devicesOf(1, func(d *host.Device) { d.Ports[0].LinkLayer = host.Know(host.InfiniBand) }),
			want:   fleet.LinkLayer,
			says:   []string{"InfiniBand on pod/train/h-kim-2"},
		},
		"InfiniBand, and one interface for IP has another MTU": {
			pods: 3,
			change: func(m []fleet.Machine) {
				for i := range m {
					rulestest.EachDevice(&m[i], func(d *host.Device) {
						d.Ports[0].LinkLayer, d.Netdevs = host.Know(host.InfiniBand), []string{"net1"}
					})
				}
				rulestest.SmallMTU(&m[1])
			},
		},
		"one pod with RoCE v1 only": {
			pods: 3,
			change: of(1, func(m *fleet.Machine) {
				rulestest.EachGID(m, func(g *host.GID) { g.Type = host.Know("IB/RoCE v1") })
			}),
			want: fleet.GIDType,
			says: []string{"IB/RoCE v1 on pod/train/h-kim-2"},
		},
		"jobs that differ from each other": {
			pods: 4,
			change: func(m []fleet.Machine) {
				for i := range m {
					m[i].Group = []string{"job/a", "job/b"}[i/2]
				}
				rulestest.SmallMTU(&m[2])
				rulestest.SmallMTU(&m[3])
			},
		},
	}
}

func newMember(m fleet.Machine) fleet.Member {
	scope := rail.Pod
	if m.IsNode() {
		scope = rail.Host
	}
	return fleet.NewMember(m, rail.Resolve(m.Snapshot, scope).Rails)
}

func judge(machines []fleet.Machine) check.Report {
	var members []fleet.Member
	for _, m := range machines {
		member := newMember(m)
		member.Whole = true
		members = append(members, member)
	}
	return fleet.Judge(members)
}

// TestManyDiffer: a finding about many machines counts them, has a line for each value, and still refers to all.
func TestManyDiffer(t *testing.T) {
	pods := rulestest.Job(t, 40)
	for i := range 18 {
		rails := i%3 + 1 // 1, 2 or 3 of 4
		uverbs := slices.Clone(pods[i].Snapshot.Uverbs)
		for k := range uverbs {
			if uverbs[k].Access == host.Openable {
				if rails--; rails < 0 {
					uverbs[k].Access = host.Denied
				}
			}
		}
		pods[i].Snapshot.Uverbs = uverbs
	}
	findings := judge(pods).Findings
	if len(findings) == 0 || findings[0].Check != fleet.Rails || len(findings[0].About) != 18 {
		t.Fatalf("%+v", findings)
	}
	f := findings[0]
	const summary = "on 22 of 40 pods the number of rails is 4, but 1 on 6 pods, 2 on 6 pods, 3 on 6 pods: " +
		"the pod with the fewest rails slows down all"
	if f.Summary != summary {
		t.Errorf("%q", f.Summary)
	}
	const first = "number of rails: 1 on 6 pods: pod/train/h-kim-1 on gpu-1, pod/train/h-kim-4 on gpu-4, " +
		"pod/train/h-kim-7 on gpu-7 and 3 more (want 4)"
	if len(f.Evidence) != 3 || f.Evidence[0].String() != first {
		t.Errorf("%q", f.Evidence)
	}
}

// TestManyValues: a finding does not grow with the number of values.
func TestManyValues(t *testing.T) {
	pods := rulestest.Job(t, 20)
	for i := range pods {
		pods[i].Snapshot.Verbs = &host.VerbsLibrary{RDMACore: fmt.Sprintf("%d.0", 30+i)}
	}
	f := judge(pods).Findings[0]
	last := f.Evidence[len(f.Evidence)-1].String()
	if f.Check != fleet.RDMACore || len(f.Evidence) != 9 || last != "libibverbs.so.1 of the image: 12 other values" ||
		!strings.Contains(f.Summary, "33.0 on 1 pod and 16 more; ") {
		t.Errorf("%q, %q", f.Summary, f.Evidence)
	}
}

func TestJudge(t *testing.T) {
	for name, test := range faults() {
		t.Run(name, func(t *testing.T) {
			pods := rulestest.Job(t, test.pods)
			if test.change != nil {
				test.change(pods)
			}
			r := judge(pods)
			if test.want == "" {
				if len(r.Findings) > 0 {
					t.Errorf("found in a healthy job: %+v", r.Findings)
				}
				return
			}
			if len(r.Findings) == 0 || r.Findings[0].Check != test.want {
				t.Fatalf("found %+v, want %s first", r.Findings, test.want)
			}
			for _, text := range test.says {
				if !strings.Contains(r.Findings[0].Summary, text) {
					t.Errorf("%q has no %q", r.Findings[0].Summary, text)
				}
			}
			for _, f := range r.Findings {
				if f.Check != test.want {
					t.Errorf("also found: %s: %s", f.Check, f.Summary)
				}
			}
		})
	}
}

// TestUnknownTraitsDoNotPass: pods of which some do not show a trait are not known to agree.
func TestUnknownTraitsDoNotPass(t *testing.T) {
	m := rulestest.Job(t, 3)
	m[1].Snapshot.NCCL.Libraries = nil
	m[2].Snapshot.Verbs = nil
	rulestest.EachLink(&m[0], func(l *host.Link) { l.MTU = host.Unread[int]("permission denied") })
	r := judge(m)
	for _, id := range []check.ID{fleet.NCCL, fleet.RDMACore, fleet.MTU} {
		if slices.Contains(r.Passed, id) {
			t.Errorf("%s passed", id)
		}
	}
	if len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestUnknownTraitsHideNothing: a pod without a rail does not hide how the others differ.
func TestUnknownTraitsHideNothing(t *testing.T) {
	m := rulestest.Job(t, 4)
	m[0].Snapshot.Devices = nil
	rulestest.SmallMTU(&m[1])
	found := func(f check.Finding) bool { return f.Check == fleet.MTU }
	if r := judge(m); !slices.ContainsFunc(r.Findings, found) {
		t.Errorf("%+v", r.Findings)
	}
}

// TestUnreachedFix: only an administrator can examine a node, and may have to name the image.
func TestUnreachedFix(t *testing.T) {
	for _, test := range []struct {
		ref     check.Ref
		who     check.Who
		command string
	}{
		{check.PodRef("train", "h-kim-0"), check.User, "kubectl -n train describe pod h-kim-0"},
		{check.NodeRef("gpu-0"), check.Admin, "railhead doctor node/gpu-0 --probe-image IMAGE"},
	} {
		r := judge([]fleet.Machine{{Ref: test.ref, Unreached: "no answer within 30s"}})
		i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Check == fleet.MachineReached })
		if i < 0 {
			t.Fatalf("%s: %+v", test.ref, r.Findings)
		}
		if fix := r.Findings[i].Fix; fix.Who != test.who || !slices.Contains(fix.Commands, test.command) {
			t.Errorf("%s: %+v", test.ref, fix)
		}
	}
}

func TestJudgeKeepsNodesFromPods(t *testing.T) {
	m := rulestest.Job(t, 2)
	for _, node := range []string{"gpu-1", "gpu-2"} {
		snapshot := rulestest.Recorded(t, "host-baremetal-8x400")
		m = append(m, fleet.Machine{Ref: check.NodeRef(node), Node: node, Snapshot: snapshot})
	}
	if r := judge(m); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

// TestFaults asserts that every check has a case in which only it fires.
func TestFaults(t *testing.T) {
	fires := map[check.ID]bool{}
	for _, c := range faults() {
		fires[c.want] = true
	}
	for _, id := range fleet.Judge(nil).Passed {
		if !fires[id] {
			t.Errorf("no case fires %s", id)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{200, 1000, 5000} {
		pods := rulestest.Job(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if r := judge(pods); len(r.Findings) > 0 {
					b.Fatal(r.Findings[0])
				}
			}
		})
	}
}
