package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// trainContainer is the name of the container that trains in the pods of `deploy`.
const trainContainer = "train"

// masterPort is the port of PyTorch's rendezvous (torch/distributed/run.py: 29500).
const masterPort = "29500"

// waiting keeps a pod for `railhead launch`, and ends at once when it is told to.
const waiting = `trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done`

// scriptHash makes pods start again when their script changed.
const scriptHash = "railhead/script-sha256"

func (j *job) labels() map[string]any {
	return map[string]any{LabelManagedBy: ManagedBy, LabelName: programName, LabelInstance: j.o.Name, LabelComponent: ComponentJob}
}

func (j *job) object(apiVersion, kind, name string, fields map[string]any) unstructured.Unstructured {
	fields["apiVersion"], fields["kind"] = apiVersion, kind
	fields["metadata"] = map[string]any{"name": name, "namespace": j.o.Namespace, "labels": j.labels()}
	return unstructured.Unstructured{Object: fields}
}

func (j *job) service() string { return j.o.Name + "-headless" }

// objects are the job's own, in the order in which they are written.
func (j *job) objects(d delivery) []Change {
	var changes []Change
	add := func(object unstructured.Unstructured, why string) {
		changes = append(changes, Change{Verb: Apply, Object: object, Why: why})
	}
	if j.o.Script != nil {
		add(j.scriptObject(), "holds "+j.o.Script.Name)
	}
	template := j.template(d)
	if j.o.Kind == JobSet {
		add(j.jobSetObject(template), fmt.Sprintf("runs %s, once", counted(j.o.Nodes, "pod")))
		return changes
	}
	if j.multi() {
		add(j.serviceObject(), "gives every pod a name before it is ready, for the rendezvous")
	}
	add(j.statefulSetObject(template), "keeps "+j.podNames()+" running")
	return changes
}

// podNames are those of a StatefulSet: h-kim-0, or h-kim-0 to h-kim-3.
func (j *job) podNames() string {
	if j.o.Nodes == 1 {
		return j.o.Name + "-0"
	}
	return fmt.Sprintf("%s-0 to %s-%d", j.o.Name, j.o.Name, j.o.Nodes-1)
}

func (j *job) scriptObject() unstructured.Unstructured {
	key, fields := j.o.Script.Name, map[string]any{}
	if utf8.Valid(j.o.Script.Content) {
		fields["data"] = map[string]any{key: string(j.o.Script.Content)}
	} else {
		fields["binaryData"] = map[string]any{key: base64.StdEncoding.EncodeToString(j.o.Script.Content)}
	}
	return j.object("v1", "ConfigMap", j.scriptName(), fields)
}

func (j *job) scriptName() string { return j.o.Name + "-script" }

func (j *job) serviceObject() unstructured.Unstructured {
	return j.object("v1", "Service", j.service(), map[string]any{"spec": map[string]any{
		"clusterIP": "None", "publishNotReadyAddresses": true, "selector": j.selector(),
	}})
}

func (j *job) selector() map[string]any {
	return map[string]any{LabelInstance: j.o.Name, LabelComponent: ComponentJob}
}

func (j *job) statefulSetObject(template map[string]any) unstructured.Unstructured {
	spec := map[string]any{
		"replicas": int64(j.o.Nodes), "podManagementPolicy": "Parallel",
		"selector": map[string]any{"matchLabels": j.selector()}, "template": template,
	}
	if j.multi() {
		spec["serviceName"] = j.service()
	}
	return j.object("apps/v1", "StatefulSet", j.o.Name, map[string]any{"spec": spec})
}

// jobSetWorkers is the name of the JobSet's only replicated job: pods are called NAME-worker-0-0, NAME-worker-0-1, ...
const jobSetWorkers = "worker"

func (j *job) jobSetObject(template map[string]any) unstructured.Unstructured {
	template["spec"].(map[string]any)["restartPolicy"] = "Never"
	n := int64(j.o.Nodes)
	return j.object(cluster.JobSetGroup+"/v1alpha2", "JobSet", j.o.Name, map[string]any{"spec": map[string]any{
		"network":       map[string]any{"enableDNSHostnames": true, "subdomain": j.service(), "publishNotReadyAddresses": true},
		"failurePolicy": map[string]any{"maxRestarts": int64(0)},
		"replicatedJobs": []any{map[string]any{
			"name": jobSetWorkers, "replicas": int64(1),
			"template": map[string]any{"spec": map[string]any{
				"parallelism": n, "completions": n, "completionMode": "Indexed", "backoffLimit": int64(0), "template": template,
			}},
		}},
	}})
}

// template is the pod of the job: what is the job's own, with what Railhead adds to any pod.
func (j *job) template(d delivery) map[string]any {
	container := map[string]any{"name": trainContainer, "image": j.o.Image, "command": listOf(j.command())}
	if j.o.PullPolicy != "" {
		container["imagePullPolicy"] = j.o.PullPolicy
	}
	metadata := map[string]any{"labels": j.labels()}
	annotations := map[string]any{}
	if j.scc != "" {
		annotations["openshift.io/required-scc"] = j.scc
	}
	if j.o.Script != nil {
		sum := sha256.Sum256(j.o.Script.Content)
		annotations[scriptHash] = hex.EncodeToString(sum[:])
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	template := map[string]any{"metadata": metadata, "spec": map[string]any{"containers": []any{container}}}
	_ = j.shape(d).add(template) // it has what others' pods may lack: a container with a command
	return template
}

// shape is what Railhead adds to the job's pods.
func (j *job) shape(d delivery) podShape {
	p := podShape{
		container: trainContainer, namespace: j.o.Namespace, networks: j.rails, resources: j.resources(), shm: j.shm(), delivery: d,
		env: j.environment(), pod: j.podFields(), security: j.security(), ipcLock: j.ipcLock,
	}
	if j.o.Script != nil {
		p.script = j.scriptName()
	}
	return p
}

func (j *job) delivery() delivery {
	programs, _ := j.arches() // said before
	return delivery{by: j.o.Delivery, image: j.o.PodImage, programs: programs}
}

// command is what the pods run behind railhead-pod.
func (j *job) command() []string {
	switch {
	case len(j.o.Command) > 0:
		return j.o.Command
	case j.o.Script != nil:
		return j.o.Script.command()
	}
	return []string{"sh", "-c", waiting}
}

// command runs the script by its name, or by what its first line says; nil when neither tells.
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
