package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

type precheck struct {
	s    func(*cluster.State)
	o    func(*Options)
	want []string
	says []string
}

func runPrechecks(t *testing.T, base func() cluster.State, cases map[string]precheck) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, o := base(), jobOptions()
			if c.s != nil {
				c.s(&s)
			}
			if c.o != nil {
				c.o(&o)
			}
			p, findings := Deploy(s, o)
			if diff := cmp.Diff(c.want, plantest.FindingIDs(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%s", diff, plantest.Wording(findings))
			}
			if fails := check.Worst(findings) == check.Fail; fails != p.Empty() {
				t.Errorf("a plan of %d steps with\n%s", len(p.Steps), plantest.Wording(findings))
			}
			text := plantest.Wording(findings) + strings.Join(p.Notes, "\n")
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
			for _, f := range findings {
				if f.Status == check.Fail && (f.Fix == nil || len(f.Evidence) == 0 || f.Evidence[0].Got == "") {
					t.Errorf("%s lacks evidence or a fix: %+v", f.Check, f)
				}
			}
		})
	}
}

func TestRequestPrechecks(t *testing.T) {
	fails := []string{"fail job-request"}
	runPrechecks(t, plantest.Training, map[string]precheck{
		"no name": {
			o:    func(o *Options) { o.Name = "" },
			want: fails,
			says: []string{"NAME is missing"},
		},
		"capital letters": {
			o:    func(o *Options) { o.Name = "H-Kim" },
			want: fails,
			says: []string{"lower-case letters"},
		},
		"a digit in front": {o: func(o *Options) { o.Name = "1-kim" }, want: fails},
		"45 characters":    {o: func(o *Options) { o.Name = strings.Repeat("k", 45) }},
		"52 characters":    {o: func(o *Options) { o.Name = strings.Repeat("k", 52) }},
		"53 characters": {
			o:    func(o *Options) { o.Name = strings.Repeat("k", 53) },
			want: fails,
			says: []string{"53 characters, but must be at most 52"},
		},
		"46 characters of a JobSet": {o: func(o *Options) { o.Kind, o.Name = JobSet, strings.Repeat("k", 46) }},
		"47 characters of a JobSet": {
			o:    func(o *Options) { o.Kind, o.Name = JobSet, strings.Repeat("k", 47) },
			want: fails,
			says: []string{"at most 46"},
		},
		"no nodes": {o: func(o *Options) { o.Nodes = 0 }, want: fails, says: []string{"--nodes is 0"}},
		"nodes below 0": {
			o:    func(o *Options) { o.Nodes = -1 },
			want: fails,
			says: []string{"--nodes is -1"},
		},
		"GPUs below 0": {o: func(o *Options) { o.GPUs = -2 }, want: fails, says: []string{"--gpus"}},
		"no image": {
			o:    func(o *Options) { o.Image = "" },
			want: fails,
			says: []string{"--image is missing"},
		},
		"an image with a blank": {o: func(o *Options) { o.Image = "a b" }, want: fails},
		"invalid choices": {o: func(o *Options) {
			o.Mode, o.Type, o.Kind, o.Delivery, o.Memlock = "udp", "many", "cron", "post", "maybe"
		},
			want: []string{
				"fail job-request",
				"fail job-request",
				"fail job-request",
				"fail job-request",
				"fail job-request",
				"fail job-request",
			}, says: []string{"one of rdma, auto, tcp", "one of single, multi", "one of node, ipc-lock"}},
		"delivery by image without an image": {
			o:    func(o *Options) { o.Delivery = delivery.ByImage },
			want: fails,
			says: []string{"--pod-image is missing"},
		},
		"a script of unknown type": {
			o:    func(o *Options) { o.Command, o.Script = nil, &Script{Name: "x.txt", Content: []byte("a")} },
			want: fails,
			says: []string{"-- COMMAND /railhead/script/x.txt"},
		},
		"a script with a folder": {o: func(o *Options) { o.Script = &Script{Name: "../x.py"} }, want: fails},
		"a script that is too large": {
			o:    func(o *Options) { o.Script = &Script{Name: "x.py", Content: make([]byte, 1<<20)} },
			want: fails,
			says: []string{"1048576 bytes", "--copy"},
		},
		"invalid quantities": {
			o:    func(o *Options) { o.Storage.Shm, o.CPU, o.Memory = "much", "0", "-1Gi" },
			want: []string{fails[0], fails[0], fails[0]},
		},
		"an invalid variable name": {
			o:    func(o *Options) { o.Env = map[string]string{"A=B": ""} },
			want: fails,
		},
		"an invalid namespace": {o: func(o *Options) { o.Namespace = "Train_1" }, want: fails},
	})
	runPrechecks(t, plantest.Vanilla, map[string]precheck{
		"JobSet without its controller": {
			o:    func(o *Options) { o.Kind = JobSet },
			want: []string{"fail server-support"},
			says: []string{"jobset.x-k8s.io", "--kind statefulset"},
		},
		"pods without a rank": {s: func(s *cluster.State) {
			s.Server.Version, s.Server.Minor = "v1.27.9", 27
		}, want: []string{"fail server-support"},
			says: []string{"Kubernetes v1.27.9", "v1.28 or newer"}},
		"one pod needs no rank": {
			s: func(s *cluster.State) { s.Server.Version, s.Server.Minor = "v1.27.9", 27 },
			o: func(o *Options) { o.Type, o.Nodes = Single, 1 },
		},
		"image volumes on an old server": {s: func(s *cluster.State) {
			s.Server.Version, s.Server.Minor = "v1.32.0", 32
		}, o: func(o *Options) { o.Delivery, o.PodImage = delivery.ByImageVolume, "x" },
			want: []string{"fail server-support"}, says: []string{"v1.33 or newer"}},
	})
}

func TestPlacePrechecks(t *testing.T) {
	runPrechecks(t, plantest.Training, map[string]precheck{
		"no namespace": {
			s:    func(s *cluster.State) { s.Namespaces = nil },
			want: []string{"fail namespace-ready"},
			says: []string{"railhead setup namespace train --name h-kim"},
		},
		"a terminating namespace": {
			s:    func(s *cluster.State) { s.Namespaces[1].Terminating = true },
			want: []string{"fail namespace-ready"},
			says: []string{"Terminating (want Active)"},
		},
		"namespaces are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Namespaces); s.Namespaces = nil },
			want: []string{"unknown namespace-ready"},
		},
		"the job is of another kind": {s: func(s *cluster.State) {
			s.Objects = []cluster.Object{{Kind: "JobSet", Namespace: "train", Name: "h-kim"}}
		}, want: []string{"fail job-replaced"}, says: []string{"railhead delete h-kim -n train"}},
		"the job is of another type": {s: func(s *cluster.State) {
			s.Objects = []cluster.Object{
				{
					Kind:      "StatefulSet",
					Namespace: "train",
					Name:      "h-kim",
					Fields:    map[string]any{"spec": map[string]any{}},
				},
			}
		}, want: []string{"fail job-replaced"}, says: []string{"another --type"}},
		"a missing service account": {
			o:    func(o *Options) { o.ServiceAccount = "x" },
			want: []string{"fail service-account"},
			says: []string{"default, h-kim-sa (want x)"},
		},
		"the account of railhead": {s: func(s *cluster.State) { s.ServiceAccounts[1].Name = "railhead-sa" }},
		"accounts are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.ServiceAccounts); s.ServiceAccounts = nil },
			want: []string{"unknown service-account"},
			says: []string{"h-kim-sa"},
		},
		"no account is needed": {s: func(s *cluster.State) { s.ServiceAccounts = nil }},
	})
}

// TestFixedKindIsNotChanged: an existing Job or JobSet stays, and a different request is refused.
func TestFixedKindIsNotChanged(t *testing.T) {
	for kind, name := range map[string]string{JobSet: "JobSet", IndexedJob: "Job"} {
		other := "exists with other settings, and a " + name + " cannot be changed"
		for situation, test := range map[string]struct {
			change func(*Options)
			want   string
		}{
			"the same":       {func(*Options) {}, ""},
			"another image":  {func(o *Options) { o.Image += "-rc1" }, other},
			"another number": {func(o *Options) { o.Nodes = 1 }, other},
			"no scheduler":   {func(o *Options) { o.Scheduling.Scheduler = "" }, other},
			"another kind": {
				func(o *Options) { o.Kind = StatefulSet },
				"already exists as a " + name + ", so it cannot be deployed as a StatefulSet",
			},
		} {
			t.Run(name+", "+situation, func(t *testing.T) {
				o := jobOptions()
				o.Kind = kind
				o.Scheduling.Scheduler = "volcano"
				s := plantest.Training()
				first, _ := Deploy(s, o)
				s = plantest.With(s, plantest.Live(first))
				test.change(&o)
				p, findings := Deploy(s, o)
				findings = slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Status != check.Fail })
				var want []string
				if test.want != "" {
					want = []string{"fail job-replaced job/h-kim: h-kim " + test.want}
				}
				if diff := cmp.Diff(want, plantest.Lines(findings)); diff != "" {
					t.Errorf("findings (-want +got):\n%s", diff)
				}
				if !p.Empty() {
					t.Errorf("steps %v", plantest.StepIDs(p))
				}
			})
		}
	}
}

func TestNodePrechecks(t *testing.T) {
	hold := func(node string, what cluster.Resources) func(*cluster.State) {
		return func(s *cluster.State) {
			s.Pods = append(s.Pods, cluster.Pod{
				Namespace: "other",
				Name:      "big-0",
				Node:      node,
				Phase:     "Running",
				Requests:  what,
			})
		}
	}
	runPrechecks(t, plantest.Training, map[string]precheck{
		"GPUs are held": {s: hold("gpu-1", cluster.Resources{"nvidia.com/gpu": 4}), want: []string{"fail free-nodes"},
			says: []string{
				"h-kim needs 2 nodes with 8 nvidia.com/gpu and 4 rails free; 1 of 3 nodes qualify",
				"node/gpu-2: free",
				"node/gpu-1: 4 of 8 nvidia.com/gpu free, held by other/big-0 (4) (want 8 nvidia.com/gpu and 4 rails)",
				"node/cpu-1: no nvidia.com/gpu",
				"--nodes 1",
			}},
		"half the GPUs are enough": {
			s: hold("gpu-1", cluster.Resources{"nvidia.com/gpu": 4}),
			o: func(o *Options) { o.GPUs = 4 },
		},
		"a pod that ended holds nothing": {s: func(s *cluster.State) {
			hold("gpu-1", cluster.Resources{"nvidia.com/gpu": 4})(s)
			s.Pods[0].Phase = "Succeeded"
		}},
		"the job's own pods hold its place": {s: func(s *cluster.State) {
			hold("gpu-1", cluster.Resources{"nvidia.com/gpu": 8})(s)
			s.Pods[0].Namespace, s.Pods[0].Labels = "train", map[string]string{
				plan.LabelInstance:  "h-kim",
				plan.LabelComponent: workload.ComponentJob,
			}
		}},
		"a rail is held": {
			s:    hold("gpu-2", cluster.Resources{"openshift.io/eno8np0rdma": 8}),
			want: []string{"fail free-nodes"},
			says: []string{"0 of 8 openshift.io/eno8np0rdma free, held by other/big-0 (8)"},
		},
		"a node lacks a rail": {
			s:    func(s *cluster.State) { delete(s.Nodes[0].Allocatable, "openshift.io/eno7np0rdma") },
			want: []string{"fail free-nodes"},
			says: []string{"node/gpu-1: no openshift.io/eno7np0rdma"},
		},
		"a cordoned node": {
			s:    func(s *cluster.State) { s.Nodes[0].Unschedulable = true },
			want: []string{"fail free-nodes"},
			says: []string{"node/gpu-1: cordoned"},
		},
		"a node that is not ready": {
			s:    func(s *cluster.State) { s.Nodes[1].Ready, s.Nodes[1].NotReady = false, "KubeletNotReady: x" },
			want: []string{"fail free-nodes"},
			says: []string{"not Ready: KubeletNotReady: x"},
		},
		"a taint": {s: func(s *cluster.State) {
			s.Nodes[0].Taints = []cluster.Taint{{Key: "team", Value: "b", Effect: "NoSchedule"}}
		}, want: []string{"fail free-nodes"}, says: []string{"taint team"}},
		"a taint that is tolerated": {s: func(s *cluster.State) {
			s.Nodes[0].Taints = []cluster.Taint{{Key: "team", Value: "b", Effect: "NoSchedule"}}
		}, o: func(o *Options) { o.Scheduling.Tolerations = []cluster.Taint{{Key: "team"}} }},
		"a selector": {o: func(o *Options) {
			o.Scheduling.NodeSelector = map[string]string{"rack": "a"}
		}, want: []string{"fail gpu-nodes", "fail free-nodes"},
			says: []string{"nodes gpu-1, gpu-2, cpu-1: label rack is not a"}},
		"a selector of the namespace": {s: func(s *cluster.State) {
			s.Nodes[0].Labels["team"], s.Nodes[0].Labels["rack"] = "a", ""
			s.Namespaces[1].Annotations = map[string]string{ProjectSelector: "team=a, rack="}
		}, want: []string{"fail free-nodes"}, says: []string{
			"node/gpu-1: free",
			"nodes gpu-2, cpu-1: label rack is not \"\", which the node selector of namespace train requires",
		}},
		"a selector of the namespace that all meet": {s: func(s *cluster.State) {
			s.Namespaces[1].Annotations = map[string]string{
				ProjectSelector: "nvidia.com/gpu.product==NVIDIA-H100-80GB-HBM3",
			}
		}},
		"an empty selector of the namespace": {s: func(s *cluster.State) {
			s.Namespaces[1].Annotations = map[string]string{ProjectSelector: ""}
		}},
		"more GPUs than there are": {
			o:    func(o *Options) { o.GPUs = 16 },
			want: []string{"fail free-nodes"},
			says: []string{"only 8 nvidia.com/gpu"},
		},
		"more memory than there is": {
			o:    func(o *Options) { o.Memory = "4Ti" },
			want: []string{"fail free-nodes"},
			says: []string{"4.1Ti memory", "only 2Ti memory"},
		},
		"no GPUs at all": {
			s: func(s *cluster.State) { s.Nodes = s.Nodes[2:] },
			want: []string{
				"fail gpu-nodes",
				"fail network-resource",
				"fail network-resource",
				"fail network-resource",
				"fail network-resource",
			},
		},
		"nodes with different GPUs": {
			s:    func(s *cluster.State) { s.Nodes[1].Labels["nvidia.com/gpu.product"] = "NVIDIA-A100" },
			says: []string{"different GPUs (NVIDIA-A100 on gpu-2; NVIDIA-H100-80GB-HBM3 on gpu-1)"},
		},
		"an architecture is missing": {
			s:    func(s *cluster.State) { s.Nodes[0].Arch = "ppc64le" },
			want: []string{"fail job-request"},
			says: []string{"architecture ppc64le"},
		},
		"other pods are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Pods) },
			want: []string{"unknown free-nodes"},
			says: []string{"found 2 nodes with the resources of a pod"},
		},
		"nodes are not read, no --gpus": {s: func(s *cluster.State) {
			*s = plantest.Unread(*s, cluster.Nodes)
			s.Nodes = nil
		},
			want: []string{"fail job-request", "unknown free-nodes"}, says: []string{"--gpus 8"}},
		"nodes are not read": {s: func(s *cluster.State) {
			*s = plantest.Unread(*s, cluster.Nodes, cluster.MachineConfigs)
			s.Nodes = nil
		}, o: func(o *Options) { o.GPUs = 8 }, want: []string{"unknown free-nodes"},
			says: []string{"the pools of the nodes could not be read", "SCC railhead-rdma allows it"}},
		"no GPUs requested": {o: func(o *Options) { o.GPUs = NoGPUs }},
	})
}

func TestRailPrechecks(t *testing.T) {
	runPrechecks(t, plantest.Training, map[string]precheck{
		"no attachments": {
			s:    func(s *cluster.State) { s.Networks = nil },
			want: []string{"fail rails-attached"},
			says: []string{"namespace train has no network attachments", "--mode tcp"},
		},
		"no attachments, over TCP": {
			s: func(s *cluster.State) { s.Networks = nil },
			o: func(o *Options) { o.Mode = nccl.TCP },
		},
		"attachments are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Networks); s.Networks = nil },
			want: []string{"fail cluster-readable"},
			says: []string{
				"whether namespace train has rails is unknown", "ask a cluster administrator",
				"create rolebinding networks-reader --role=networks-reader",
			},
		},
		"attachments are not read, in mode auto": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Networks); s.Networks = nil },
			o:    func(o *Options) { o.Mode = nccl.Auto },
			want: []string{"unknown cluster-readable"},
			says: []string{"whether namespace train has rails is unknown", "Mode auto uses TCP"},
		},
		"no Multus": {
			s: func(s *cluster.State) {
				s.Networks = nil
				s.Server.Groups = slices.DeleteFunc(slices.Clone(s.Server.Groups), func(g string) bool {
					return g == cluster.NetworkGroup
				})
			},
			want: []string{"fail rails-attached"},
			says: []string{"its API has no group k8s.cni.cncf.io", "Install Multus"},
		},
		"a resource that no node offers": {
			s:    func(s *cluster.State) { s.Networks[1].Resource = "openshift.io/eno5np0_rdma" },
			want: []string{"fail network-resource"},
			says: []string{
				"attachment eno5np0-network: no node offers openshift.io/eno5np0_rdma",
				"Nodes offer openshift.io/eno5np0rdma",
			},
		},
		"an unused attachment": {s: func(s *cluster.State) { s.Networks[1].Resource = "openshift.io/x" },
			o: func(o *Options) {
				o.Networks = []string{"eno6np0-network", "eno7np0-network"}
			}, says: []string{"no privileges"}},
		"an attachment without resource": {
			s:    func(s *cluster.State) { s.Networks[1].Resource = "" },
			want: []string{"fail network-resource"},
			says: []string{"no annotation"},
		},
		"a bridge": {s: func(s *cluster.State) {
			s.Networks = append(s.Networks, cluster.Network{Namespace: "train", Name: "br", Type: "bridge"})
		}},
		"an attachment by a wrong name": {
			o:    func(o *Options) { o.Networks = []string{"eno5np0-networks"} },
			want: []string{"fail nad-missing"},
			says: []string{"Did you mean eno5np0-network"},
		},
	})
}

func TestPrivilegePrechecks(t *testing.T) {
	grants := func(s *cluster.State, n int) { s.SCCGrants = s.SCCGrants[:n] }
	runPrechecks(t, memlockLimited, map[string]precheck{
		"the capability is granted": {
			says: []string{"as root with the capability IPC_LOCK", "SCC railhead-rdma allows it"},
		},
		"nothing is granted": {
			s:    func(s *cluster.State) { grants(s, 1) },
			want: []string{"fail pod-memlock"},
			says: []string{
				"gpu-1, gpu-2",
				"may not add IPC_LOCK",
				"--allow-ipc-lock && railhead setup namespace train --name h-kim",
			},
		},
		"--memlock node": {
			s:    func(s *cluster.State) { grants(s, 1) },
			o:    func(o *Options) { o.Memlock = access.MemlockByNode },
			says: []string{"add no capability"},
		},
		"over TCP nothing is pinned": {
			s: func(s *cluster.State) { grants(s, 1) },
			o: func(o *Options) { o.Mode = nccl.TCP },
		},
		"SCCs are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SCCs); s.SCCs = nil },
			want: []string{"unknown pod-memlock"},
			says: []string{"could not be read"},
		},
		"one node is not updated yet": {s: func(s *cluster.State) {
			*s = plantest.Training()
			s.Pools[0].CurrentSources = nil
			s.Pools[0].Target = "rendered-worker-2"
			s.Nodes[0].MachineConfig.Current = "rendered-worker-2"
		}, says: []string{"no MachineConfig lifts the memlock limit on gpu-2,"}},
		"a drop-in that cannot be read": {s: func(s *cluster.State) {
			*s = plantest.Training()
			s.MachineConfigs[0].Name, s.Pools[0].CurrentSources, s.Pools[0].TargetSources = "99-limits", []string{"99-limits"}, []string{"99-limits"}
			s.MachineConfigs[0].Files[0].Unread = "compressed"
		}, says: []string{"the CRI-O configuration of gpu-1, gpu-2 could not be read"}},
	})
	level := func(name string) func(*cluster.State) {
		return func(s *cluster.State) { s.Namespaces[1].Labels = map[string]string{plan.EnforceLabel: name} }
	}
	uid := int64(1000)
	runPrechecks(t, memlockLimited, map[string]precheck{
		"OpenShift, baseline": {s: level("baseline"), want: []string{"fail pod-memlock"},
			says: []string{
				"namespace train enforces Pod Security level baseline",
				"railhead setup cluster; kubectl label --overwrite namespace train pod-security.kubernetes.io/enforce=privileged",
			}},
		"OpenShift, privileged": {s: level("privileged"), says: []string{"SCC railhead-rdma allows it"}},
		"a user for whom the capability has no effect": {o: func(o *Options) {
			o.RunAsUser = &uid
		}, want: []string{"fail pod-memlock"},
			says: []string{
				"works only for root of the node, but --run-as-user is 1000",
				"--run-as-user: 1000 (want 0, or none, or nodes that lift the memlock limit)",
			}},
		"a user, with --memlock node": {
			o: func(o *Options) { o.RunAsUser, o.Memlock = &uid, access.MemlockByNode },
		},
	})
	runPrechecks(t, plantest.Training, map[string]precheck{
		"OpenShift, IPC_LOCK, restricted": {s: level("restricted"), o: func(o *Options) {
			o.Memlock = access.MemlockByIPCLock
		}, want: []string{"fail pod-security"},
			says: []string{
				"namespace train enforces Pod Security level restricted, which forbids the capability IPC_LOCK",
				"enforce=privileged",
			}},
		"root, which no SCC allows": {
			s:    func(s *cluster.State) { grants(s, 1) },
			o:    func(o *Options) { o.RunAsUser = new(int64(0)) },
			want: []string{"fail scc-usable"},
			says: []string{"may use no SCC that allows user 0", "oc adm policy add-scc-to-user anyuid -z h-kim-sa -n train"},
		},
		"root, which the SCC does not allow": {
			s:    func(s *cluster.State) { s.SCCs[1].RunAsUser = "MustRunAsRange" },
			o:    func(o *Options) { o.SCC, o.RunAsUser = plan.SCCName, new(int64(0)) },
			want: []string{"fail scc-usable"},
			says: []string{
				"SCC railhead-rdma does not allow user 0", "oc adm policy add-scc-to-user anyuid -z h-kim-sa -n train",
				"--scc anyuid",
			},
		},
		"root, which an SCC allows": {o: func(o *Options) { o.RunAsUser = new(int64(0)) }},
		"a user of the namespace's range": {
			s: func(s *cluster.State) {
				grants(s, 1)
				s.Namespaces[1].Annotations = map[string]string{"openshift.io/sa.scc.uid-range": "1000650000/10000"}
			},
			o: func(o *Options) { o.RunAsUser = new(int64(1000650007)) },
		},
		"a user outside the namespace's range": {
			s: func(s *cluster.State) {
				grants(s, 1)
				s.Namespaces[1].Annotations = map[string]string{"openshift.io/sa.scc.uid-range": "1000650000/10000"}
			},
			o:    func(o *Options) { o.RunAsUser = &uid },
			want: []string{"fail scc-usable"},
			says: []string{"user 1000"},
		},
		"OpenShift, privileged pods, baseline": {s: func(s *cluster.State) {
			level("baseline")(s)
			s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
				SCC:       "privileged",
				Subject:   "ServiceAccount/train/h-kim-sa",
				Namespace: "train",
			})
		}, o: func(o *Options) {
			o.Privileged = true
		}, want: []string{"fail pod-security"}, says: []string{"which forbids privileged containers"}},
		"OpenShift, restricted, where the nodes unlock memory": {
			s:    level("restricted"),
			says: []string{"need no privileges"},
		},
		"a missing SCC": {
			o:    func(o *Options) { o.SCC = "nccl-scc" },
			want: []string{"fail scc-usable"},
			says: []string{"SCC nccl-scc does not exist"},
		},
		"an SCC that is not granted": {s: func(s *cluster.State) {
			grants(s, 1)
		}, o: func(o *Options) { o.SCC = plan.SCCName }, want: []string{"fail scc-usable"},
			says: []string{
				"may not use SCC railhead-rdma",
				"restricted-v2 (want railhead-rdma)",
				"railhead setup namespace train --name h-kim --scc railhead-rdma",
			}},
		"grants are not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.SCCGrants); s.SCCGrants = nil },
			o:    func(o *Options) { o.SCC = plan.SCCName },
			want: []string{"unknown scc-usable"},
		},
		"an SCC without downwardAPI": {s: func(s *cluster.State) {
			s.SCCs[1].Volumes = []string{"emptyDir", "projected"}
		}, o: func(o *Options) {
			o.SCC, o.Script = plan.SCCName, &Script{Name: "a.py"}
		}, want: []string{"fail scc-usable"}, says: []string{"configMap volumes and downwardAPI volumes"}},
		"IPC_LOCK under an SCC without it": {
			s:    func(s *cluster.State) { s.SCCs[1].AllowedCapabilities = nil },
			o:    func(o *Options) { o.SCC, o.Memlock = plan.SCCName, access.MemlockByIPCLock },
			want: []string{"fail scc-usable"},
			says: []string{"IPC_LOCK as root", "railhead setup cluster --allow-ipc-lock"},
		},
		"IPC_LOCK without an SCC": {
			s:    func(s *cluster.State) { grants(s, 1) },
			o:    func(o *Options) { o.Memlock = access.MemlockByIPCLock },
			want: []string{"fail scc-usable"},
			says: []string{"IPC_LOCK and root"},
		},
		"privileged without an SCC": {
			o:    func(o *Options) { o.Privileged = true },
			want: []string{"fail scc-usable"},
			says: []string{"oc adm policy add-scc-to-user privileged -z h-kim-sa -n train"},
		},
		"privileged under an SCC without privileges": {
			o:    func(o *Options) { o.Privileged, o.SCC = true, plan.SCCName },
			want: []string{"fail scc-usable"},
			says: []string{
				"privileged containers, which the pods need",
				"oc adm policy add-scc-to-user privileged -z h-kim-sa -n train", "--scc privileged",
			},
		},
	})
	runPrechecks(t, plantest.Vanilla, map[string]precheck{
		"plain Kubernetes, no level": {says: []string{"namespace train allows it", "--memlock node"}},
		"plain Kubernetes, baseline": {
			s:    level("baseline"),
			want: []string{"unknown pod-memlock"},
			says: []string{"enforces Pod Security level baseline"},
		},
		"plain Kubernetes, IPC_LOCK, strict": {
			s:    level("restricted"),
			o:    func(o *Options) { o.Memlock = access.MemlockByIPCLock },
			want: []string{"fail pod-security"},
			says: []string{"enforce=privileged"},
		},
		"plain Kubernetes, privileged": {
			o:    func(o *Options) { o.Privileged = true },
			says: []string{"they can use every device of the node"},
		},
	})
}

func TestQuotaPrechecks(t *testing.T) {
	quota := func(hard, used cluster.Resources) func(*cluster.State) {
		return func(s *cluster.State) {
			s.Quotas = []cluster.Quota{
				{Namespace: "train", Name: "q", Hard: hard, Used: used},
				{Namespace: "other", Name: "q", Hard: cluster.Resources{"pods": 0}},
			}
		}
	}
	runPrechecks(t, plantest.Training, map[string]precheck{
		"room enough": {
			s: quota(cluster.Resources{
				"requests.nvidia.com/gpu": 16,
				"pods":                    2,
				"configmaps":              1,
				"count/statefulsets.apps": 1,
			}, nil),
		},
		"too few GPUs left": {
			s:    quota(cluster.Resources{"requests.nvidia.com/gpu": 16}, cluster.Resources{"requests.nvidia.com/gpu": 8}),
			want: []string{"fail quota-exceeded"},
			says: []string{
				"quota q of namespace train has 8 requests.nvidia.com/gpu left, but the job needs 16",
				"8 used of 16 requests.nvidia.com/gpu",
			},
		},
		"names that no quota counts": {
			s: quota(cluster.Resources{"nvidia.com/gpu": 1, "limits.nvidia.com/gpu": 1, "count/pods": 2}, nil),
			says: []string{
				"Quota q has nvidia.com/gpu, which limits nothing", "has limits.nvidia.com/gpu, which limits nothing",
			},
		},
		"too few rails": {
			s:    quota(cluster.Resources{"requests.openshift.io/eno5np0rdma": 1}, nil),
			want: []string{"fail quota-exceeded"},
		},
		"too few pods": {
			s:    quota(cluster.Resources{"pods": 4, "count/pods": 1}, cluster.Resources{"pods": 3}),
			want: []string{"fail quota-exceeded", "fail quota-exceeded"},
		},
		"no more objects": {
			s:    quota(cluster.Resources{"configmaps": 5, "count/services": 0}, cluster.Resources{"configmaps": 5}),
			want: []string{"fail quota-exceeded", "fail quota-exceeded"},
		},
		"memory by limits": {
			s:    quota(cluster.Resources{"limits.memory": 1 << 40, "limits.cpu": 1000000}, nil),
			o:    func(o *Options) { o.Memory, o.CPU = "600Gi", "10" },
			want: []string{"fail quota-exceeded"},
			says: []string{"1.3Ti limits.memory"},
		},
		"missing requests": {
			s:    quota(cluster.Resources{"limits.memory": 1 << 40, "requests.memory": 1 << 40, "cpu": 1000}, nil),
			want: []string{"warn required-resources", "warn required-resources"},
			says: []string{"--memory", "--cpu"},
		},
		"a scoped quota": {s: func(s *cluster.State) {
			s.Quotas = []cluster.Quota{
				{Namespace: "train", Name: "s", Scoped: true, Hard: cluster.Resources{"pods": 0}},
			}
		}, says: []string{"Quota s applies to some pods only"}},
		"quotas not read": {
			s:    func(s *cluster.State) { *s = plantest.Unread(*s, cluster.Quotas) },
			want: []string{"unknown quota-exceeded"},
		},
		"the job's own pods count once": {s: func(s *cluster.State) {
			quota(cluster.Resources{
				"requests.nvidia.com/gpu": 16,
				"pods":                    2,
			}, cluster.Resources{"requests.nvidia.com/gpu": 16, "pods": 2})(s)
			for _, node := range []string{"gpu-1", "gpu-2"} {
				s.Pods = append(s.Pods, cluster.Pod{Namespace: "train", Name: "h-kim-" + node, Node: node, Phase: "Running", Requests: cluster.Resources{"nvidia.com/gpu": 8},
					Labels: map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}})
			}
		}},
		"what the job's own pods are limited to counts once": {s: func(s *cluster.State) {
			const both = 2 * (192 << 30) // 128Gi and 64Gi of /dev/shm each
			quota(cluster.Resources{
				"limits.memory":   both,
				"requests.memory": both,
			}, cluster.Resources{"limits.memory": both, "requests.memory": both})(s)
			for _, node := range []string{"gpu-1", "gpu-2"} {
				has := cluster.Resources{"nvidia.com/gpu": 8, "memory": both / 2}
				s.Pods = append(s.Pods, cluster.Pod{Namespace: "train", Name: "h-kim-" + node, Node: node, Phase: "Running", Requests: has, Limits: has,
					Labels: map[string]string{plan.LabelInstance: "h-kim", plan.LabelComponent: workload.ComponentJob}})
			}
		}, o: func(o *Options) {
			o.Memory = "128Gi"
		}, says: []string{"Each pod requests 192Gi of memory: 128Gi, and 64Gi for /dev/shm"}},
	})
}
