package machine

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/nccl"
)

// A GPU next to a Data Direct function is not called far from its rail: NCCL may measure from that function.
func TestDataDirect(t *testing.T) {
	const (
		function = "sys/bus/pci/devices/0000:19:00.0"
		switched = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:19:00.0" // GPU 0 is below, too
	)
	distance := func(e hosttest.Edit, gpus int) []check.Finding {
		s := hosttest.Edited(t, "pod-roce-4vf", e)
		for i := range s.Devices {
			s.Devices[i].Function.Value.Path = host.Know(host.PCIPath{
				HostBridge: "pci0000:f0", Hops: []host.PCIAddress{s.Devices[i].Function.Value.Address},
			})
		}
		s.GPUs = s.GPUs[:gpus]
		var found []check.Finding
		for _, f := range Pod(s, Options{}).Findings {
			if f.Check == nccl.GPUDirectDistance {
				found = append(found, f)
			}
		}
		return found
	}
	direct := hosttest.Edit{Files: map[string]string{
		function: "-> ../../../../" + switched, switched + "/vendor": "0x15b3", switched + "/device": "0x2100",
		switched + "/class": "0x088000",
	}}
	if found := distance(hosttest.Edit{}, 2); len(found) != 1 || !strings.Contains(found[0].Summary, "GPU0, GPU1") {
		t.Errorf("without Data Direct: %+v", found)
	}
	if found := distance(direct, 2); len(found) != 1 || strings.Contains(found[0].Summary, "GPU0") {
		t.Errorf("GPU1 is far from every function: %+v", found)
	}
	if found := distance(direct, 1); len(found) != 0 {
		t.Errorf("with Data Direct: %+v", found)
	}
}
