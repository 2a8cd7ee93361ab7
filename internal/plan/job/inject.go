package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/workload"
)

// Inject adds to a manifest what `deploy` adds to its own pods: rails, /dev/shm, railhead-pod and the command behind
// it. It keeps all fields of the manifest; a second run changes nothing.
func Inject(
	manifest unstructured.Unstructured, s cluster.State, o Options,
) (unstructured.Unstructured, []check.Finding) {
	object, j := inject(manifest, s, o)
	return object, j.draft.Findings
}

func inject(manifest unstructured.Unstructured, s cluster.State, o Options) (unstructured.Unstructured, *request) {
	j, templates := injection(manifest, s, o)
	kind, known := o.KindOf(manifest)
	if !known {
		j.draft.Report(unknownKind(manifest))
		return manifest, j
	}
	if len(templates) == 0 {
		j.draft.Report(unsuitable(manifest, "the manifest has no pod template", "spec.template",
			check.ByUser("Correct the manifest.")))
		return manifest, j
	}
	if len(o.TemplatePaths) > 0 && kind.GVK.Kind != "" {
		j.draft.Note("--template-path has no effect on a %s: railhead knows its pod templates.", kind.GVK.Kind)
	}
	if j.decideFor(manifest, templates, o); j.draft.Failed() {
		return manifest, j
	}
	object := *manifest.DeepCopy()
	if kind.Cluster {
		j.draft.Report(otherNamespaces(manifest, j.job.Namespace))
	}
	byFiles := map[string][]string{} // names of the containers, by the obstacle
	for _, template := range o.podTemplates(object) {
		spec, _ := template["spec"].(map[string]any)
		shape := j.job.shapeFor(kind, podspec.Main(spec, o.Container), o)
		obstacle := shape.start.obstacle(spec, podspec.Main(spec, o.Container))
		if err := shape.add(template); err != nil {
			j.draft.Report(unsuitable(manifest, err.Error(), "a container with a command",
				check.ByUser("Correct the manifest. `skopeo inspect --config` shows the command of an image.")))
			return manifest, j
		}
		main := podspec.Main(spec, o.Container)
		j.draft.ReportOnce(fixedNames(podspec.Variables(main), obstacle, usesRDMA(&j.job.Options))...)
		annotations := podspec.Child(podspec.Child(template, "metadata"), "annotations")
		if annotations[workload.Injected] = workload.ByCommand; obstacle != "" {
			annotations[workload.Injected] = workload.ByFiles
			byFiles[obstacle] = append(byFiles[obstacle], fmt.Sprint(main["name"]))
		}
	}
	if o.Wrap != WrapNever {
		j.draft.Report(insteadOfCommand(objectRef(manifest), byFiles)...)
	}
	return object, j
}

// shapeFor returns the additions to one pod template. Unlike deploy, it does not set the security and the placement of
// the pods. Each template has GPUs of its own.
func (j *job) shapeFor(kind workload.Kind, main map[string]any, o Options) podShape {
	shape := podShape{
		job:       j.withGPUsOf(main, o),
		delivery:  j.delivery(),
		container: j.Container,
		env:       withoutOwn(&j.Options, settingsOf(&j.Options)),
		own:       ownVariables(&j.Options),
		pod:       corev1.PodSpec{ServiceAccountName: j.ServiceAccount},
		start:     start{wrap: o.Wrap},
	}
	if kind.OwnCommand {
		shape.start.controller = kind.GVK.Kind
	}
	if j.Scheduling.RuntimeClass != "" {
		shape.pod.RuntimeClassName = &j.Scheduling.RuntimeClass
	}
	if j.Privileged {
		shape.security = j.access.Container
	}
	for _, t := range j.Scheduling.chosenTolerations() {
		shape.tolerations = append(shape.tolerations, plan.Fields(&t))
	}
	if j.SCC != "" {
		shape.annotations = map[string]any{access.RequiredSCC: j.SCC}
	}
	return shape
}

// withGPUsOf returns the job for a container, with the GPUs that the container requests, or else with the GPUs of the
// flags.
func (j *job) withGPUsOf(main map[string]any, o Options) *job {
	own := *j
	own.GPUResource, own.GPUs = cmp.Or(o.GPUResource, j.GPUResource), o.GPUs
	if resource, n := podspec.GPUs(main); n > 0 {
		own.GPUResource, own.GPUs = resource, n
	}
	return &own
}

// injectionParts returns the ConfigMaps that the pods of an injected manifest mount and the namespace does not have,
// and the ResourceClaimTemplate if they claim their rails. They carry its name, so that deleting another job keeps
// them.
func (j *request) injectionParts() []unstructured.Unstructured {
	parts := j.job.delivery().Missing(j.s, j.job.Namespace, plan.Labels(delivery.Component, j.job.Name))
	if len(j.job.claim.Rails) > 0 {
		parts = append(parts, j.job.claim.Template(targetOf(&j.job.Options)))
	}
	return parts
}

// injection returns the job of a manifest, and its pod templates.
func injection(manifest unstructured.Unstructured, s cluster.State, o Options) (*request, []map[string]any) {
	o.Namespace = manifests.Namespace(manifest, o.Namespace)
	// the parts have its name, or the prefix from which the server generates its name
	o.Name = cmp.Or(manifest.GetName(), strings.TrimRight(manifest.GetGenerateName(), "-."))
	o.Type, o.manifest = Single, true // the manifest sets the number of pods
	j := newRequest(s, o)
	j.job.GPUs = o.GPUs
	templates := o.podTemplates(manifest)
	if resource, n := requestedGPUs(templates, o.Container); n > 0 {
		j.job.GPUResource, j.job.GPUs = resource, n
	}
	return j, templates
}

// podTemplates returns the templates of the pods that get rails: the chosen ones, or else all that train.
func (o Options) podTemplates(manifest unstructured.Unstructured) []map[string]any {
	training, chosen := o.trainingTemplates(manifest)
	if len(chosen) == 0 {
		return training
	}
	return chosen
}

// trainingTemplates returns the templates of all pods but those that only prepare or start the training, and the chosen
// ones: those that have the named container, or else request GPUs.
func (o Options) trainingTemplates(manifest unstructured.Unstructured) (training, chosen []map[string]any) {
	k, _ := o.KindOf(manifest)
	for _, part := range k.Parts(manifest.Object) {
		spec, _ := part.Template["spec"].(map[string]any)
		main := podspec.Main(spec, o.Container)
		trains := part.Role == workload.Worker || part.Role == workload.Leader
		if trains {
			training = append(training, part.Template)
		}
		if main != nil && (o.Container != "" || trains && podspec.RequestsGPU(main)) {
			chosen = append(chosen, part.Template)
		}
	}
	return training, chosen
}

// requestedGPUs returns the GPU request of a manifest: the smallest of its templates, because it decides which nodes
// may run its pods.
func requestedGPUs(templates []map[string]any, container string) (resource string, fewest int) {
	for _, template := range templates {
		spec, _ := template["spec"].(map[string]any)
		if name, n := podspec.GPUs(podspec.Main(spec, container)); n > 0 && (fewest == 0 || n < fewest) {
			resource, fewest = name, n
		}
	}
	return resource, fewest
}

// unknownKind refuses a manifest of a kind that railhead does not know, and names the templates that it seems to have.
func unknownKind(manifest unstructured.Unstructured) check.Finding {
	fix := check.ByUser("Inject the object that has the pod template. An administrator can let pods of any kind get "+
		"their rails when they are created.", "railhead setup webhook")
	if paths := workload.TemplatePaths(manifest.Object); len(paths) > 0 {
		fix = check.ByUser("Name the templates that train; a part of the manifest looks like one.")
		for _, path := range paths {
			if strings.ContainsAny(path, `[\`) { // which a shell may expand
				path = "'" + path + "'"
			}
			fix.Commands = append(fix.Commands, "railhead inject -f FILE --template-path "+path)
		}
	}
	return unsuitable(manifest, "railhead does not know where "+cmp.Or(manifest.GetKind(), "object without a kind")+
		" has pod templates", "one of "+strings.Join(workload.WithTemplates(), ", "), fix)
}

// otherNamespaces warns of an object that pods of all namespaces are made from.
func otherNamespaces(manifest unstructured.Unstructured, namespace string) check.Finding {
	kind := manifest.GetKind()
	return check.Finding{
		Check: ManifestSuitable, Status: check.Warn, Subject: objectRef(manifest),
		Summary: fmt.Sprintf("pods of all namespaces are made from %s %s, but the rails and the ConfigMaps that it "+
			"now names are those of namespace %s", kind, manifest.GetName(), namespace),
		Evidence: check.Observed("kind", kind, strings.TrimPrefix(kind, "Cluster")),
		Fix: check.ByUser(fmt.Sprintf("If other namespaces use it, inject a copy instead: kind %s with namespace: %s, "+
			"which spec.runtimeRef of the TrainJob then names.", strings.TrimPrefix(kind, "Cluster"), namespace)),
	}
}

// unsuitable refuses a manifest that nothing can be added to.
func unsuitable(manifest unstructured.Unstructured, reason, want string, fix *check.Fix) check.Finding {
	return plan.Failure(ManifestSuitable, objectRef(manifest), reason,
		check.Observed("manifest", cmp.Or(manifest.GetKind(), "no kind"), want), fix)
}

func objectRef(o unstructured.Unstructured) check.Ref {
	kind := workload.KindName(o.GetAPIVersion(), o.GetKind()) // Volcano's Job is not a batch Job
	return check.Named(check.Kind(strings.ToLower(cmp.Or(kind, "manifest"))), o.GetName())
}

// decideFor chooses the rails and the privileges of the pods.
func (j *request) decideFor(manifest unstructured.Unstructured, templates []map[string]any, o Options) {
	flags := flagCheck{Options: j.job.Options, server: j.s.Server}
	flags.values()
	flags.imageVolumes()
	j.draft.Add(flags.draft)
	j.draft.Add(j.job.Scheduling.referencesExist(j.s, targetOf(&j.job.Options)))
	if j.draft.Failed() {
		return
	}
	if j.railsFor(manifest, templates); j.draft.Failed() {
		return
	}
	noteMistakenGPUs(&j.draft, manifest, j.job.rails)
	j.findNodes(j.job.rails)
	j.programsExist()
	j.privileges(cmp.Or(j.job.ServiceAccount, firstAccount(templates)), podspec.VolumeKinds(templates))
	if j.job.access.IPCLock {
		j.draft.Add(requireRoot(&j.job.Options, j.s.Server, templates))
	}
	j.draft.Add(capabilityFaults(&j.job.Options, j.s.Server, templates, j.job.access.IPCLock))
	canLock := !slices.ContainsFunc(j.draft.Findings,
		func(f check.Finding) bool { return f.Check == access.PodMemlock })
	for _, template := range templates {
		if canLock {
			j.draft.Add(needlessRights(&j.job.Options, template))
		}
		j.refuseConflicts(manifest, template, o)
	}
}

// railsFor chooses the mode and the rails. A pod on the network of its node gets none: container runtimes call no CNI
// plugin for it (containerd internal/cri/server/sandbox_run.go), and it has no network namespace for a claimed device.
func (j *request) railsFor(manifest unstructured.Unstructured, templates []map[string]any) {
	onHost := slices.ContainsFunc(templates, func(template map[string]any) bool {
		return workload.Field(template, "spec.hostNetwork") == true
	})
	switch {
	case j.job.Mode == nccl.TCP:
	case onHost && j.job.Mode == nccl.Auto:
		j.job.Mode = nccl.TCP
		j.draft.Note("Mode auto uses TCP: pods with hostNetwork: true get no rail. Without it they get one.")
	case onHost:
		j.draft.Fail(ManifestSuitable, objectRef(manifest),
			"its pods use the network of their node, where they get no rail",
			check.Observed("spec.hostNetwork", "true", "not set"),
			check.ByUser("Remove hostNetwork: true, which RDMA does not need: each rail is an interface of the pod.",
				targetOf(&j.job.Options).CommandWith("--mode tcp")))
	case j.job.Mode == nccl.Auto:
		j.job.rails = j.usableRails(0)
		if j.job.Mode = nccl.RDMA; len(j.job.rails) == 0 {
			j.job.Mode = nccl.TCP
			j.noteTCP()
		}
	default:
		j.job.rails = j.requiredRails(0)
	}
}

// firstAccount returns the account of the first template that names one.
func firstAccount(templates []map[string]any) string {
	for _, template := range templates {
		if account := workload.Field(template, "spec.serviceAccountName"); account != nil {
			return fmt.Sprint(account)
		}
	}
	return ""
}

// requireRoot fails if IPC_LOCK would have no effect, because the manifest keeps the pods from being root.
func requireRoot(o *Options, server cluster.Server, templates []map[string]any) (d plan.Draft) {
	for _, template := range templates {
		spec, _ := template["spec"].(map[string]any)
		main := podspec.Main(spec, o.Container)
		if main == nil {
			continue // add refuses it
		}
		security := podspec.Security(spec, main)
		refuse := func(source, got, want string) {
			container := fmt.Sprintf("container %v", main["name"])
			d.Report(access.NotRoot(server, targetOf(o), container, source, got, want))
		}
		user, set := security["runAsUser"]
		switch {
		case set && fmt.Sprint(user) != "0":
			refuse("securityContext.runAsUser", fmt.Sprint(user), "0")
		case security["runAsNonRoot"] == true:
			refuse("securityContext.runAsNonRoot", "true", "false")
		case spec["hostUsers"] == false:
			refuse("hostUsers", "false", "true")
		}
	}
	return d
}
