package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// modules are the Go modules of the programs that the lab runs, by the name on the page.
var modules = map[string]string{
	"Kubernetes":                          "kubelet k8s.io/kubernetes",
	"containerd":                          "containerd github.com/containerd/containerd/v2",
	"Multus":                              "multus gopkg.in/k8snetworkplumbingwg/multus-cni.v4",
	"CNI plugins":                         "cni github.com/containernetworking/plugins",
	"whereabouts":                         "whereabouts github.com/k8snetworkplumbingwg/whereabouts",
	"dranet":                              "dranet sigs.k8s.io/dranet",
	"JobSet":                              "workloads sigs.k8s.io/jobset",
	"MPI Operator":                        "mpi github.com/kubeflow/mpi-operator",
	"LeaderWorkerSet":                     "workloads sigs.k8s.io/lws",
	"Kubeflow Trainer":                    "workloads github.com/kubeflow/trainer/v2",
	"Kubeflow Training Operator":          "workloads github.com/kubeflow/training-operator",
	"KubeRay":                             "workloads github.com/ray-project/kuberay/ray-operator",
	"Volcano":                             "volcano volcano.sh/volcano",
	"Kueue":                               "kueue sigs.k8s.io/kueue",
	"CRDs of the NVIDIA network operator": "nvidia github.com/Mellanox/network-operator",
	"network-resources-injector":          "injector github.com/k8snetworkplumbingwg/network-resources-injector",
}

// TestVersions: the page names the versions that the lab builds.
func TestVersions(t *testing.T) {
	page, err := os.ReadFile("versions.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ([^|:]+?)(?::[^|]*)? \| (\d+\.\d+\.\d+) \|`)
	rows := row.FindAllStringSubmatch(string(page), -1)
	if len(rows) != len(modules) {
		t.Errorf("%d programs on the page, want %d", len(rows), len(modules))
	}
	for _, row := range rows {
		folder, module, found := strings.Cut(modules[row[1]], " ")
		if !found {
			t.Errorf("no module is known for %s", row[1])
			continue
		}
		mod, err := os.ReadFile("../lab/modules/" + folder + "/go.mod")
		if err != nil || !strings.Contains(string(mod), module+" v"+row[2]) {
			t.Errorf("the lab does not build %s %s: %v", row[1], row[2], err)
		}
	}
}
