package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertNicPolicy(t *testing.T) {
	got := convertNicPolicy(from[nicPolicy](t, `
metadata: {name: nic-cluster-policy}
spec:
  sriovDevicePlugin:
    config: |
      {"resourceList": [
        {"resourcePrefix": "nvidia.com", "resourceName": "rail0",
         "selectors": {"vendors": ["15b3"], "pfNames": ["ens1f0np0"], "isRdma": true}},
        {"resourcePrefix": "nvidia.com", "resourceName": "plain", "selectors": [{"vendors": ["15b3"]}, {"pfNames": ["ens9"]}]}
      ]}
  rdmaSharedDevicePlugin:
    config: |
      {"configList": [{"resourceName": "rdma_shared_device_a", "rdmaHcaMax": 63, "selectors": {"ifNames": ["ens2f0np0"]}}]}
`))
	want := []cluster.NvidiaResource{
		{Policy: "nic-cluster-policy", Resource: "nvidia.com/rail0", RDMA: true, Ports: []string{"ens1f0np0"}},
		{Policy: "nic-cluster-policy", Resource: "nvidia.com/plain", Ports: []string{"ens9"}},
		{
			Policy: "nic-cluster-policy", Resource: "rdma/rdma_shared_device_a", RDMA: true, Shared: true,
			Ports: []string{"ens2f0np0"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := convertNicPolicy(from[nicPolicy](t, `spec: {sriovDevicePlugin: {config: "{"}}`)); got != nil {
		t.Errorf("of broken JSON: %v", got)
	}
}
