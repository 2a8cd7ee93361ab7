package nccl

import "testing"

var correct = Policy{Correct: true}

// TestCorrects: what contradicts the machine is replaced, and every other setting is kept.
func TestCorrects(t *testing.T) {
	const rails = "mlx5_6:1,mlx5_7:1,mlx5_10:1,mlx5_11:1"
	run(t, []setting{
		{
			name: "names of another node", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_IB_HCA": "mlx5_6,mlx5_7,mlx5_20"},
			findings: []string{"warn hca-filter env/NCCL_IB_HCA"}, says: "names mlx5_20, which this pod does not have: REPLACED",
		},
		{
			name: "no rail", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_IB_HCA": "=mlx5_0"},
			findings: []string{"warn hca-filter env/NCCL_IB_HCA"}, says: "selects none of the pod's rails (" + rails + ")",
		},
		{
			name: "fewer rails", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_IB_HCA": "=mlx5_6:1"},
			want:     []string{"NCCL_IB_HCA==mlx5_6:1 user"},
			findings: []string{"warn hca-filter env/NCCL_IB_HCA", "warn gpudirect-distance pod"}, says: "leaves out 3 of 4 rails",
		},
		{
			name: "empty slot", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_IB_GID_INDEX": "40"},
			findings: []string{"warn gid-index env/NCCL_IB_GID_INDEX"}, says: "REPLACED",
		},
		{
			name: "interface of another node", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_SOCKET_IFNAME": "ens1f0"},
			findings: []string{"warn socket-interface env/NCCL_SOCKET_IFNAME"}, says: "REPLACED",
		},
		{
			name: "in a file", host: "pod-roce-4vf", policy: correct,
			conf:     map[string]string{"NCCL_IB_HCA": "mlx5_20"},
			findings: []string{"warn hca-filter env/NCCL_IB_HCA"}, says: "REPLACED",
		},
		{
			name: "UCX on the pod network", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"UCX_NET_DEVICES": "eth0"},
			findings: []string{"warn library-devices env/UCX_NET_DEVICES"}, says: "REPLACED",
		},
		{
			name: "verbs switched off on purpose", host: "pod-roce-4vf", policy: correct,
			env:      map[string]string{"NCCL_IB_DISABLE": "1"},
			findings: []string{"fail network-choice env/NCCL_IB_DISABLE"}, says: "forces TCP",
		},
		{
			name: "a setting of its own", host: "pod-roce-4vf", policy: correct,
			env:  map[string]string{"NCCL_SOCKET_IFNAME": "^lo,docker", "NCCL_DEBUG": "INFO"},
			want: []string{"NCCL_SOCKET_IFNAME=^lo,docker user"}, findings: []string{"warn socket-interface env/NCCL_SOCKET_IFNAME"},
			says: "matches 5 interfaces; bootstrap uses eth0 only",
		},
	})
}

func TestMeans(t *testing.T) {
	for _, c := range []struct {
		name, value, other string
		same               bool
	}{
		{"NCCL_NET_GDR_LEVEL", "SYS", "5", true},
		{"NCCL_NET_GDR_LEVEL", "SYS", "PHB", false},
		{"NCCL_NET_GDR_LEVEL", "SYS", "sys", false},
		{"NCCL_IB_HCA", "SYS", "5", false},
		{"NCCL_IB_HCA", "=mlx5_6", "=mlx5_6", true},
	} {
		if got := (Var{Name: c.name, Value: c.value}).Means(c.other); got != c.same {
			t.Errorf("%s=%s, %s: %v", c.name, c.value, c.other, got)
		}
	}
}
