package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/railhead/railhead/internal/cluster"
)

func service(port int64, labels map[string]any, version string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": "train", "name": "h-kim", "labels": labels, "resourceVersion": version},
		"spec":     map[string]any{"port": port},
		"status":   map[string]any{"seen": version},
	}
}

func TestOutcome(t *testing.T) {
	ours := map[string]any{"app.kubernetes.io/managed-by": "railhead"}
	const after = `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"train","name":"h-kim","uid":"1",` +
		`"resourceVersion":"9","labels":{"app.kubernetes.io/managed-by":"railhead"},"managedFields":[{}]},` +
		`"spec":{"port":1},"status":{"seen":"9"}}`
	for name, test := range map[string]struct {
		before map[string]any // as it was read; nil: not read
		code   int
		want   Outcome
	}{
		"created":                         {nil, 201, Created},
		"exists, but was not read before": {nil, 200, Configured},
		"only the status differs":         {service(1, ours, "3"), 200, Unchanged},
		"another port":                    {service(2, ours, "3"), 200, Configured},
		"another label":                   {service(1, nil, "3"), 200, Configured},
		"deleted and created again":       {service(1, ours, "3"), 201, Created},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dry := range []DryRun{false, true} {
				c := &Client{seen: map[string]map[string]any{}}
				if test.before != nil {
					c.remember([]cluster.Object{
						{APIVersion: "v1", Kind: "Service", Namespace: "train", Name: "h-kim", Fields: test.before},
					})
				}
				change := applying("v1", "Service", "train", "h-kim")
				got, err := c.outcome(change, pathOf(&change.Object), test.code, []byte(after), dry)
				if err != nil || got != test.want {
					t.Errorf("dry run %v: %q, %v; want %q", dry, got, err, test.want)
				}
				again, err := c.outcome(change, pathOf(&change.Object), 200, []byte(after), dry)
				if want := Unchanged; !dry && (err != nil || again != want) {
					t.Errorf("the same again: %q, %v; want %q", again, err, want)
				}
			}
		})
	}
}

func TestOutcomeOfATerminatingObject(t *testing.T) {
	c := &Client{seen: map[string]map[string]any{}}
	change := applying("v1", "Service", "train", "h-kim")
	_, err := c.outcome(change, pathOf(&change.Object), 200, []byte(`{"metadata":{"name":"h-kim",`+
		`"deletionTimestamp":"2026-01-05T10:00:00Z"}}`), false)
	if diff := cmp.Diff(terminating("Service train/h-kim", nil), err); diff != "" {
		t.Error(diff)
	}
}

func TestObjectPath(t *testing.T) {
	for want, o := range map[string]struct{ apiVersion, kind, namespace, name string }{
		"/api/v1/namespaces/train/services/h-kim":           {"v1", "Service", "train", "h-kim"},
		"/api/v1/namespaces/train":                          {"v1", "Namespace", "", "train"},
		"/apis/apps/v1/namespaces/train/statefulsets/h-kim": {"apps/v1", "StatefulSet", "train", "h-kim"},
		"/apis/security.openshift.io/v1/securitycontextconstraints/railhead-rdma": {
			"security.openshift.io/v1", "SecurityContextConstraints", "", "railhead-rdma",
		},
		"/apis/k8s.cni.cncf.io/v1/namespaces/train/network-attachment-definitions/eno5np0": {
			"k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "train", "eno5np0",
		},
		"/apis/sriovnetwork.openshift.io/v1/namespaces/s/sriovnetworknodepolicies/eno5np0": {
			"sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy", "s", "eno5np0",
		},
		"/apis/machineconfiguration.openshift.io/v1/machineconfigpools/worker": {
			"machineconfiguration.openshift.io/v1", "MachineConfigPool", "", "worker",
		},
	} {
		if got := objectPath(o.apiVersion, o.kind, o.namespace, o.name); got != want {
			t.Errorf("%s %s/%s is served at %s, not %s", o.kind, o.namespace, o.name, want, got)
		}
	}
}

func TestDeleteOptions(t *testing.T) {
	background := metav1.DeletePropagationBackground
	kind := metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	uid, version := types.UID("5d0b"), "9"
	for name, test := range map[string]struct {
		uid, version string
		want         metav1.DeleteOptions
	}{
		"any object": {
			"",
			"",
			metav1.DeleteOptions{
				TypeMeta:          kind,
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{},
			},
		},
		"the object that was read": {
			"5d0b",
			"",
			metav1.DeleteOptions{
				TypeMeta:          kind,
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{UID: &uid},
			},
		},
		"the object and version that were read": {
			"5d0b",
			"9",
			metav1.DeleteOptions{
				TypeMeta:          kind,
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
			},
		},
		"only a version": {
			"",
			"9",
			metav1.DeleteOptions{
				TypeMeta:          kind,
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{ResourceVersion: &version},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			change := applying("v1", "Service", "train", "h-kim")
			change.Object.SetUID(types.UID(test.uid))
			change.Object.SetResourceVersion(test.version)
			if diff := cmp.Diff(test.want, deleteOptions(&change.Object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
