//go:build vm

package fabrictest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	clusterstate "github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/vm"
)

// iommus wants the snapshot to say of the group of each HCA what the kernel says, with each IOMMU in each mode.
func iommus(t *testing.T) {
	for name, test := range map[string]struct {
		iommu     vm.IOMMU
		arguments []string
		want      string // type of the HCAs' groups; "": they have none
		recording string // for the fast tests, where this is not one of the faults
	}{
		"Intel":                  {vm.Intel, nil, "DMA-FQ", ""},
		"Intel with passthrough": {vm.Intel, []string{"intel_iommu=on", "iommu=pt"}, "identity", ""},
		"Intel, strict":          {vm.Intel, []string{"intel_iommu=on", "iommu.strict=1"}, "DMA", "intel-strict"},
		"Intel, switched off":    {vm.Intel, []string{"intel_iommu=off", "iommu=pt"}, "", "intel-off"},
		"AMD":                    {vm.AMD, nil, "DMA", ""},
		"AMD with passthrough":   {vm.AMD, []string{"iommu=pt"}, "identity", "amd-passthrough"},
		"none, though asked for": {vm.NoIOMMU, []string{"intel_iommu=on", "iommu=pt"}, "", "no-iommu"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.arguments == nil {
				test.arguments = []string{}
			}
			f := machines(t, fabric.Options{Machines: 1, IOMMU: test.iommu, Arguments: test.arguments})
			run := fault.In(f.Machines[0])
			var s host.Snapshot
			if err := json.Unmarshal([]byte(output(t, run, program, "snapshot")), &s); err != nil {
				t.Fatal(err)
			}
			const hcas = 4
			if len(s.Devices) != hcas {
				t.Errorf("%d HCAs, want %d", len(s.Devices), hcas)
			}
			for _, d := range s.Devices {
				function := d.Function.Value
				kernel := strings.TrimSpace(output(t, run, "sh", "-c",
					fmt.Sprintf("cat /sys/bus/pci/devices/%s/iommu_group/type 2>/dev/null || true", function.Address)))
				if got := function.IOMMUType.Value; got != test.want || kernel != test.want {
					t.Errorf("%s: the snapshot says %q, the kernel %q, want %q", d.Name, got, kernel, test.want)
				}
			}
			if test.recording != "" {
				recorded(t, f.Machines[0], test.recording, "a pod where the IOMMU is: "+name, nil)
			}
			translated := strings.HasPrefix(test.want, "DMA")
			findings := setup.Verify(clusterstate.State{}, setup.Options{NoMemlock: true}, setup.CheckedNode{Snapshot: s})
			judged := slices.ContainsFunc(findings, func(f check.Finding) bool {
				return f.Check == nccl.IOMMUPassthrough && f.Status == check.Fail
			})
			if judged != translated {
				t.Errorf("groups of type %q: judged as translated: %v", test.want, judged)
			}
		})
	}
}
