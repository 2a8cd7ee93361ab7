package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"strings"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// MasterPort is the port of PyTorch's rendezvous (torch/distributed/run.py: 29500).
const MasterPort = "29500"

// waiting keeps a pod running for `railhead launch`, and exits as soon as it gets a signal.
const waiting = `trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done`

// scriptFolder holds the user's script in a pod.
const scriptFolder = "/railhead/script"

// scriptHash is an annotation that restarts pods when their script changes.
const scriptHash = "railhead.dev/script-sha256"

// writer writes the objects of a job.
type writer struct{ Options }

func (w writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: w.Namespace,
		Labels:    plan.Labels(workload.ComponentJob, w.Name),
	}
}

// objects returns the changes that write the job's own objects, in their order.
func (j *request) objects(d delivery.Delivery) []plan.Change {
	var changes []plan.Change
	w := writer{j.job.Options}
	add := func(object unstructured.Unstructured, why string) {
		changes = append(changes, plan.Change{Verb: plan.Apply, Object: object, Why: why})
	}
	if j.job.Script != nil {
		add(w.scriptObject(), "contains "+j.job.Script.Name)
	}
	if isMulti(&j.job.Options) && j.job.Kind != JobSet { // whose controller makes one
		add(w.serviceObject(), "gives every pod a DNS name before it is ready, for the rendezvous")
	}
	_, live, _ := workload.Find(j.s, j.job.Name, j.job.Namespace)
	before, after := j.job.claim.Changes(targetOf(&j.job.Options), live.Fields)
	changes = append(changes, before...)
	pods := words.Count(j.job.Nodes, "pod")
	why := fmt.Sprintf("runs %s, once", pods)
	if workloadOf(&j.job.Options).Recreates {
		why = "keeps " + pods + " running"
	}
	budget := w.budgetObject(j.s.Server.Minor)
	if live, exists := plan.LiveObject(j.s, budget); j.job.Scheduling.DisruptionBudget {
		add(budget, "keeps drains of nodes from evicting its pods")
	} else if exists {
		changes = append(changes, plan.Deletion(live, "disruption budget removed: node drains may evict the pods"))
	}
	add(w.workloadObject(j.job.template(d)), why+j.job.Scheduling.describeQueue())
	return append(changes, after...)
}

// workloadObject returns the object that runs the pods.
func (w writer) workloadObject(template map[string]any) unstructured.Unstructured {
	switch w.Kind {
	case JobSet:
		return w.jobSetObject(template)
	case IndexedJob:
		return w.jobObject(template)
	}
	return w.statefulSetObject(template)
}

func (w writer) scriptObject() unstructured.Unstructured {
	object := corev1.ConfigMap{ObjectMeta: w.meta(scriptName(&w.Options))}
	if key, content := w.Script.Name, w.Script.Content; utf8.Valid(content) {
		object.Data = map[string]string{key: string(content)}
	} else {
		object.BinaryData = map[string][]byte{key: content}
	}
	return plan.Typed(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &object)
}

func (w writer) serviceObject() unstructured.Unstructured {
	return plan.Typed(corev1.SchemeGroupVersion.WithKind("Service"), &corev1.Service{
		ObjectMeta: w.meta(serviceName(&w.Options)),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 jobSelector(&w.Options),
		},
	})
}

func (w writer) statefulSetObject(template map[string]any) unstructured.Unstructured {
	set := appsv1.StatefulSet{ObjectMeta: w.workloadMeta(), Spec: appsv1.StatefulSetSpec{
		Replicas:            new(int32(w.Nodes)),
		PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector:            &metav1.LabelSelector{MatchLabels: jobSelector(&w.Options)},
	}}
	if isMulti(&w.Options) {
		set.Spec.ServiceName = serviceName(&w.Options)
	}
	object := plan.Typed(workloadOf(&w.Options).GVK, &set)
	spec := object.Object["spec"].(map[string]any)
	spec["template"] = template
	if !isMulti(&w.Options) {
		delete(spec, "serviceName") // the type writes it even if empty
	}
	return object
}

// jobObject returns a Job, in which a pod has the DNS name of its index if it has the service as its subdomain.
func (w writer) jobObject(template map[string]any) unstructured.Unstructured {
	if isMulti(&w.Options) {
		template["spec"].(map[string]any)["subdomain"] = serviceName(&w.Options)
	}
	object := unstructured.Unstructured{Object: map[string]any{
		"metadata": plan.Fields(new(w.workloadMeta())),
		"spec":     w.runOnce(template),
	}}
	object.SetGroupVersionKind(workloadOf(&w.Options).GVK)
	return object
}

// runOnce returns the spec of a Job that ends all pods when one fails.
func (w writer) runOnce(template map[string]any) map[string]any {
	template["spec"].(map[string]any)["restartPolicy"] = string(corev1.RestartPolicyNever)
	spec := plan.Fields(&batchv1.JobSpec{
		Parallelism:    new(int32(w.Nodes)),
		Completions:    new(int32(w.Nodes)),
		CompletionMode: new(batchv1.IndexedCompletion),
		BackoffLimit:   new(int32(0)),
	})
	spec["template"] = template
	return spec
}

// jobSetObject is typed only where k8s.io/api has the type: it has no JobSet.
func (w writer) jobSetObject(template map[string]any) unstructured.Unstructured {
	object := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"network": map[string]any{
			"enableDNSHostnames":       true,
			"subdomain":                serviceName(&w.Options),
			"publishNotReadyAddresses": true,
		},
		"failurePolicy": map[string]any{"maxRestarts": int64(0)},
		"replicatedJobs": []any{map[string]any{
			"name":     workload.Workers,
			"replicas": int64(1),
			"template": map[string]any{"spec": w.runOnce(template)},
		}},
	}}}
	object.SetGroupVersionKind(workloadOf(&w.Options).GVK)
	object.Object["metadata"] = plan.Fields(new(w.workloadMeta()))
	return object
}

// template returns the pod template of the job.
func (j *job) template(d delivery.Delivery) map[string]any {
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      writer{j.Options}.labels(),
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:            workload.TrainContainer,
			Image:           j.Image,
			ImagePullPolicy: corev1.PullPolicy(j.PullPolicy),
			Command:         commandOf(&j.Options),
			StartupProbe:    j.startupProbe(),
		}}},
	}
	for _, v := range j.volumes() {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v.Pod())
		main := &pod.Spec.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, v.Mount())
	}
	maps.Copy(pod.Annotations, j.Scheduling.Annotations)
	if j.access.SCC != "" {
		pod.Annotations[access.RequiredSCC] = j.access.SCC
	}
	if j.Script != nil {
		sum := sha256.Sum256(j.Script.Content)
		pod.Annotations[scriptHash] = hex.EncodeToString(sum[:])
	}
	shape := podShape{
		job:       j,
		delivery:  d,
		container: workload.TrainContainer,
		env:       j.environment(),
		pod:       j.podFields(),
		security:  j.access.Container,
	}
	if j.Script != nil {
		shape.script = scriptName(&j.Options)
	}
	template := plan.Fields(&pod)
	_ = shape.add(template) // cannot fail: the pod has a container with a command
	return template
}

func (j *job) delivery() delivery.Delivery {
	programs, _ := j.neededPrograms() // devices has reported the error
	return delivery.Delivery{By: j.Delivery, Image: j.PodImage, Programs: programs}
}

// commandOf returns the command that railhead-pod starts in the pods.
func commandOf(o *Options) []string {
	switch {
	case len(o.Command) > 0:
		return o.Command
	case o.Script != nil:
		return o.Script.command()
	}
	return []string{"sh", "-c", waiting}
}

// command returns the command that runs the script, chosen by its extension or its first line; nil if neither helps.
func (s Script) command() []string {
	file := scriptFolder + "/" + s.Name
	first, _, _ := bytes.Cut(s.Content, []byte("\n"))
	interpreter, shebang := strings.CutPrefix(strings.TrimSpace(string(first)), "#!")
	switch {
	case path.Ext(s.Name) == ".py":
		return []string{"torchrun", file}
	case shebang && strings.TrimSpace(interpreter) != "":
		return append(strings.Fields(interpreter), file)
	case path.Ext(s.Name) == ".sh":
		return []string{"sh", file}
	}
	return nil
}
