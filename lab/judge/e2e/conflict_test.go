package e2e_test

import (
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claims takes fields of an object for another manager, as a GitOps controller does.
func claims(t *testing.T, c client.Client, object map[string]any) {
	t.Helper()
	u := &unstructured.Unstructured{Object: object}
	err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("site-gitops"), client.ForceOwnership)
	if err != nil {
		t.Fatal(err)
	}
}

// TestConflict: a field that somebody else looks after is not taken away; whose it is is said, and how to go on.
func TestConflict(t *testing.T) {
	const ns = "contested"
	setUp(t)
	a, c := admin(t, openShift), openShift.Client()
	t.Run("SCC", func(t *testing.T) {
		claims(t, c, map[string]any{
			"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints", "metadata": map[string]any{"name": railheadSCC},
			"volumes": []any{"configMap", "emptyDir"},
			// the CRD wants these in every apply
			"allowHostDirVolumePlugin": false, "allowHostIPC": false, "allowHostNetwork": false, "allowHostPID": false, "allowHostPorts": false,
			"allowPrivilegedContainer": false, "readOnlyRootFilesystem": false,
			"allowedCapabilities": []any{}, "defaultAddCapabilities": []any{}, "requiredDropCapabilities": []any{"ALL"}, "priority": int64(0),
		})
		before := versions(t)
		a.ends(t, 1, "setup", "cluster", "--yes").silent(t).says(t, "SecurityContextConstraints railhead-rdma: .volumes belongs to site-gitops and has another value there",
			"the object was not changed", "give the field up", "the same command again completes the plan")
		unchanged(t, before)
		a.ends(t, 1, "setup", "cluster", "--dry-run=server").silent(t).says(t, ".volumes belongs to site-gitops")
		if err := c.Delete(t.Context(), &securityv1.SecurityContextConstraints{ObjectMeta: meta("", railheadSCC)}); err != nil {
			t.Fatal(err)
		}
		a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "created SecurityContextConstraints railhead-rdma")
	})
	t.Run("Service", func(t *testing.T) {
		u := engineer(t, "d-cruz", ns)
		u.does(t, deploy("job", ns, "--type=multi", "--nodes=1")...)
		claims(t, c, map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "job-headless", "namespace": ns},
			"spec": map[string]any{"publishNotReadyAddresses": false},
		})
		u.ends(t, 1, deploy("job", ns, "--nodes=1")...).silent(t).says(t, "Service contested/job-headless: .spec.publishNotReadyAddresses belongs to site-gitops")
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
}
