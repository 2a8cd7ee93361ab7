//go:build workloads

package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reserved are nodes whose taint the jobs of a queue tolerate, because Kueue adds that to their pods.
const reserved = `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: reserved}
spec:
  tolerations: [{key: example.com/reserved, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: reserved}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu%s]
    flavors:
    - name: reserved
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 16}
%s---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: reserved, namespace: w-queue}
spec: {clusterQueue: reserved}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: gone, namespace: w-queue}
spec: {clusterQueue: gone}
`

// deploysToQueue wants a job in a queue that exists, and it to be unchanged after Kueue admitted it.
func deploysToQueue(t *testing.T, u user, ns string) {
	covered, quota := railQuota()
	kubectl(t, admin(t, openShift))(fmt.Sprintf(reserved, covered, quota))
	job := deploy("h-kim", ns, "--nodes=2", "--gpus=8", "--kind=job", "--toleration=example.com/gpu", "--no-wait")
	queue := func(name string) []string { return append(slices.Clone(job), "--queue="+name) }
	u.ends(t, 1, queue("reservde")...).silent(t).says(t, "must be a LocalQueue of namespace w-queue: ", "Did you mean reserved?",
		"nothing was written")
	eventually(t, "Kueue says that a queue admits nothing", func() error {
		r := u.railhead(t, append(queue("gone"), "--dry-run=client")...)
		if !strings.Contains(r.out+r.err, "queue gone admits nothing now") {
			return errors.New(r.out + r.err)
		}
		return nil
	})
	u.does(t, queue("reserved")...).silent(t)
	var made batchv1.Job
	eventually(t, "Kueue admits the job", func() error {
		if err := openShift.Client().Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "h-kim"}, &made); err != nil {
			return err
		}
		if *made.Spec.Suspend {
			return errors.New("it is suspended")
		}
		return nil
	})
	added := func(t corev1.Toleration) bool { return t.Key == "example.com/reserved" }
	if tolerations := made.Spec.Template.Spec.Tolerations; len(tolerations) < 2 || !slices.ContainsFunc(tolerations, added) {
		t.Fatalf("Kueue added nothing: %v", tolerations)
	}
	u.does(t, queue("reserved")...).silent(t).says(t, "Nothing to do")
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t)
}
