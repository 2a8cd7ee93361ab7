package cluster

import "testing"

func TestQuantity(t *testing.T) {
	for want, got := range map[string]string{
		"8 nvidia.com/gpu": Quantity("nvidia.com/gpu", 8), "4 cpu": Quantity("cpu", 4000), "1500m requests.cpu": Quantity("requests.cpu", 1500),
		"64Gi memory": Quantity("memory", 64<<30), "1.5Gi ephemeral-storage": Quantity("ephemeral-storage", 3<<29), "100 memory": Quantity("memory", 100),
		"-2Gi limits.memory": Quantity("limits.memory", -2<<30), "2Mi hugepages-2Mi": Quantity("hugepages-2Mi", 2<<20),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
