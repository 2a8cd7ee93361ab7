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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/machines/image"
)

// podsOfTwo is the template of a Job of two pods, one on each node, whose command does nothing.
const podsOfTwo = `{parallelism: 2, completions: 2, completionMode: Indexed, template: {spec: {restartPolicy: Never,
  containers: [{name: train, image: %q, imagePullPolicy: IfNotPresent, command: [sleep, infinity]}],
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]}}}`

// injects wants pods of manifests that a user wrote to move bytes by RDMA: of a Job and of a JobSet, by the environment
// of their command and by /etc/nccl.conf, as programs find it that something else starts, such as Ray. perftest stands
// for NCCL: the nodes have no GPUs.
func (s site) injects(t *testing.T, ns string) {
	pods := fmt.Sprintf(podsOfTwo, image.PerfImage)
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: own}, spec: " + pods + "}"
	set := "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: own}, " +
		"spec: {replicatedJobs: [{name: worker, template: {spec: " + pods + "}}]}}"
	for _, c := range []struct{ name, manifest, wrap string }{
		{"job/own", job, "always"}, {"job/own", job, "never"}, {"jobset/own", set, "always"}, {"jobset/own", set, "never"},
	} {
		t.Run(c.name+" with --wrap "+c.wrap, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "own.yaml")
			if err := os.WriteFile(file, []byte(c.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			objects := s.creates(t, s.does(t, "inject", "-f", file, "-n", ns, "--memlock=ipc-lock", "--wrap="+c.wrap,
				"--service-account=railhead-sa", "--pod-binary=amd64="+s.podBinary).out)
			t.Cleanup(func() { s.removes(t, objects[len(objects)-1], ns) })
			until(t, c.name+" runs", func() bool { return s.railhead(t, "status", c.name, "-n", ns).code == 0 })
			if c.wrap == "never" {
				s.movesBy(t, c.name, ns, `unset NCCL_IB_HCA NCCL_IB_GID_INDEX
eval "$(grep -E '^NCCL_IB_(HCA|GID_INDEX)=' /etc/nccl.conf | sed "s/=\\(.*\\)/='\\1'/")"
`)
				return
			}
			s.moves(t, c.name, ns)
		})
	}
}

// creates creates the objects of a manifest.
func (s site) creates(t *testing.T, manifest string) (all []*unstructured.Unstructured) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		u := &unstructured.Unstructured{}
		if d.Decode(&u.Object) != nil {
			return all
		}
		if err := s.ControlPlane.Client().Create(t.Context(), u); err != nil && u.GetKind() != "ConfigMap" {
			t.Fatalf("create %s %s: %v", u.GetKind(), u.GetName(), err)
		}
		all = append(all, u)
	}
}

// removes deletes an object, and waits until the namespace has no pods.
func (s site) removes(t *testing.T, o client.Object, ns string) {
	t.Helper()
	ctx, c := context.Background(), s.ControlPlane.Client()
	if err := c.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Error(err)
	}
	until(t, "the pods of "+o.GetName()+" are gone", func() bool {
		var pods corev1.PodList
		return c.List(ctx, &pods, client.InNamespace(ns)) == nil && len(pods.Items) == 0
	})
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
