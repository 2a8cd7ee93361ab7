package nccl

import (
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

// switchValues has for each variable values that keep its library off the rails, and values that do not.
var switchValues = map[string]struct{ off, on []string }{
	"NCCL_NET":        {[]string{"Socket", "socket", "FastSocket"}, []string{"IB", "ib", "IBext_v8", "AWS Libfabric"}},
	"NCCL_IB_DISABLE": {[]string{"1", "0x1", " 2"}, []string{"0", "00", "false", "true"}},
	"UCX_TLS": {
		[]string{
			"tcp", "tcp,self,sm", "sm,self,cuda_copy,cuda_ipc", "^ib", "^rc,ud,dc", "srd,tcp", `\rc,tcp`, "ud:aux,tcp",
			"", "^",
		},
		[]string{
			"all", "rc", "rc_x,sm,self", "rc_v", "rc_mlx5,tcp", "dc", "dc_x", "ud", "ud_v,self", "ib", "^tcp", "^rc",
			`\rc_verbs`, "tcp,cuda,rc",
		},
	},
	ucxList: {
		[]string{
			"eth0", "net1,eth0", "net1,all", "mlx5_6:1, mlx5_7:1", "mlx5_0:1", "mlx5_6:2",
			"^mlx5_6,mlx5_7,mlx5_10:1,mlx5_11:1", "mlx5_[0-3]:1", " all",
		},
		[]string{"all", "mlx5_6:1", "mlx5_6:1,eth0"},
	},
	nvshmemList: {
		[]string{
			"eth0", "mlx5_0", "^mlx5_6,mlx5_7,mlx5_10,mlx5_11", "all", "mlx5_[6-7]", "mlx5_6:2", "mlx5", " mlx5_6",
		},
		[]string{"", "mlx5_6:1", "mlx5_6", "^mlx5_6", "mlx5_6:1:2", ",mlx5_6,"},
	},
	"NVSHMEM_REMOTE_TRANSPORT": {[]string{"none", "tcp"}, []string{"ibrc", "IBRC", "ucx", "ibdevx", "libfabric"}},
	"NVSHMEM_IB_ENABLE_IBGDA":  {nil, []string{"1", "0", "true", "no"}},
	"FI_PROVIDER": {
		[]string{"tcp", "sockets", "tcp;ofi_rxm", "udp,shm", "efa", "all", " verbs", "^VERBS,ucx,mlx,psm3"},
		[]string{"verbs", "verbs;ofi_rxm", "^tcp", "tcp,verbs", "VERBS", "Verbs;ofi_rxm", "^TCP", "^verbs;ofi_rxm", ""},
	},
}

func TestOffSwitches(t *testing.T) {
	for _, o := range offSwitches {
		values := switchValues[o.name]
		for _, value := range values.off {
			if said := switched(t, o.name, value); len(said) != 1 {
				t.Errorf("%s=%s: %q, want one finding", o.name, value, said)
			}
		}
		for _, value := range values.on {
			if said := switched(t, o.name, value); len(said) > 0 {
				t.Errorf("%s=%s is healthy, but %q", o.name, value, said)
			}
		}
		if len(values.on) == 0 {
			t.Errorf("no values for %s", o.name)
		}
	}
}

// switched returns the summaries of findings about a variable of the user.
func switched(t *testing.T, name, value string) []string {
	t.Helper()
	_, findings := setting{host: "pod-roce-4vf", env: map[string]string{name: value}}.compute(t)
	var all []string
	for _, f := range findings {
		if (f.Check == NetworkChoice || f.Check == LibraryDevices) && f.Status != check.Pass {
			all = append(all, f.Summary)
		}
	}
	return all
}

// TestOlderUCX: up to 1.20 UCX takes exact names alone, and all anywhere. Which version is there is unknown: a remark.
func TestOlderUCX(t *testing.T) {
	for value, remark := range map[string]bool{
		"mlx5_6": true, "mlx5_6,eth0": true, "^eth0": true, "^mlx5_6": true, "mlx5_[6-7]:1": true, "mlx5_[0-6]": true,
		"mlx5_6:1": false, "mlx5_6,mlx5_7:1": false, "all": false, "net1,all": false,
	} {
		_, findings := setting{host: "pod-roce-4vf", env: map[string]string{ucxList: value}}.compute(t)
		said := slices.ContainsFunc(findings, func(f check.Finding) bool {
			return f.Status == check.Pass && strings.Contains(f.Summary, "keeps UCX up to 1.20 off the rails")
		})
		if said != remark {
			t.Errorf("%s: %+v", value, findings)
		}
	}
}

// TestIBGDA: the GPU-initiated transport of NVSHMEM works without another one, and finds HCAs by their names.
func TestIBGDA(t *testing.T) {
	run(t, []setting{{
		name: "no other transport", host: "pod-roce-4vf",
		env: map[string]string{ibgda: "1", "NVSHMEM_REMOTE_TRANSPORT": "none"},
	}, {
		name: "on by an empty value, and no other transport", host: "pod-roce-4vf",
		env: map[string]string{ibgda: "", "NVSHMEM_REMOTE_TRANSPORT": "none"},
	}, {
		name: "other names", host: "pod-roce-4vf", env: map[string]string{ibgda: "1", "NVSHMEM_HCA_PREFIX": "bnxt"},
		findings: []string{"warn library-devices env/" + ibgda}, says: "mlx5 if that is not set",
	}})
	s, _ := pod(t, "pod-roce-4vf")
	if !prefixOfNone(settings{s: &s}, "1", []rail.Rail{{Device: "rocep24s0v1"}}) {
		t.Error("by default it finds only HCAs named mlx5*")
	}
}
