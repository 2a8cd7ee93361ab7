package words

import (
	"slices"
	"testing"
)

func TestNearest(t *testing.T) {
	among := []string{"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma", "nvidia.com/mlx5_0", "rdma/rdma_shared_device_a"}
	for name, want := range map[string][]string{
		"openshift.io/eno5np0_rdma":       {"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma"},
		"nvidia.com/eno5np0rdma":          {"openshift.io/eno5np0rdma", "openshift.io/eno6np0rdma"},
		"openshift.io/rdma_shared_device": {"rdma/rdma_shared_device_a"},
		"rdma/hca":                        nil,
		"openshift.io/eno5np0rdma":        {"openshift.io/eno6np0rdma"},
		"":                                nil,
	} {
		if got := Nearest(name, among); !slices.Equal(got, want) {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
