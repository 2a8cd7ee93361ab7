package setup

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// TestRefused: nothing may be written, and only the reason is reported.
func TestRefused(t *testing.T) {
	worker := func(change func(*cluster.Pool)) func(*cluster.State) {
		return func(s *cluster.State) { change(poolOf(s, "worker")) }
	}
	tests := map[string]struct {
		change func(*cluster.State)
		o      Options
		want   []string
	}{
		"pool with a degraded node": {
			worker(func(p *cluster.Pool) {
				setCondition(p, "NodeDegraded", "True", `Node w03 is reporting: "unexpected on-disk state"`)
			}), Options{},
			[]string{
				`fail pool-healthy pool/worker: pool worker is degraded (NodeDegraded): Node w03 is reporting: ` +
					`"unexpected on-disk state"`,
			},
		},
		"pool whose configuration cannot be rendered": {
			worker(func(p *cluster.Pool) {
				setCondition(p, "RenderDegraded", "True", "parsing Ignition config failed")
			}),
			Options{},
			[]string{
				"fail pool-healthy pool/worker: pool worker is degraded (RenderDegraded): " +
					"parsing Ignition config failed",
			},
		},
		"pool paused by someone else": {
			worker(func(p *cluster.Pool) { p.Paused = true }), Options{},
			[]string{
				"fail pool-not-paused pool/worker: pool worker is paused, and not by Railhead: " +
					"its nodes would not be updated",
			},
		},
		"pool paused while the SR-IOV operator drains": {
			func(s *cluster.State) {
				poolOf(s, "worker").Paused = true
				s.SriovNodes = []cluster.SriovNode{{Node: "w02", SyncStatus: "InProgress"}}
			}, Options{},
			[]string{
				"fail pool-not-paused pool/worker: pool worker is paused, and not by Railhead: " +
					"its nodes would not be updated; the SR-IOV operator is working on w02 and may have paused it",
			},
		},
		"another rollout, target not current": {
			worker(func(p *cluster.Pool) { p.Target = "rendered-worker-2" }), Options{},
			[]string{
				"fail pool-idle pool/worker: another rollout of pool worker is running: " +
					"0 of 13 nodes have rendered-worker-2",
			},
		},
		"another rollout, the pool's counters are those of before": {
			func(s *cluster.State) {
				poolOf(s, "worker").Target = "rendered-worker-2"
				bringTo(s, 4, "rendered-worker-2")
			}, Options{},
			[]string{
				"fail pool-idle pool/worker: another rollout of pool worker is running: " +
					"4 of 13 nodes have rendered-worker-2",
			},
		},
		"another rollout, one node left": {
			func(s *cluster.State) { bringTo(s, 1, "rendered-worker-0") }, Options{},
			[]string{
				"fail pool-idle pool/worker: another rollout of pool worker is running: " +
					"12 of 13 nodes have rendered-worker-1",
			},
		},
		"degraded and paused": {
			worker(func(p *cluster.Pool) { p.Paused = true; setCondition(p, "Degraded", "True", "") }), Options{},
			[]string{
				"fail pool-healthy pool/worker: pool worker is degraded (Degraded): no reason given",
				"fail pool-not-paused pool/worker: pool worker is paused, and not by Railhead: " +
					"its nodes would not be updated",
			},
		},
		"a pool that does not exist": {
			func(*cluster.State) {}, Options{Pools: []string{"gpus"}},
			[]string{
				"fail pool-exists pool/gpus: there is no machine config pool gpus: the cluster has master and worker",
			},
		},
		"a custom pool paused that selects worker's configuration": {
			func(s *cluster.State) { *s = withGPUPool(*s); poolOf(s, "gpu").Paused = true },
			Options{Pools: []string{"worker"}},
			[]string{
				"fail pool-not-paused pool/gpu: pool gpu is paused, and not by Railhead: " +
					"its nodes would not be updated",
			},
		},
		"a custom pool that selects only worker's configuration": {
			func(s *cluster.State) { *s = withGPUPool(*s); poolOf(s, "gpu").ConfigSelector = selectsRoles("worker") },
			Options{NoMemlock: true},
			[]string{
				"fail pool-role pool/gpu: no value of label machineconfiguration.openshift.io/role makes a " +
					"MachineConfig apply to pool gpu only",
			},
		},
		"an SCC of somebody else has the name": {
			func(s *cluster.State) { s.SCCs = append(s.SCCs, cluster.SCC{Name: plan.SCCName}) }, Options{},
			[]string{"fail name-free scc/railhead-rdma: SCC railhead-rdma exists and was not created by Railhead"},
		},
		"an SCC that does not exist": {
			func(*cluster.State) {}, Options{SCC: "nccl-scc"},
			[]string{
				"fail setup-scc scc/nccl-scc: there is no SCC nccl-scc: the cluster has privileged and restricted-v2",
			},
		},
		"an SCC of others without the capability": {
			func(*cluster.State) {}, Options{SCC: "restricted-v2", AllowIPCLock: true},
			[]string{
				"fail setup-scc scc/restricted-v2: " +
					"SCC restricted-v2 does not allow IPC_LOCK, and Railhead does not change SCCs of others",
			},
		},
		"MachineConfigs may not be listed": {
			func(s *cluster.State) {
				s.Problems = []cluster.Problem{
					{Kind: cluster.MachineConfigs, Err: "machineconfigs is forbidden", Forbidden: true},
				}
			}, Options{},
			[]string{"fail cluster-readable machineconfigs: machineconfigs could not be read, so no plan can be made"},
		},
		"what Railhead wrote was not read": {
			func(s *cluster.State) {
				s.Read = slices.DeleteFunc(slices.Clone(s.Read), func(k cluster.Kind) bool {
					return k == cluster.Objects
				})
			}, Options{},
			[]string{"fail cluster-readable objects: objects could not be read, so no plan can be made"},
		},
		"SR-IOV without its operator": {
			func(s *cluster.State) { s.Server.Groups = s.Server.Groups[:3] }, Options{Sriov: true},
			[]string{
				"fail sriov-operator cluster: the SR-IOV network operator is not installed, " +
					"so policies would have no effect",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			p, findings := Cluster(s, test.o)
			if diff := cmp.Diff(test.want, plantest.Lines(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if len(p.Steps) > 0 {
				t.Errorf("there are steps all the same: %v", plantest.StepIDs(p))
			}
			for _, f := range findings {
				if len(f.Evidence) == 0 || (f.Fix == nil && f.Check != clusterrules.ClusterReadable) {
					t.Errorf("%s has evidence %v and fix %v", f.Check, f.Evidence, f.Fix)
				}
			}
		})
	}
}

// TestWarned: findings that do not prevent the plan.
func TestWarned(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.State)
		o      Options
		want   []string
	}{
		"pool without nodes": {
			func(s *cluster.State) {
				s.Pools = append(s.Pools, pool("spare", 0, selectsRoles("worker", "spare"), "00-worker"))
			}, Options{Pools: []string{"spare"}},
			[]string{"warn pool-nodes pool/spare: pool spare has no nodes: only nodes that join later will be set up"},
		},
		"as many nodes cordoned as may be away": {
			func(s *cluster.State) { nodeOf(s, "w05").Unschedulable = true }, Options{},
			[]string{
				"warn pool-nodes pool/worker: the rollout of pool worker cannot start: " +
					"w05 is cordoned or not Ready, and at most 1 may be unavailable",
			},
		},
		"fewer nodes cordoned than may be away": {
			func(s *cluster.State) {
				nodeOf(s, "w05").Unschedulable = true
				poolOf(s, "worker").MaxUnavailable = "2"
				message := "All nodes are updating to MachineConfig rendered-worker-1"
				setCondition(poolOf(s, "worker"), "Updating", "True", message)
			}, Options{}, nil,
		},
		"argument that contradicts": {
			func(s *cluster.State) {
				s.MachineConfigs = append(s.MachineConfigs, cluster.MachineConfig{
					Name:            "50-x",
					Labels:          map[string]string{plan.RoleLabel: "worker"},
					KernelArguments: []string{"intel_iommu=off"},
				})
			}, Options{},
			[]string{
				"warn kernel-arguments pool/worker: MachineConfig 50-x boots the nodes of pool worker with " +
					"intel_iommu=off, which contradicts IOMMU passthrough",
			},
		},
		"drop-in that cannot be read": {
			func(s *cluster.State) {
				s.MachineConfigs = append(s.MachineConfigs, config("50-x", "worker", cluster.File{
					Path:   plan.CRIODropIns + "50.conf",
					Unread: `compression "xz" is not known`,
				}))
			}, Options{},
			[]string{
				"unknown crio-drop-in pool/worker: /etc/crio/crio.conf.d/50.conf of MachineConfig 50-x could not be " +
					"read: limits that it sets would be lost",
			},
		},
		"GPU node of two custom pools": {
			func(s *cluster.State) {
				*s = withGPUPool(*s)
				s.Pools = append(s.Pools, pool("infra", 1, selectsRoles("worker", "infra")))
				nodeOf(s, "w12").Labels[role("infra")] = ""
			}, Options{},
			[]string{
				"warn pool-nodes nodes: w12 is in no machine config pool, or in two custom ones, " +
					"and will not be set up",
			},
		},
		"SCC of others without downwardAPI": {
			func(s *cluster.State) {
				s.SCCs = append(s.SCCs, cluster.SCC{Name: "nccl-scc", Volumes: []string{"emptyDir"}})
			}, Options{SCC: "nccl-scc"},
			[]string{
				"warn setup-scc scc/nccl-scc: SCC nccl-scc does not allow downwardAPI volumes: " +
					"the network-resources-injector adds one to every pod with a network, and such pods are refused",
			},
		},
		"degraded pool that needs nothing": {
			func(s *cluster.State) { setCondition(poolOf(s, "master"), "NodeDegraded", "True", "x") }, Options{}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			p, findings := Cluster(s, test.o)
			if diff := cmp.Diff(test.want, plantest.Lines(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if p.Empty() {
				t.Error("the plan is empty")
			}
		})
	}
}

// TestSteps: settings that are in place already are left out, and nothing else.
func TestSteps(t *testing.T) {
	done := func(o Options) func(*cluster.State) {
		return func(s *cluster.State) {
			m := simulate(*s)
			p, _ := Cluster(*s, o)
			for _, step := range p.Steps {
				for _, c := range step.Changes {
					switch c.Verb {
					case plan.Apply:
						m.remove(c.Object)
						m.Objects = append(m.Objects, cluster.Object{
							Kind:      c.Object.GetKind(),
							Name:      c.Object.GetName(),
							Namespace: c.Object.GetNamespace(),
							Fields:    c.Object.Object,
						})
						m.show(c.Object)
					case plan.Merge, plan.Delete:
					}
				}
			}
			for range 3 {
				m.tick()
			}
			*s = m.State
		}
	}
	add := func(m cluster.MachineConfig) func(*cluster.State) {
		return func(s *cluster.State) { s.MachineConfigs = append(s.MachineConfigs, m) }
	}
	arguments := func(list ...string) func(*cluster.State) {
		return add(cluster.MachineConfig{
			Name:            "50-args",
			Labels:          map[string]string{plan.RoleLabel: "worker"},
			KernelArguments: list,
		})
	}
	rolled := []string{"pause", "machine-configs", "rollout"}
	tests := map[string]struct {
		change func(*cluster.State)
		o      Options
		want   []string
	}{
		"nothing is set up": {func(*cluster.State) {}, Options{}, append([]string{"scc"}, rolled...)},
		"opted out of the nodes' settings": {
			func(*cluster.State) {},
			Options{NoIOMMU: true, NoMemlock: true},
			[]string{"scc"},
		},
		"another SCC is used": {func(*cluster.State) {}, Options{SCC: "privileged"}, rolled},
		"arguments by others": {
			arguments("iommu=pt", "intel_iommu=on"),
			Options{SCC: "privileged", NoMemlock: true},
			nil,
		},
		"passthrough by others":           {arguments("iommu=pt"), Options{SCC: "privileged", NoMemlock: true}, nil},
		"half of the arguments by others": {arguments(intelOn), Options{SCC: "privileged", NoMemlock: true}, rolled},
		"limit by others": {
			add(config("50-m", "worker", limits("60.conf", "memlock=-1:-1"))),
			Options{SCC: "privileged", NoIOMMU: true},
			nil,
		},
		"limit by others that a later file removes": {
			add(config("50-m", "worker", limits("60.conf", "memlock=-1:-1"), limits("70.conf", "nofile=5"))),
			Options{SCC: "privileged", NoIOMMU: true}, rolled,
		},
		"everything is set up, and a rollout is running": {done(Options{}), Options{}, nil},
		"everything is set up, IPC_LOCK is requested": {
			done(Options{}),
			Options{AllowIPCLock: true},
			[]string{"scc"},
		},
		"a limit of others came later": {
			func(s *cluster.State) {
				done(Options{})(s)
				add(config("50-n", "worker", limits("50.conf", "nofile=5")))(s)
				worker := poolOf(s, "worker")
				worker.Current, worker.CurrentSources, worker.Updated = worker.Target, worker.TargetSources, 13
				setCondition(worker, "Updating", "False", "")
				bringTo(s, 13, worker.Target)
			}, Options{}, rolled,
		},
		"a CPU label came later": {
			func(s *cluster.State) {
				done(Options{})(s)
				for i := range s.Nodes {
					s.Nodes[i].Labels["feature.node.kubernetes.io/cpu-model.vendor_id"] = "AMD"
				}
			}, Options{}, nil,
		},
		"an earlier check is pending": {
			func(s *cluster.State) {
				m := simulate(*s)
				p, _ := Cluster(*s, Options{VerifyFirst: true})
				for _, step := range p.Steps[:4] { // up to the first node's reboot
					for _, c := range step.Changes {
						switch c.Verb {
						case plan.Apply:
							m.Objects = append(m.Objects, cluster.Object{
								Kind:   c.Object.GetKind(),
								Name:   c.Object.GetName(),
								Fields: c.Object.Object,
							})
							m.show(c.Object)
						case plan.Merge:
							poolOf(&m.State, "worker").Annotations = map[string]string{
								cluster.AnnotationPausedBy:       cluster.PausedBySetup,
								cluster.AnnotationMaxUnavailable: "",
							}
							poolOf(&m.State, "worker").MaxUnavailable = "1"
						case plan.Delete:
						}
					}
				}
				for range 3 {
					m.tick()
				}
				*s = m.State
			}, Options{}, []string{"machine-configs", "hold", "verify-first", "rollout"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			p, findings := Cluster(s, test.o)
			if check.Worst(findings) == check.Fail {
				t.Fatal(plantest.Lines(findings))
			}
			if diff := cmp.Diff(test.want, plantest.StepIDs(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
				return s.Title == "" || (s.Done != nil && len(s.Watch) == 0)
			}) {
				t.Error("a step without a title, or one that waits for what it does not watch")
			}
		})
	}
}

// TestNotes: facts to know before agreeing.
func TestNotes(t *testing.T) {
	tests := map[string]struct {
		change func(*cluster.State)
		o      Options
		want   string
	}{
		"estimate": {
			func(*cluster.State) {},
			Options{},
			"Pool worker: 13 nodes reboot, each once, 1 at a time: " +
				"about 2 h 10 min to 3 h 15 min, at an estimated 10 to 15 minutes per node.",
		},
		"a third at once, rounded down": {
			func(s *cluster.State) { poolOf(s, "worker").MaxUnavailable = "33%" },
			Options{},
			"Pool worker: 13 nodes reboot, each once, 4 at a time: " +
				"about 40 min to 1 h, at an estimated 10 to 15 minutes per node.",
		},
		"first verified": {
			func(s *cluster.State) { poolOf(s, "worker").MaxUnavailable = "50%" },
			Options{VerifyFirst: true},
			"Pool worker: 13 nodes reboot, each once, 6 at a time: " +
				"about 30 min to 45 min, at an estimated 10 to 15 minutes per node.",
		},
		"first verified, and most have no NIC": {
			func(*cluster.State) {},
			Options{VerifyFirst: true},
			"The Machine Config Operator picks the node of pool worker that is checked first. 11 of its 13 nodes have no " +
				"RDMA NIC and no GPU: if it picks one of those, the check shows nothing about the IOMMU, " +
				"and the rollout stays paused.",
		},
		"one node": {
			func(s *cluster.State) { *s = withGPUPool(*s); delete(nodeOf(s, "w13").Labels, role("gpu")) },
			Options{Pools: []string{"gpu"}},
			"Pool gpu: 1 node reboots: about 10 min to 15 min, at an estimated 10 to 15 minutes per node.",
		},
		"few nodes of the pool": {func(*cluster.State) {}, Options{},
			"13 nodes of pool worker will reboot, but only 2 have RDMA NICs or GPUs. A separate machine config pool " +
				"for those 2 (--own-pool NAME) would avoid 11 reboots."},
		"vendor not known": {
			func(s *cluster.State) { nodeOf(s, "w01").Labels = map[string]string{role("worker"): ""} },
			Options{},
			"The CPU vendor of 1 node in pool worker is unknown (no label " +
				"feature.node.kubernetes.io/cpu-model.vendor_id), so intel_iommu=on is set. Other CPUs ignore it.",
		},
		"passthrough by others": {
			func(s *cluster.State) { *s = withConfigOfOthers(*s, "iommu=pt") },
			Options{},
			"Pool worker already boots with passthrough, so intel_iommu=on is not added: " +
				"an Intel IOMMU that the kernel leaves off translates nothing.",
		},
		"custom pool that takes over": {
			func(s *cluster.State) { *s = withGPUPool(*s) },
			Options{Pools: []string{"worker"}},
			"Pool gpu also selects the MachineConfigs of pool worker, so its nodes get them too.",
		},
		"control plane": {func(*cluster.State) {}, Options{Pools: []string{"master"}},
			"The nodes of pool master are the control plane: " +
				"if the cluster has one node only, its API is unavailable while the node reboots."},
		"no GPUs anywhere": {func(s *cluster.State) {
			for i := range s.Nodes {
				delete(s.Nodes[i].Allocatable, "nvidia.com/gpu")
			}
		}, Options{}, "No node shows RDMA NICs or GPUs, so pool worker is set up."},
		"interrupted": {func(s *cluster.State) {
			poolOf(s, "worker").Paused, poolOf(s, "worker").Annotations = true, map[string]string{
				cluster.AnnotationPausedBy: cluster.PausedBySetup,
			}
		}, Options{NoIOMMU: true, NoMemlock: true},
			"An earlier run did not finish pool worker: this run completes it."},
		"limit left alone": {func(*cluster.State) {}, Options{NoMemlock: true},
			"This plan does not set the locked-memory limit of the nodes. If the limit is small, RDMA also needs " +
				"--allow-ipc-lock."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openshift()
			test.change(&s)
			if p := mustPlan(t, s, test.o); !slices.Contains(p.Notes, test.want) {
				t.Errorf("no note %q in\n%s", test.want, strings.Join(p.Notes, "\n"))
			}
		})
	}
}

// withConfigOfOthers has a MachineConfig of somebody else that has the name that setup would use.
func withConfigOfOthers(s cluster.State, arguments ...string) cluster.State {
	s.MachineConfigs = append(s.MachineConfigs, cluster.MachineConfig{
		Name:            "99-worker-iommu-passthrough",
		Labels:          map[string]string{plan.RoleLabel: "worker"},
		KernelArguments: arguments,
	})
	return s
}

// TestNameTaken: the MachineConfig of somebody else stays, and another one adds what it lacks.
func TestNameTaken(t *testing.T) {
	written := func(s cluster.State) map[string]any {
		arguments := map[string]any{}
		for _, c := range mustPlan(t, s, Options{SCC: "privileged", NoMemlock: true}).Changes() {
			if c.Verb == plan.Apply {
				list, _, _ := unstructured.NestedFieldNoCopy(c.Object.Object, "spec", "kernelArguments")
				arguments[c.Object.GetName()] = list
			}
		}
		return arguments
	}
	const own = "99-worker-iommu-passthrough-2"
	taken := withConfigOfOthers(openshift(), intelOn)
	if diff := cmp.Diff(map[string]any{own: []any{"iommu=pt"}}, written(taken)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := clone(taken)
	again.MachineConfigs = append(again.MachineConfigs, cluster.MachineConfig{
		Name: own, Labels: plan.Labels(ComponentSetup, ""), KernelArguments: []string{"quiet"},
	})
	if diff := cmp.Diff(map[string]any{own: []any{"quiet", "iommu=pt"}}, written(again)); diff != "" {
		t.Errorf("its own is completed (-want +got):\n%s", diff)
	}
}

func TestStillRollingOut(t *testing.T) {
	m := simulate(openshift())
	m.apply(t, mustPlan(t, m.State, Options{}), 6)
	for range 4 {
		m.tick()
	}
	p := mustPlan(t, m.State, Options{})
	want := []string{
		"Pool worker is still being rolled out: " +
			"3 of 13 nodes are done. Follow it with 'railhead setup status --follow'.",
	}
	if diff := cmp.Diff(want, p.Notes); diff != "" || !p.Empty() {
		t.Errorf("steps %v, notes (-want +got):\n%s", plantest.StepIDs(p), diff)
	}
}

func TestNoMachineConfigs(t *testing.T) {
	kubernetes := cluster.State{
		Server: cluster.Server{Version: "v1.34.2", Minor: 34, Groups: []string{"apps"}},
		Read:   []cluster.Kind{cluster.Nodes, cluster.Objects},
		Nodes: []cluster.Node{
			{
				Name:    "a",
				Arch:    "amd64",
				Runtime: "containerd://2.1.4",
				Labels:  map[string]string{"feature.node.kubernetes.io/cpu-model.vendor_id": "AMD"},
			},
		},
	}
	hosted := openshift()
	hosted.Server.Groups = []string{"apps", cluster.SecurityGroup}
	const containerd = "# /etc/systemd/system/containerd.service.d/99-rdma-memlock.conf, then: " +
		"systemctl daemon-reload && systemctl restart containerd\n[Service]\nLimitMEMLOCK=infinity"
	crio := "# /etc/crio/crio.conf.d/99-rdma-memlock.conf, then: systemctl restart crio\n" +
		strings.TrimSuffix(memlockFile(nil, "").Content, "\n")
	tests := map[string]struct {
		s        cluster.State
		o        Options
		steps    []string
		commands []string
		hosted   bool // the fix also says how to set up nodes of a hosted control plane
	}{
		"kubernetes with containerd": {
			kubernetes,
			Options{},
			nil,
			[]string{
				"# kernel arguments, then reboot; RHEL and its relatives:\n" +
					"grubby --update-kernel=ALL --args=\"iommu=pt\"\n" +
					"# Debian, Ubuntu: in GRUB_CMDLINE_LINUX of /etc/default/grub, then: update-grub\niommu=pt",
				containerd, "railhead doctor node/a",
			},
			false,
		},
		"memlock only": {kubernetes, Options{NoIOMMU: true}, nil, []string{containerd, "railhead doctor node/a"}, false},
		"openshift, hosted": {
			hosted, Options{NoIOMMU: true}, []string{"scc"},
			[]string{crio, "railhead doctor node/" + hosted.Nodes[slices.IndexFunc(hosted.Nodes, hasGPUs)].Name}, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, findings := Cluster(test.s, test.o)
			if diff := cmp.Diff(test.steps, plantest.StepIDs(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(findings) != 1 || findings[0].Check != NodeSettings || findings[0].Status != check.Unknown {
				t.Fatal(plantest.Lines(findings))
			}
			if diff := cmp.Diff(test.commands, findings[0].Fix.Commands); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			text := findings[0].Fix.Text
			if strings.Contains(text, "hosted") != test.hosted || !strings.HasPrefix(text, "Make the settings below on each node") {
				t.Errorf("fix: %s", text)
			}
		})
	}
	if _, findings := Cluster(kubernetes, Options{NoIOMMU: true, NoMemlock: true}); len(findings) > 0 {
		t.Errorf("opted out of all: %v", plantest.Lines(findings))
	}
}
