package assets

import (
	"context"
	"os"
	"time"
)

// The controllers of training workloads.
const (
	JobSet          Program = "jobset"
	MPI             Program = "mpi-operator"
	LeaderWorkerSet Program = "lws"
	Training        Program = "training-operator" // PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob
	Ray             Program = "kuberay"
	Trainer         Program = "trainer" // TrainJob; needs the JobSet controller
	Kueue           Program = "kueue"
	// Volcano makes the pods of Volcano's Jobs when its scheduler has admitted them.
	Volcano          Program = "volcano-controllers"
	VolcanoAdmission Program = "volcano-admission"
	VolcanoScheduler Program = "volcano-scheduler"
)

const (
	jobsetModule   = "sigs.k8s.io/jobset"
	mpiModule      = "github.com/kubeflow/mpi-operator"
	lwsModule      = "sigs.k8s.io/lws"
	trainingModule = "github.com/kubeflow/training-operator"
	rayModule      = "github.com/ray-project/kuberay/ray-operator"
	trainerModule  = "github.com/kubeflow/trainer/v2"
	kueueModule    = "sigs.k8s.io/kueue"
	volcanoModule  = "volcano.sh/volcano"
)

// workloadModule is the folder in lab/modules of the controllers that one version of the Kubernetes libraries fits. To
// compile those libraries takes minutes, and each controller alone less than one.
const workloadModule = "workloads"

// workloadRecipes returns the recipes of the controllers of training workloads. The MPI operator, Kueue and
// Volcano need older libraries, each its own.
func workloadRecipes() map[Program]recipe {
	all := map[Program]recipe{}
	for _, r := range []struct {
		program             Program
		module, path, inner string
		first               time.Duration
	}{
		{JobSet, workloadModule, jobsetModule, "", 4 * time.Minute},
		{LeaderWorkerSet, workloadModule, lwsModule, "/cmd", time.Minute},
		{Training, workloadModule, trainingModule, "/cmd/training-operator.v1", time.Minute},
		{Ray, workloadModule, rayModule, "", time.Minute},
		{Trainer, workloadModule, trainerModule, "/cmd/trainer-controller-manager", time.Minute},
		{Kueue, "kueue", kueueModule, "/cmd/kueue", 4 * time.Minute},
		{Volcano, "volcano", volcanoModule, "/cmd/controller-manager", 30 * time.Second},
		{VolcanoAdmission, "volcano", volcanoModule, "/cmd/webhook-manager", 3 * time.Minute}, // the first to be built
		{VolcanoScheduler, "volcano", volcanoModule, "/cmd/scheduler", 2 * time.Minute},
	} {
		all[r.program] = recipe{module: r.module, pkg: r.path + r.inner, version: r.path, first: r.first}
	}
	all[MPI] = recipe{module: "mpi", pkg: ".", version: mpiModule, first: 3 * time.Minute}
	return all
}

// workloadManifests returns where the controllers' modules have their CRDs, roles and webhooks. The training operator's
// MPIJob is left out: its CRD has the name of the mpi-operator's.
func workloadManifests() map[Program]manifests {
	return map[Program]manifests{
		JobSet: {workloadModule, jobsetModule, in("config/components/", "crd/bases/*.yaml", "rbac/role.yaml",
			"rbac/role_binding.yaml", "webhook/manifests.yaml")},
		MPI: {"mpi", mpiModule, in("manifests/base/", "kubeflow.org_mpijobs.yaml", "cluster-role.yaml",
			"cluster-role-binding.yaml")},
		LeaderWorkerSet: {workloadModule, lwsModule, in("config/", "crd/bases/*.yaml", "rbac/role.yaml",
			"rbac/role_binding.yaml", "webhook/manifests.yaml")},
		Training: {workloadModule, trainingModule, in("manifests/base/", "crds/kubeflow.org_[^m]*.yaml",
			"rbac/*role*.yaml", "webhook/manifests.yaml")},
		Ray: {workloadModule, rayModule, in("config/", "crd/bases/*.yaml", "rbac/role.yaml", "rbac/role_binding.yaml")},
		Trainer: {workloadModule, trainerModule, in("manifests/base/", "crds/trainer*.yaml", "rbac/role.yaml",
			"rbac/role_binding.yaml", "webhook/manifests.yaml")},
		Kueue: {"kueue", kueueModule, in("config/components/", "crd/bases/*.yaml", "rbac/role.yaml",
			"rbac/role_binding.yaml", "webhook/manifests.yaml")},
		Volcano: {"volcano", volcanoModule, []string{"installer/volcano-development.yaml"}},
	}
}

// Example returns a file of a controller's own module.
func Example(ctx context.Context, p Program, path string) (string, error) {
	m := workloadManifests()[p]
	m.files = []string{path}
	files, err := m.find(ctx)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(files[0])
	return string(text), err
}
