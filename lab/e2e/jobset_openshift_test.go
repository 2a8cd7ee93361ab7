//go:build openshift

package e2e_test

import (
	"testing"
)

// TestDeployJobSet: the pods of a JobSet are made by its controller and the Job's, pass the injector and the SCC, and know
// their ranks.
func TestDeployJobSet(t *testing.T) {
	const ns = "sets"
	setUp(t)
	u := engineer(t, "h-kim", ns)
	r := u.railhead(t, deploy("h-kim", ns, "--kind=jobset")...)
	t.Log(r.code, r.err)
	for _, p := range podsOf(t, openShift, ns, "h-kim") {
		t.Log(p.Name, p.Annotations, p.Labels, p.Spec.Containers[0].Resources, p.Spec.Volumes, p.Spec.Containers[0].Env)
	}
	r = u.railhead(t, "status", "h-kim", "-n", ns)
	t.Log(r.code, r.out, r.err)
	r = u.railhead(t, "delete", "h-kim", "-n", ns, "--yes")
	t.Log(r.code, r.out, r.err)
}
