//go:build vm

package fabrictest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/machines/image"
)

// apart puts the pods of a job on different nodes.
const apart = `[{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule,
      labelSelector: {matchLabels: {app: own}}}]`

// twoPods is a Job of two pods, without its head. It ends when the commands of its pods have.
const twoPods = `{parallelism: 2, completions: 2, completionMode: Indexed, template: {
    metadata: {labels: {app: own}},
    spec: {restartPolicy: Never, subdomain: own, topologySpreadConstraints: ` + apart + `,
      containers: [{name: train, image: "` + image.PerfImage + `", imagePullPolicy: IfNotPresent,
        command: [bash, -c, %q]}]}}}
`

const (
	ownJob = `apiVersion: v1
kind: Service
metadata: {name: own}
spec: {clusterIP: None, selector: {app: own}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: own}
spec: ` + twoPods
	ownJobSet = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: own}
spec:
  replicatedJobs:
  - name: worker
    template:
      spec: ` + twoPods
)

// byEnvironment and byFile are the ways in which a program gets the settings. One that something else starts, such as
// Ray, has them from the file alone. perftest stands for NCCL, and the shell reads the file as NCCL does.
const (
	byEnvironment = `test -z "$NCCL_CONF_FILE"
`
	byFile = `test -z "$NCCL_IB_HCA$NCCL_IB_GID_INDEX"
while IFS= read -r line; do case $line in NCCL_*) declare "$line"; esac; done < $NCCL_CONF_FILE
`
)

// injects wants the commands of manifests that a user wrote to move bytes by RDMA, with what inject adds to them. How a
// program gets the settings does not depend on the kind.
func (s site) injects(t *testing.T, ns string) {
	for _, c := range []struct{ name, manifest, wrap, settings, leader string }{
		{"job/own", ownJob, "always", byEnvironment, "own-0.own"},
		{"jobset/own", ownJobSet, "never", byFile, "own-worker-0-0.own"},
	} {
		t.Run(c.name+" with --wrap "+c.wrap, func(t *testing.T) {
			rank := "set -e\nNODE_RANK=$JOB_COMPLETION_INDEX MASTER_ADDR=" + c.leader + "\n"
			s.movesItself(t, ns, c.name, fmt.Sprintf(c.manifest, rank+c.settings+writes), 2,
				"--memlock=ipc-lock", "--service-account=railhead-sa", "--wrap="+c.wrap)
		})
	}
}

// movesItself wants the pods of a manifest to end well, as many of them as said, and the HCAs to have counted what
// they wrote.
func (s site) movesItself(t *testing.T, ns, name, manifest string, pods int, flags ...string) {
	t.Helper()
	before := s.sent(t)
	s.runs(t, ns, manifest, flags...)
	s.endsWell(t, ns, name, pods)
	s.counted(t, before)
}

func (s site) endsWell(t *testing.T, ns, name string, pods int) {
	t.Helper()
	begun := time.Now()
	until(t, fmt.Sprintf("%d pods of %s end well", pods, name), func() bool {
		return len(s.pods(t, ns, corev1.PodSucceeded)) == pods
	})
	if t.Failed() {
		t.Logf("%+v\n%+v", s.railhead(t, "status", name, "-n", ns), s.railhead(t, "logs", name, "-n", ns))
	}
	t.Logf("%s ended after %s", name, time.Since(begun).Round(time.Second))
}

// runs creates the objects of a manifest with what inject adds to them, and removes them when the test ends.
func (s site) runs(t *testing.T, ns, manifest string, flags ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	inject := append([]string{"inject", "-f", file, "-n", ns, "--pod-binary=amd64=" + s.podBinary}, flags...)
	objects := s.creates(t, ns, s.does(t, inject...).out)
	t.Cleanup(func() { s.removes(t, ns, objects) })
}

// creates creates the objects of a manifest, and returns those that were not there before: inject also prints the
// ConfigMaps with railhead-pod.
func (s site) creates(t *testing.T, ns, manifest string) (objects []client.Object) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		u := &unstructured.Unstructured{}
		if d.Decode(&u.Object) != nil {
			return objects
		}
		u.SetNamespace(ns)
		switch err := s.ControlPlane.Client().Create(t.Context(), u); {
		case err == nil:
			objects = append(objects, u)
		case !apierrors.IsAlreadyExists(err) || u.GetKind() != "ConfigMap":
			t.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// removes deletes the objects of a manifest, and waits until its pods are gone.
func (s site) removes(t *testing.T, ns string, objects []client.Object) {
	t.Helper()
	for _, o := range objects {
		err := s.ControlPlane.Client().Delete(context.Background(), o,
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			t.Error(err)
		}
	}
	until(t, "the pods are gone", func() bool { return len(s.pods(t, ns, "")) == 0 })
}

// pods returns the pods of a manifest that are in a phase, or in any.
func (s site) pods(t *testing.T, ns string, phase corev1.PodPhase) (found []corev1.Pod) {
	t.Helper()
	var all corev1.PodList
	if err := s.ControlPlane.Client().List(context.Background(), &all,
		client.InNamespace(ns), client.MatchingLabels{"app": "own"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Items {
		if phase == "" || p.Status.Phase == phase {
			found = append(found, p)
		}
	}
	return found
}

func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(time.Second); !ready(); {
		select {
		case <-tick:
		case <-late:
			t.Errorf("%s: not within %s", what, patience)
			return
		}
	}
}
