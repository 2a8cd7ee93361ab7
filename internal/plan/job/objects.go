package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// trainContainer is the name of the container that trains in the pods of `deploy`.
const trainContainer = "train"

// masterPort is the port of PyTorch's rendezvous (torch/distributed/run.py: 29500).
const masterPort = "29500"

// waiting keeps a pod for `railhead launch`, and ends at once when it is told to.
const waiting = `trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done`

// scriptHash makes pods start again when their script changed.
const scriptHash = "railhead/script-sha256"

func (j *job) labels() map[string]string { return objectLabels(workload.ComponentJob, j.o.Name) }

// objectLabels returns the labels of objects of one component; instance may be empty.
func objectLabels(component, instance string) map[string]string {
	labels := map[string]string{
		plan.LabelManagedBy: plan.ManagedBy,
		plan.LabelName:      plan.ProgramName,
		plan.LabelComponent: component,
	}
	if instance != "" {
		labels[plan.LabelInstance] = instance
	}
	return labels
}

func (j *job) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: j.o.Namespace, Labels: j.labels()}
}

func (j *request) service() string { return j.o.Name + "-headless" }

// objects are the job's own, in the order in which they are written.
func (j *job) objects(d delivery) []plan.Change {
	var changes []plan.Change
	add := func(object unstructured.Unstructured, why string) {
		changes = append(changes, plan.Change{Verb: plan.Apply, Object: object, Why: why})
	}
	if j.o.Script != nil {
		add(j.scriptObject(), "holds "+j.o.Script.Name)
	}
	template := j.template(d)
	if j.o.Kind == JobSet {
		add(j.jobSetObject(template), fmt.Sprintf("runs %s, once", words.Count(j.o.Nodes, "pod")))
		return changes
	}
	if j.multi() {
		add(j.serviceObject(), "gives every pod a name before it is ready, for the rendezvous")
	}
	add(j.statefulSetObject(template), "keeps "+j.podNames()+" running")
	return changes
}

// podNames names the pods of a StatefulSet: h-kim-0, or h-kim-0 to h-kim-3.
func (j *job) podNames() string {
	if j.o.Nodes == 1 {
		return j.o.Name + "-0"
	}
	return fmt.Sprintf("%s-0 to %s-%d", j.o.Name, j.o.Name, j.o.Nodes-1)
}

func (j *job) scriptObject() unstructured.Unstructured {
	object := corev1.ConfigMap{ObjectMeta: j.meta(j.scriptName())}
	if key, content := j.o.Script.Name, j.o.Script.Content; utf8.Valid(content) {
		object.Data = map[string]string{key: string(content)}
	} else {
		object.BinaryData = map[string][]byte{key: content}
	}
	return plan.Typed(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &object)
}

func (j *job) scriptName() string { return j.o.Name + "-script" }

func (j *job) serviceObject() unstructured.Unstructured {
	return plan.Typed(corev1.SchemeGroupVersion.WithKind("Service"), &corev1.Service{
		ObjectMeta: j.meta(j.service()),
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 j.selector(),
		},
	})
}

func (j *request) selector() map[string]string {
	return map[string]string{plan.LabelInstance: j.o.Name, plan.LabelComponent: workload.ComponentJob}
}

func (j *job) statefulSetObject(template map[string]any) unstructured.Unstructured {
	set := appsv1.StatefulSet{ObjectMeta: j.meta(j.o.Name), Spec: appsv1.StatefulSetSpec{
		Replicas:            new(int32(j.o.Nodes)),
		PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector:            &metav1.LabelSelector{MatchLabels: j.selector()},
	}}
	object := plan.Typed(j.kind().GVK, &set)
	spec := object.Object["spec"].(map[string]any)
	spec["template"] = template
	if delete(spec, "serviceName"); j.multi() { // the type cannot leave it out
		spec["serviceName"] = j.service()
	}
	return object
}

// jobSetObject is not typed: k8s.io/api has no JobSet.
func (j *job) jobSetObject(template map[string]any) unstructured.Unstructured {
	template["spec"].(map[string]any)["restartPolicy"] = string(corev1.RestartPolicyNever)
	n := int64(j.o.Nodes)
	workers := map[string]any{
		"parallelism":    n,
		"completions":    n,
		"completionMode": "Indexed",
		"backoffLimit":   int64(0),
		"template":       template,
	}
	object := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"network": map[string]any{
			"enableDNSHostnames":       true,
			"subdomain":                j.service(),
			"publishNotReadyAddresses": true,
		},
		"failurePolicy": map[string]any{"maxRestarts": int64(0)},
		"replicatedJobs": []any{map[string]any{
			"name":     workload.Workers,
			"replicas": int64(1),
			"template": map[string]any{"spec": workers},
		}},
	}}}
	object.SetGroupVersionKind(j.kind().GVK)
	object.Object["metadata"] = plan.Fields(new(j.meta(j.o.Name)))
	return object
}

// template is the pod of the job, with the additions that every pod gets.
func (j *job) template(d delivery) map[string]any {
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: j.labels(), Annotations: map[string]string{}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:            trainContainer,
			Image:           j.o.Image,
			ImagePullPolicy: corev1.PullPolicy(j.o.PullPolicy),
			Command:         j.command(),
		}}},
	}
	if j.scc != "" {
		pod.Annotations["openshift.io/required-scc"] = j.scc
	}
	if j.o.Script != nil {
		sum := sha256.Sum256(j.o.Script.Content)
		pod.Annotations[scriptHash] = hex.EncodeToString(sum[:])
	}
	template := plan.Fields(&pod)
	_ = j.shape(d).add(template) // cannot fail: the pod has a container with a command
	return template
}

// shape returns the additions to the job's pods.
func (j *job) shape(d delivery) podShape {
	p := podShape{
		container: trainContainer,
		namespace: j.o.Namespace,
		networks:  j.rails,
		resources: j.resources(),
		shm:       j.shm(),
		delivery:  d,
		env:       j.environment(),
		pod:       j.podFields(),
		security:  j.security(),
		ipcLock:   j.ipcLock,
	}
	if j.o.Script != nil {
		p.script = j.scriptName()
	}
	return p
}

func (j *placement) delivery() delivery {
	programs, _ := j.arches() // said before
	return delivery{by: j.o.Delivery, image: j.o.PodImage, programs: programs}
}

// command returns the command that railhead-pod starts in the pods.
func (j *job) command() []string {
	switch {
	case len(j.o.Command) > 0:
		return j.o.Command
	case j.o.Script != nil:
		return j.o.Script.command()
	}
	return []string{"sh", "-c", waiting}
}

// command runs the script by its name or its first line; nil if neither identifies it.
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
