package podspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestVariables(t *testing.T) {
	const text = `
env:
- {name: A, value: "1"}
- {name: B, valueFrom: {configMapKeyRef: {name: settings, key: hca}}}
- {name: C, valueFrom: {secretKeyRef: {name: hidden, key: c}}}
- {name: D, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: E}
command: [bash, -c]
args:
- |
  # export OFF=1
  export ON=mlx5_6,mlx5_7; QUOTED="a b" python train.py # LATE=2
  COMPUTED=$(ls /sys/class/infiniband) OLD=${OLD:-x} FIRST='^x'
  echo "SAID=1" --flag=2
`
	var container map[string]any
	if err := yaml.Unmarshal([]byte(text), &container); err != nil {
		t.Fatal(err)
	}
	want := []Variable{
		{Name: "A", Value: "1"},
		{Name: "B", Source: "key hca of ConfigMap settings"},
		{Name: "C", Source: "key c of Secret hidden"},
		{Name: "ON", Value: "mlx5_6,mlx5_7", ByCommand: true},
		{Name: "QUOTED", Value: "a b", ByCommand: true},
		{Name: "FIRST", Value: "^x", ByCommand: true},
	}
	if diff := cmp.Diff(want, Variables(container)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mpirun := map[string]any{"command": []any{"mpirun", "-x", "NCCL_IB_HCA=mlx5_0", "all_reduce_perf"}}
	want = []Variable{{Name: "NCCL_IB_HCA", Value: "mlx5_0", ByCommand: true}}
	if diff := cmp.Diff(want, Variables(mpirun)); diff != "" {
		t.Errorf("mpirun (-want +got):\n%s", diff)
	}
}
