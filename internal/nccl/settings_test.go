package nccl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// setting is a recorded pod with the settings of its user, and the expected result.
type setting struct {
	name, host string
	env, conf  map[string]string // the environment, /etc/nccl.conf
	versions   []string          // of libnccl; nil: as recorded
	policy     Policy
	want       []string // variables: NAME=value source, without those that are the same on the recorded pod
	findings   []string // status check subject
	says       string   // part of a finding's summary
}

// compute runs Compute on the pod with the settings.
func (tc setting) compute(t *testing.T) (vars []Var, findings []check.Finding) {
	t.Helper()
	s, _ := pod(t, tc.host)
	s.Env = maps.Clone(s.Env)
	maps.Copy(s.Env, tc.env)
	for _, name := range slices.Sorted(maps.Keys(tc.conf)) {
		s.NCCL.Config = append(s.NCCL.Config, host.ConfigVar{File: "/etc/nccl.conf", Name: name, Value: tc.conf[name]})
	}
	if tc.versions != nil {
		s.NCCL.Libraries = nil
	}
	for _, v := range tc.versions {
		s.NCCL.Libraries = append(s.NCCL.Libraries, host.NCCLLibrary{Path: "/lib/libnccl.so." + v, Version: v})
	}
	return Compute(rail.Resolve(s, rail.Pod).Rails, s, tc.policy)
}

func lines(vars []Var) []string {
	all := make([]string, 0, len(vars))
	for _, v := range vars {
		all = append(all, fmt.Sprintf("%s=%s %s", v.Name, v.Value, v.Source))
	}
	return all
}

func (tc setting) check(t *testing.T) {
	t.Helper()
	plain, _ := setting{host: tc.host, policy: Policy{Mode: tc.policy.Mode}}.compute(t)
	vars, findings := tc.compute(t)
	usual := lines(plain)
	got := slices.DeleteFunc(lines(vars), func(line string) bool { return slices.Contains(usual, line) })
	if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
		t.Errorf("variables that differ from those without settings (-want +got):\n%s", diff)
	}
	var said []string
	text := ""
	for _, f := range findings {
		said = append(said, fmt.Sprintf("%s %s %s", f.Status, f.Check, f.Subject))
		text += f.Summary + "\n"
	}
	if diff := cmp.Diff(tc.findings, said); diff != "" {
		t.Errorf("findings (-want +got):\n%s\n%s", diff, text)
	}
	if !strings.Contains(text, tc.says) {
		t.Errorf("no %q in %s", tc.says, text)
	}
}

func run(t *testing.T, all []setting) {
	t.Helper()
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) { tc.check(t) })
	}
}

var override = Policy{Override: true}

// TestOverrideRemoves: --override removes the settings that are reported without it.
func TestOverrideRemoves(t *testing.T) {
	run(t, []setting{
		{
			name: "verbs switched off", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_DISABLE": "1"},
			policy: override,
			want:   []string{"NCCL_IB_DISABLE= left unset"},
		},
		{
			name: "UCX and NVSHMEM off the rails", host: "pod-roce-4vf", policy: override,
			env: map[string]string{
				"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "NVSHMEM_REMOTE_TRANSPORT": "none",
				"FI_PROVIDER": "tcp",
			},
			want: []string{
				"UCX_TLS= left unset", "NVSHMEM_REMOTE_TRANSPORT= left unset", "FI_PROVIDER= left unset",
			},
		},
		{
			name: "verbs switched off in a file", host: "pod-roce-4vf",
			conf: map[string]string{"NCCL_IB_DISABLE": "1"}, policy: override,
			want: []string{"NCCL_IB_DISABLE=0 computed"},
		},
		{
			name: "verbs switched off in both", host: "pod-roce-4vf", policy: override,
			env: map[string]string{"NCCL_IB_DISABLE": "1"}, conf: map[string]string{"NCCL_IB_DISABLE": "1"},
			want: []string{"NCCL_IB_DISABLE=0 computed"},
		},
		{
			name: "index where a range is needed", host: "pod-macvlan-shifted",
			env: map[string]string{"NCCL_IB_GID_INDEX": "3"}, policy: override,
			want: []string{"NCCL_IB_GID_INDEX= left unset"},
		},
		{
			name: "index of a file where a range is needed", host: "pod-macvlan-shifted",
			conf: map[string]string{"NCCL_IB_GID_INDEX": "3"}, policy: override,
			want: []string{"NCCL_IB_GID_INDEX=-1 computed"},
		},
		{
			name: "index of a file where NCCL chooses", host: "pod-roce-4vf",
			conf: map[string]string{"NCCL_IB_GID_INDEX": "2"}, policy: override,
			want: []string{"NCCL_IB_GID_INDEX=-1 computed"},
		},
		{
			name: "family, version and range", host: "pod-roce-4vf", policy: override,
			env:  map[string]string{"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ROCE_VERSION_NUM": "1"},
			conf: map[string]string{"NCCL_IB_ADDR_RANGE": "192.168.0.0/16"},
			want: []string{
				"NCCL_IB_ADDR_FAMILY= left unset", "NCCL_IB_ROCE_VERSION_NUM= left unset",
				"NCCL_IB_ADDR_RANGE= computed",
			},
		},
		{
			name: "fusion", host: "vm-one-bus", env: map[string]string{"NCCL_IB_MERGE_VFS": "1"}, policy: override,
		},
		{
			name: "unknown level", host: "pod-roce-4vf",
			env: map[string]string{"NCCL_NET_GDR_LEVEL": "NODE"}, policy: override,
			want: []string{"NCCL_NET_GDR_LEVEL= left unset"},
		},
		{
			name: "level that nothing replaces", host: "pod-roce-4vf",
			env: map[string]string{"NCCL_NET_GDR_LEVEL": "PHB"}, policy: override,
			want: []string{"NCCL_NET_GDR_LEVEL=PHB user"},
		},
		{
			name: "network of a file, which no value overrides", host: "pod-roce-4vf",
			conf:     map[string]string{"NCCL_NET": "Socket"},
			policy:   Policy{Mode: Auto, Override: true},
			want:     []string{"NCCL_NET=Socket user"},
			findings: []string{"fail network-choice env/NCCL_NET"}, says: "cannot be removed",
		},
	})
}

// TestIgnoredValues: values that NCCL ignores count as not set, but still hide those of the files.
func TestIgnoredValues(t *testing.T) {
	run(t, []setting{
		{name: "empty list of devices", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_HCA": ""}},
		{name: "empty network", host: "pod-roce-4vf", env: map[string]string{"NCCL_NET": ""}},
		{name: "empty interface", host: "pod-roce-4vf", env: map[string]string{"NCCL_SOCKET_IFNAME": ""}},
		{name: "interface of one character", host: "pod-roce-4vf", env: map[string]string{"NCCL_SOCKET_IFNAME": "="}},
		{
			name: "empty list of UCX's transports, with which UCX stops", host: "pod-roce-4vf",
			env: map[string]string{"UCX_TLS": ""}, findings: []string{"warn library-devices env/UCX_TLS"},
		},
		{
			name: "family by a word that NCCL does not know", host: "pod-roce-4vf",
			env: map[string]string{"NCCL_SOCKET_FAMILY": "ipv6"},
		},
		{name: "empty interface of Gloo", host: "pod-roce-4vf", env: map[string]string{"GLOO_SOCKET_IFNAME": ""}},
		{name: "empty line of a file", host: "pod-roce-4vf", conf: map[string]string{"NCCL_IB_HCA": ""}},
		{
			name: "empty one over that of a file", host: "pod-roce-4vf",
			env: map[string]string{"NCCL_IB_GID_INDEX": ""}, conf: map[string]string{"NCCL_IB_GID_INDEX": "2"},
			want: []string{"NCCL_IB_GID_INDEX=-1 computed"},
		},
		{name: "switched off by no number", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_DISABLE": "false"}},
		{
			name: "switched off by true, which is none either", host: "pod-roce-4vf",
			env: map[string]string{"NCCL_IB_DISABLE": "true"},
		},
		{name: "switched off by 00", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_DISABLE": "00"}},
		{
			name: "switched off by 0x1", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_DISABLE": "0x1"},
			findings: []string{"fail network-choice env/NCCL_IB_DISABLE"},
		},
	})
}

// TestGIDSettings: settings of the choice of a GID are kept, and judged by the slot that they select.
func TestGIDSettings(t *testing.T) {
	old, new := []string{"2.20.5"}, []string{"2.27.3"}
	run(t, []setting{
		{
			name: "automatic with a version that has no choice", host: "pod-shared-plugin",
			env: map[string]string{"NCCL_IB_GID_INDEX": "-1"}, versions: old,
			findings: []string{"fail gid-index env/NCCL_IB_GID_INDEX"},
			says:     "NCCL_IB_GID_INDEX=-1 leaves the choice to it",
		},
		{
			name: "automatic with one that has", host: "pod-roce-4vf",
			env:  map[string]string{"NCCL_IB_GID_INDEX": "-1"},
			want: []string{"NCCL_IB_GID_INDEX=-1 user"},
		},
		{
			name: "automatic, helped by a range", host: "pod-macvlan-shifted",
			env: map[string]string{"NCCL_IB_GID_INDEX": "-1"},
		},
		{
			name: "no number, which is slot 0", host: "pod-roce-4vf",
			env:      map[string]string{"NCCL_IB_GID_INDEX": "auto"},
			want:     []string{"NCCL_IB_GID_INDEX=auto user"},
			findings: []string{"fail gid-index env/NCCL_IB_GID_INDEX"},
			says:     "makes NCCL use slot 0 of mlx5_6:1, which is link-local",
		},
		{
			name: "empty slot", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_GID_INDEX": "9"},
			want:     []string{"NCCL_IB_GID_INDEX=9 user"},
			findings: []string{"fail gid-index env/NCCL_IB_GID_INDEX"},
			says:     "which is empty; the pod's GID is in slot 3 (and 3 more like it)",
		},
		{
			name: "another pod's slot", host: "pod-macvlan-shifted", env: map[string]string{"NCCL_IB_GID_INDEX": "7"},
			want:     []string{"NCCL_IB_GID_INDEX=7 user"},
			findings: []string{"fail gid-index env/NCCL_IB_GID_INDEX"},
			says:     "which is 10.30.40.4, not an address of this namespace",
		},
		{
			name: "RoCE v1 of the pod's address", host: "pod-roce-4vf",
			env:      map[string]string{"NCCL_IB_GID_INDEX": "2"},
			want:     []string{"NCCL_IB_GID_INDEX=2 user"},
			findings: []string{"warn gid-index env/NCCL_IB_GID_INDEX"}, says: "which is IB/RoCE v1",
		},
		{
			name: "right slot", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_GID_INDEX": "3"},
			want: []string{"NCCL_IB_GID_INDEX=3 user"},
		},
		{
			name: "IPv6 where there is none", host: "pod-roce-4vf",
			env:      map[string]string{"NCCL_IB_ADDR_FAMILY": "AF_INET6"},
			findings: []string{"fail gid-index env/NCCL_IB_ADDR_FAMILY"},
			says:     "makes NCCL use slot 0 of mlx5_6:1, which is link-local",
		},
		{
			name: "IPv4 in words", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_ADDR_FAMILY": "AF_INET"},
		},
		{
			name: "RoCE v1 wanted", host: "pod-roce-4vf", env: map[string]string{"NCCL_IB_ROCE_VERSION_NUM": "1"},
			findings: []string{"warn gid-index env/NCCL_IB_ROCE_VERSION_NUM"},
			says:     "slot 2 of mlx5_6:1, which is IB/RoCE v1",
		},
		{
			name: "range of another network", host: "pod-roce-4vf",
			env:      map[string]string{"NCCL_IB_ADDR_RANGE": "192.168.0.0/16"},
			findings: []string{"fail gid-index env/NCCL_IB_ADDR_RANGE"}, says: "makes NCCL use slot 0",
		},
		{
			name: "range of the pod's network", host: "pod-macvlan-shifted",
			env: map[string]string{"NCCL_IB_ADDR_RANGE": "10.30.8.0/22"}, versions: new,
			want: []string{"NCCL_IB_GID_INDEX= left unset"},
		},
		{
			name: "older library next to the one that chooses", host: "pod-macvlan-shifted",
			versions: []string{"2.20.5", "2.27.3"},
			findings: []string{"warn gid-index env/NCCL_IB_GID_INDEX"},
			says:     "right only if the command loads NCCL 2.27.3",
		},
		{
			name: "older library, and one index for all", host: "pod-roce-4vf", versions: []string{"2.20.5", "2.27.3"},
			want: []string{"NCCL_IB_GID_INDEX=3 computed"},
		},
		{
			name: "older library alone", host: "pod-macvlan-shifted", versions: old,
			findings: []string{"fail gid-index env/NCCL_IB_GID_INDEX"}, says: "no single index is right for all rails",
		},
	})
}

// TestKeptSettings: settings that this machine needs yield to the user's, with a warning.
func TestKeptSettings(t *testing.T) {
	run(t, []setting{
		{
			name: "fusion of different cards", host: "vm-one-bus", env: map[string]string{"NCCL_IB_MERGE_VFS": "1"},
			want:     []string{"NCCL_IB_MERGE_VFS=1 user"},
			findings: []string{"warn user-setting env/NCCL_IB_MERGE_VFS"}, says: "different cards on one PCI bus",
		},
		{
			name: "no fusion in other digits", host: "vm-one-bus", env: map[string]string{"NCCL_IB_MERGE_VFS": "00"},
			want: []string{"NCCL_IB_MERGE_VFS=00 user"},
		},
	})
}

func TestInterfaceSettings(t *testing.T) {
	run(t, []setting{
		{
			name: "list for Gloo", host: "pod-roce-4vf", env: map[string]string{"GLOO_SOCKET_IFNAME": ",eth0,net1"},
			want: []string{"GLOO_SOCKET_IFNAME=,eth0,net1 user"},
		},
		{
			name: "list for Gloo with a stranger", host: "pod-roce-4vf",
			env:      map[string]string{"GLOO_SOCKET_IFNAME": "eth0,net9"},
			want:     []string{"GLOO_SOCKET_IFNAME=eth0,net9 user"},
			findings: []string{"warn socket-interface env/GLOO_SOCKET_IFNAME"}, says: "names net9",
		},
		{
			name: "NVSHMEM by a prefix", host: "pod-roce-4vf",
			env: map[string]string{"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "eth"},
		},
		{
			name: "NVSHMEM on another node's interface", host: "pod-roce-4vf",
			env:      map[string]string{"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "=ens3"},
			findings: []string{"warn socket-interface env/NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"}, says: "names =ens3",
		},
		{
			name: "lo by leaving others out", host: "pod-roce-4vf",
			env:      map[string]string{"NCCL_SOCKET_IFNAME": "^docker"},
			want:     []string{"NCCL_SOCKET_IFNAME=^docker user"},
			findings: []string{"fail socket-interface env/NCCL_SOCKET_IFNAME"}, says: "puts bootstrap on lo",
		},
		{
			name: "lo by name", host: "pod-roce-4vf", env: map[string]string{"NCCL_SOCKET_IFNAME": "=lo"},
			want:     []string{"NCCL_SOCKET_IFNAME==lo user"},
			findings: []string{"warn socket-interface env/NCCL_SOCKET_IFNAME"},
		},
	})
}

func TestFilterSettings(t *testing.T) {
	run(t, []setting{
		{
			name: "exact name of a device whose node is elsewhere", host: "pod-roce-4vf",
			env:  map[string]string{"NCCL_IB_HCA": "=mlx5_6,mlx5_0"},
			want: []string{"NCCL_IB_HCA==mlx5_6,mlx5_0 user"},
			findings: []string{
				"warn hca-filter env/NCCL_IB_HCA", "warn hca-filter env/NCCL_IB_HCA", "warn gpudirect-distance pod",
			},
			says: "names mlx5_0, which this pod does not have",
		},
		{
			name: "exact name of a rail that is down", host: "lab-pf-down",
			env: map[string]string{"NCCL_IB_HCA": "=mlx5_0:1,mlx5_2:1", "UCX_NET_DEVICES": "mlx5_0:1,mlx5_2:1"},
			want: []string{
				"NCCL_IB_HCA==mlx5_0:1,mlx5_2:1 user", "UCX_NET_DEVICES=mlx5_0:1,mlx5_2:1 user",
			},
			findings: []string{"warn shm-size pod"},
		},
		{
			name: "file with line ends of Windows", host: "pod-roce-4vf", conf: map[string]string{"NCCL_IB_HCA": "mlx5\r"},
			want:     []string{"NCCL_IB_HCA=mlx5\r user"},
			findings: []string{"fail hca-filter env/NCCL_IB_HCA"},
			says:     `NCCL_IB_HCA="mlx5\r" selects none of the pod's rails`,
		},
		{
			name: "prefix of devices whose nodes are elsewhere", host: "pod-roce-4vf",
			env:  map[string]string{"NCCL_IB_HCA": "mlx5"},
			want: []string{"NCCL_IB_HCA=mlx5 user"},
		},
		{
			name: "exact name of another pod's device that opens", host: "pod-privileged",
			env: map[string]string{
				"NCCL_IB_HCA": "=mlx5_2,mlx5_7,mlx5_20", "NCCL_IB_GID_INDEX": "3",
				"NCCL_SOCKET_IFNAME": "=eth0", "NCCL_NET_GDR_LEVEL": "SYS", "UCX_NET_DEVICES": "mlx5_7:1,mlx5_20:1",
			},
			findings: []string{"fail hca-filter env/NCCL_IB_HCA", "warn library-devices env/UCX_NET_DEVICES"},
			says:     "also selects mlx5_20:1, which this pod cannot use\n",
			want: []string{
				"NCCL_SOCKET_IFNAME==eth0 user", "GLOO_SOCKET_IFNAME=eth0 computed", "TP_SOCKET_IFNAME=eth0 computed",
				"NCCL_IB_HCA==mlx5_2,mlx5_7,mlx5_20 user", "NCCL_IB_GID_INDEX=3 user", "NCCL_NET_GDR_LEVEL=SYS user",
				"UCX_NET_DEVICES=mlx5_7:1,mlx5_20:1 user",
			},
		},
	})
}

// TestFallbackKeepsTheNetwork: in mode auto without a rail the user's own network is not replaced by TCP, unless it
// needs a rail.
func TestFallbackKeepsTheNetwork(t *testing.T) {
	run(t, []setting{
		{
			name: "external plugin", host: "pod-no-rdma", env: map[string]string{"NCCL_NET": "AWS Libfabric"},
			policy:   Policy{Mode: Auto},
			want:     []string{"NCCL_NET=AWS Libfabric user"},
			findings: []string{"warn network-choice env/NCCL_NET"}, says: "selects an external plugin and is kept",
		},
		{
			name: "external plugin, and TCP on purpose", host: "pod-no-rdma",
			env: map[string]string{"NCCL_NET": "AWS Libfabric"}, policy: Policy{Mode: TCP},
		},
		{
			name: "verbs", host: "pod-no-rdma", env: map[string]string{"NCCL_NET": "IB"},
			policy: Policy{Mode: Auto}, want: []string{"NCCL_NET=Socket policy"},
		},
		{
			name: "verbs of HPC-X", host: "pod-no-rdma", env: map[string]string{"NCCL_NET": "IBext_v9"},
			policy: Policy{Mode: Auto}, want: []string{"NCCL_NET=Socket policy"},
		},
		{
			name: "devices of UCX", host: "pod-no-rdma", env: map[string]string{"UCX_NET_DEVICES": "mlx5_0:1"},
			policy:   Policy{Mode: Auto},
			want:     []string{"UCX_NET_DEVICES=mlx5_0:1 user"},
			findings: []string{"warn library-devices env/UCX_NET_DEVICES"},
		},
	})
}
