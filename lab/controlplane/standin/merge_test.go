package standin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func machineConfig(name, ignition string, arguments ...string) machineconfigv1.MachineConfig {
	return machineconfigv1.MachineConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: machineconfigv1.MachineConfigSpec{
			Config: runtime.RawExtension{Raw: []byte(ignition)}, KernelArguments: arguments,
		},
	}
}

func TestMerge(t *testing.T) {
	pool := &machineconfigv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}
	first := machineConfig("00-first", `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/b","mode":1},{"path":"/a","mode":1}]}}`, "quiet")
	last := machineConfig("99-last", `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/b","mode":2}]},"systemd":{"units":[{"name":"x"}]}}`, "iommu=pt")
	rendered, sources, err := merge(pool, []machineconfigv1.MachineConfig{last, first})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"mode":1,"path":"/a"},{"mode":2,"path":"/b"}]},"systemd":{"units":[{"name":"x"}]}}`
	if diff := cmp.Diff(want, string(rendered.Spec.Config.Raw)); diff != "" {
		t.Errorf("ignition (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"quiet", "iommu=pt"}, rendered.Spec.KernelArguments); diff != "" {
		t.Errorf("kernel arguments (-want +got):\n%s", diff)
	}
	if len(sources) != 2 || sources[0].Name != first.Name || sources[1].Name != last.Name {
		t.Errorf("sources %v", sources)
	}
	same, _, _ := merge(pool, []machineconfigv1.MachineConfig{first, last})
	other, _, _ := merge(pool, []machineconfigv1.MachineConfig{first})
	if same.Name != rendered.Name || other.Name == rendered.Name {
		t.Errorf("the names are %s, %s and %s", rendered.Name, same.Name, other.Name)
	}
	if _, _, err := merge(pool, []machineconfigv1.MachineConfig{machineConfig("50-broken", "{")}); err == nil {
		t.Error("an Ignition configuration that is no JSON is no error")
	}
}
