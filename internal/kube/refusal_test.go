package kube

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/plan"
)

// applying is the change that the answers below are about.
func applying(apiVersion, kind, namespace, name string) plan.Change {
	o := unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return plan.Change{Verb: plan.Apply, Object: o}
}

func TestRefusal(t *testing.T) {
	statefulSet := applying("apps/v1", "StatefulSet", "train", "h-kim")
	roleBinding := applying("rbac.authorization.k8s.io/v1", "RoleBinding", "train", "sa-scc")
	machineConfig := applying("machineconfiguration.openshift.io/v1", "MachineConfig", "", "99-worker-rdma-memlock")
	for name, test := range map[string]struct {
		change plan.Change
		status string // as the server writes it
		want   error  // of the same type
		says   string
	}{
		"no right in the namespace": {statefulSet, `{"code":403,"reason":"Forbidden","details":{"name":"h-kim",` +
			`"group":"apps","kind":"statefulsets"},"message":"statefulsets.apps \"h-kim\" is forbidden: User \"dev\" ` +
			`cannot patch resource \"statefulsets\" in API group \"apps\" in the namespace \"train\""}`,
			&Forbidden{},
			`dev may not patch statefulsets.apps "h-kim" in namespace train; a cluster administrator can ` +
				`do it, or grant the right: railhead setup namespace train --users user:dev`},
		"a right that users do not get": {roleBinding, `{"code":403,"reason":"Forbidden","message":` +
			`"rolebindings.rbac.authorization.k8s.io \"sa-scc\" is forbidden: User \"dev\" cannot patch resource ` +
			`\"rolebindings\" in API group \"rbac.authorization.k8s.io\" in the namespace \"train\""}`,
			&Forbidden{},
			`dev may not patch rolebindings.rbac.authorization.k8s.io "sa-scc" in namespace train; an administrator ` +
				`of the namespace can do it, or grant the right: kubectl create role NAME -n train --verb=patch ` +
				`--resource=rolebindings.rbac.authorization.k8s.io && kubectl create rolebinding NAME -n train ` +
				`--role=NAME --user=dev`},
		"no right in the cluster": {machineConfig, `{"code":403,"reason":"Forbidden",` +
			`"details":{"name":"99-worker-rdma-memlock","group":"machineconfiguration.openshift.io",` +
			`"kind":"machineconfigs"},"message":"machineconfigs.machineconfiguration.openshift.io ` +
			`\"99-worker-rdma-memlock\" is forbidden: User \"dev\" cannot patch resource \"machineconfigs\" in API ` +
			`group \"machineconfiguration.openshift.io\" at the cluster scope"}`,
			&Forbidden{},
			`dev may not patch machineconfigs.machineconfiguration.openshift.io "99-worker-rdma-memlock"; a cluster ` +
				`administrator can do it, or grant the right: kubectl create clusterrole NAME --verb=patch ` +
				`--resource=machineconfigs.machineconfiguration.openshift.io && kubectl create clusterrolebinding ` +
				`NAME --clusterrole=NAME --user=dev`},
		"quota": {statefulSet, `{"code":403,"reason":"Forbidden","details":{"name":"h-kim","kind":"pods"},` +
			`"message":"pods \"h-kim\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, ` +
			`used: requests.nvidia.com/gpu=16, limited: requests.nvidia.com/gpu=16"}`,
			&Refused{},
			"StatefulSet train/h-kim is refused: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: " +
				"requests.nvidia.com/gpu=16, limited: requests.nvidia.com/gpu=16"},
		"grant of a right that the user lacks": {roleBinding, `{"code":403,"reason":"Forbidden",` +
			`"details":{"name":"sa-scc",` +
			`"group":"rbac.authorization.k8s.io","kind":"rolebindings"},` +
			`"message":"rolebindings.rbac.authorization.k8s.io \"sa-scc\" is forbidden: user \"dev\" ` +
			`(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently ` +
			`held:\n{APIGroups:[\"security.openshift.io\"], Resources:[\"securitycontextconstraints\"], ` +
			`ResourceNames:[\"railhead-rdma\"], Verbs:[\"use\"]}"}`,
			&Refused{},
			"RoleBinding train/sa-scc is refused: user \"dev\" (groups=[\"system:authenticated\"]) is attempting to " +
				"grant RBAC permissions not currently held:\n{APIGroups:[\"security.openshift.io\"], " +
				"Resources:[\"securitycontextconstraints\"], ResourceNames:[\"railhead-rdma\"], " +
				"Verbs:[\"use\"]}\nOnly a user who has a right can grant it: let a cluster administrator run this"},
		"webhook": {statefulSet, `{"code":400,"message":"admission webhook \"vjobset.kb.io\" denied the request: ` +
			`name too long"}`,
			&Refused{},
			`StatefulSet train/h-kim is refused: admission webhook "vjobset.kb.io" denied the request: name too long`},
		"schema": {statefulSet, `{"code":422,"reason":"Invalid","details":{"name":"h-kim","group":"apps",` +
			`"kind":"StatefulSet","causes":[{"reason":"FieldValueRequired","message":"Required value",` +
			`"field":"spec.selector"}]},"message":"StatefulSet.apps \"h-kim\" is invalid: spec.selector: Required ` +
			`value"}`,
			&Refused{}, "StatefulSet train/h-kim is refused: spec.selector: Required value"},
		"field of another manager": {statefulSet, `{"code":409,"reason":"Conflict",` +
			`"details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using ` +
			`apps/v1","field":".spec.replicas"}]},"message":"Apply failed with 1 conflict: conflict with \"kubectl\" ` +
			`using apps/v1: .spec.replicas"}`,
			&Refused{},
			"StatefulSet train/h-kim: .spec.replicas belongs to kubectl and has another value there, so the object " +
				"was not changed. Let the manager set the wanted value or give the field up (kubectl apply " +
				"--server-side without the field), or delete the object. Then run the same command again"},
		"recreated since it was read": {statefulSet, `{"code":409,"reason":"Conflict","details":{"name":"h-kim",` +
			`"kind":"statefulsets"},"message":"Precondition failed: UID in precondition: 1, UID in object meta: 2"}`,
			&Refused{},
			"StatefulSet train/h-kim was changed or recreated since it was read: Precondition failed: UID in " +
				"precondition: 1, UID in object meta: 2; run the same command again"},
		"namespace is not there": {statefulSet, `{"code":404,"reason":"NotFound","details":{"name":"train",` +
			`"kind":"namespaces"},"message":"namespaces \"train\" not found"}`,
			&Refused{}, `StatefulSet train/h-kim cannot be written: there is no namespace "train"`},
		"object is not there": {statefulSet, `{"code":404,"reason":"NotFound","details":{"name":"h-kim",` +
			`"group":"apps","kind":"statefulsets"},"message":"statefulsets.apps \"h-kim\" not found"}`,
			&Refused{}, "StatefulSet train/h-kim cannot be written: there is no such object"},
		"kind is not there": {machineConfig, `{"code":404,"reason":"NotFound","details":{},"message":"the server ` +
			`could not find the requested resource"}`,
			&Refused{},
			"MachineConfig 99-worker-rdma-memlock cannot be written: there is no kind MachineConfig " +
				"(machineconfiguration.openshift.io/v1) on this server: is its operator installed?"},
		"namespace is being deleted": {statefulSet, `{"code":403,"reason":"Forbidden","details":{"name":"h-kim",` +
			`"kind":"statefulsets","causes":[{"reason":"NamespaceTerminating","message":"namespace train is being ` +
			`terminated","field":"metadata.namespace"}]},"message":"statefulsets.apps \"h-kim\" is forbidden: unable ` +
			`to create new content in namespace train because it is being terminated"}`,
			&Refused{}, "StatefulSet train/h-kim cannot be written: it or its " +
				"namespace is being deleted; wait until it is gone and run the same command again"},
	} {
		t.Run(name, func(t *testing.T) {
			var status metav1.Status
			if err := json.Unmarshal([]byte(test.status), &status); err != nil {
				t.Fatal(err)
			}
			answer := &apierrors.StatusError{ErrStatus: status}
			got := refusal(answer, test.change)
			if got.Error() != test.says {
				t.Errorf("says %s\nwant %s", got, test.says)
			}
			if !errors.Is(got, answer) {
				t.Error("the server's answer is lost")
			}
			if reflect.TypeOf(got) != reflect.TypeOf(test.want) {
				t.Errorf("%T, want %T", got, test.want)
			}
		})
	}
}

func TestRefusalOfNoAnswer(t *testing.T) {
	change := applying("v1", "Service", "train", "h-kim-headless")
	if err := refusal(nil, change); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := refusal(ErrUnreachable, change); !errors.Is(err, ErrUnreachable) ||
		err.Error() != "apply Service train/h-kim-headless: the API server does not answer" {
		t.Error(err)
	}
}
