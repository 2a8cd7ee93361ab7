package job

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Inject returns a manifest of a Pod, StatefulSet, Deployment, Job or JobSet with the additions that `deploy` makes
// to its own pods: rails, /dev/shm, railhead-pod and the command behind it. Fields of the manifest are kept;
// injecting twice is injecting once.
func Inject(manifest unstructured.Unstructured, s cluster.State, o Options) (unstructured.Unstructured, []check.Finding) {
	j := injection(manifest, s, o)
	object := *manifest.DeepCopy()
	k, known := workload.Of(object.GetKind())
	if !known {
		j.unsuitable(
			object,
			fmt.Sprintf(
				"%s is no kind that has pods, or not one that is known here",
				cmp.Or(object.GetKind(), "an object without a kind"),
			),
			"one of "+strings.Join(workload.WithTemplates(), ", "),
		)
		return manifest, j.findings
	}
	all := k.PodTemplates(object.Object)
	if len(all) == 0 {
		j.unsuitable(object, "the manifest has no pod template", "spec.template")
		return manifest, j.findings
	}
	if j.injectable(all); check.Worst(j.findings) == check.Fail {
		return manifest, j.findings
	}
	shape := j.injectShape()
	for _, template := range all {
		if err := shape.add(template); err != nil {
			j.unsuitable(object, err.Error(), "a container with a command")
			return manifest, j.findings
		}
	}
	return object, j.findings
}

// InjectDelivery are the ConfigMaps that the pods of an injected manifest mount. They bear its name, so that deleting
// another job leaves them.
func InjectDelivery(manifest unstructured.Unstructured, s cluster.State, o Options) []unstructured.Unstructured {
	j := injection(manifest, s, o)
	if k, known := workload.Of(manifest.GetKind()); known {
		j.injectable(k.PodTemplates(manifest.Object)) // finds the nodes, whose architectures are delivered
	}
	objects := j.delivery().configMaps(j.o.Namespace)
	for _, object := range objects {
		labels := object.GetLabels()
		labels[plan.LabelInstance] = manifest.GetName()
		object.SetLabels(labels)
	}
	return objects
}

// injection is the job that a manifest is.
func injection(manifest unstructured.Unstructured, s cluster.State, o Options) *job {
	o.Namespace = namespaceOf(manifest, o.Namespace)
	o.Name, o.Type = manifest.GetName(), Single // how many nodes it wants is the manifest's
	j := newJob(s, o)
	j.o.GPUs = o.GPUs
	if k, known := workload.Of(manifest.GetKind()); known && o.GPUs == 0 {
		j.itsGPUs(k.PodTemplates(manifest.Object))
	}
	return j
}

// itsGPUs takes over the manifest's requests.
func (j *job) itsGPUs(all []map[string]any) {
	for _, template := range all {
		spec, _ := template["spec"].(map[string]any)
		for name, amount := range amounts(podShape{container: j.o.Container}.main(spec), "limits") {
			if n, err := strconv.Atoi(fmt.Sprint(amount)); err == nil && cluster.IsGPU(name) {
				j.o.GPUResource, j.o.GPUs = name, n
			}
		}
	}
}

func (j *job) unsuitable(object unstructured.Unstructured, why, want string) {
	j.fail(ManifestSuitable, check.Named(
		check.Kind(strings.ToLower(cmp.Or(object.GetKind(), "manifest"))), object.GetName(),
	), why, check.Evidence{
		Source: "manifest",
		Got:    cmp.Or(object.GetKind(), "no kind"),
		Want:   want,
	},
		check.Fix{
			Text: "Correct the manifest; the command of an image is seen with `skopeo inspect --config`.",
			Who:  check.User,
		})
}

// injectable decides on the network and the pods' privileges.
func (j *job) injectable(all []map[string]any) {
	if j.quantities(); check.Worst(j.findings) == check.Fail {
		return
	}
	switch {
	case j.o.Mode == nccl.TCP:
	case j.o.Mode == nccl.Auto:
		j.rails = j.wanted(j.s.UsableRails(j.o.Namespace))
		if j.o.Mode = nccl.RDMA; len(j.rails) == 0 {
			j.o.Mode = nccl.TCP
		}
	default:
		j.rails = j.attachments()
	}
	j.seats(j.rails)
	j.account, _ = firstAccount(all)
	if j.o.ServiceAccount != "" {
		j.account = j.o.ServiceAccount
	}
	if j.rdma() && len(j.rails) > 0 {
		j.memlock()
	}
	if j.ipcLock {
		j.mayBeRoot(all)
	}
}

// mayBeRoot refuses pods that are to lock memory by IPC_LOCK and that their manifest keeps from being root.
func (j *job) mayBeRoot(all []map[string]any) {
	for _, template := range all {
		spec, _ := template["spec"].(map[string]any)
		main := podShape{container: j.o.Container}.main(spec)
		ofPod, _ := spec["securityContext"].(map[string]any)
		own, _ := main["securityContext"].(map[string]any)
		security := map[string]any{}
		maps.Copy(security, ofPod)
		maps.Copy(security, own)
		what := fmt.Sprintf("container %v", main["name"])
		user, said := security["runAsUser"]
		switch {
		case main == nil: // said when the rest is added
		case said && fmt.Sprint(user) != "0":
			j.notRoot(what, "securityContext.runAsUser", fmt.Sprint(user), "0")
		case security["runAsNonRoot"] == true:
			j.notRoot(what, "securityContext.runAsNonRoot", "true", "false")
		case spec["hostUsers"] == false:
			j.notRoot(what, "hostUsers", "false", "true")
		}
	}
}

// firstAccount is the account of the first template that names one.
func firstAccount(all []map[string]any) (string, bool) {
	for _, template := range all {
		if account := workload.Field(template, "spec.serviceAccountName"); account != nil {
			return fmt.Sprint(account), true
		}
	}
	return "", false
}

// injectShape has the additions to others' pods: fewer than to those of deploy, whose security and placement are
// Railhead's own.
func (j *job) injectShape() podShape {
	return podShape{
		container: j.o.Container,
		namespace: j.o.Namespace,
		networks:  j.rails,
		resources: j.resources(),
		shm:       j.shm(),
		delivery:  j.delivery(),
		env:       []corev1.EnvVar{{Name: "RAILHEAD_MODE", Value: string(j.o.Mode)}},
		pod:       corev1.PodSpec{ServiceAccountName: j.o.ServiceAccount},
		ipcLock:   j.ipcLock,
	}
}
