package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertSCC(t *testing.T) {
	priority := int64(10)
	got := convertSCC(from[securityContextConstraints](t, `
metadata: {name: railhead-rdma}
priority: 10
allowPrivilegedContainer: false
allowHostNetwork: false
allowHostDirVolumePlugin: true
allowedCapabilities: [IPC_LOCK]
requiredDropCapabilities: [KILL, MKNOD]
defaultAddCapabilities: null
runAsUser: {type: MustRunAsRange}
seLinuxContext: {type: MustRunAs}
volumes: [configMap, downwardAPI, emptyDir]
users: [system:serviceaccount:train:a]
groups: []
`))
	want := cluster.SCC{
		Name: "railhead-rdma", Priority: &priority, HostPath: true, AllowedCapabilities: []string{"IPC_LOCK"},
		RequiredDropCapabilities: []string{"KILL", "MKNOD"},
		RunAsUser:                "MustRunAsRange", Volumes: []string{
			"configMap",
			"downwardAPI",
			"emptyDir",
		}, Users: []string{"system:serviceaccount:train:a"}, Groups: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGrants(t *testing.T) {
	const role = "{metadata: {name: rdma}, rules: [{verbs: [use], apiGroups: [security.openshift.io], resources: " +
		"[securitycontextconstraints], resourceNames: [railhead-rdma]}]}"
	const subject = "[{kind: ServiceAccount, namespace: train, name: a}]"
	for name, test := range map[string]struct {
		roles    []string
		bindings []string
		sccs     []cluster.SCC
		want     []cluster.SCCGrant
	}{
		"cluster role bound in a namespace": {
			[]string{role}, []string{
				"{metadata: {namespace: train, name: b}, roleRef: {kind: ClusterRole, name: " +
					"rdma}, subjects: " + subject + "}",
			}, nil,
			[]cluster.SCCGrant{
				{SCC: "railhead-rdma", Subject: "ServiceAccount/train/a", Namespace: "train", By: "RoleBinding/b"},
			},
		},
		"cluster role bound everywhere": {
			[]string{role}, []string{
				"{metadata: {name: b}, roleRef: {kind: ClusterRole, name: rdma}, subjects: [{kind: Group, name: " +
					"system:authenticated}]}",
			}, nil,
			[]cluster.SCCGrant{
				{SCC: "railhead-rdma", Subject: "Group/system:authenticated", By: "ClusterRoleBinding/b"},
			},
		},
		"role of the namespace, not the cluster role of its name": {
			[]string{
				"{metadata: {namespace: train, name: rdma}, rules: [{verbs: [use], apiGroups: " +
					"[security.openshift.io], resources: [securitycontextconstraints], resourceNames: [mine]}]}",
				role,
			},
			[]string{
				"{metadata: {namespace: train, name: b}, roleRef: {kind: Role, name: rdma}, subjects: " + subject + "}",
			}, nil,
			[]cluster.SCCGrant{
				{SCC: "mine", Subject: "ServiceAccount/train/a", Namespace: "train", By: "RoleBinding/b"},
			},
		},
		"cluster-admin may use every SCC": {
			[]string{
				`{metadata: {name: cluster-admin}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}, ` +
					`{verbs: ["*"], nonResourceURLs: ["*"]}]}`,
			},
			[]string{
				"{metadata: {name: cluster-admin}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: " +
					"[{kind: User, name: kim}]}",
			}, nil,
			[]cluster.SCCGrant{{SCC: "*", Subject: "User/kim", By: "ClusterRoleBinding/cluster-admin"}},
		},
		"role that may only look at SCCs": {
			[]string{
				"{metadata: {name: view}, rules: [{verbs: [get, list], apiGroups: [security.openshift.io], " +
					"resources: [securitycontextconstraints]}]}",
			},
			[]string{
				"{metadata: {name: b}, roleRef: {kind: ClusterRole, name: view}, subjects: " + subject + "}",
			}, nil, nil,
		},
		"binding of a role that is not there": {
			nil, []string{
				"{metadata: {name: b}, roleRef: {kind: ClusterRole, name: gone}, subjects: " + subject + "}",
			}, nil, nil,
		},
		"those whom the SCC names": {
			nil, nil, []cluster.SCC{
				{
					Name:   "nccl-scc",
					Users:  []string{"system:serviceaccount:train:a"},
					Groups: []string{"system:cluster-admins"},
				},
			},
			[]cluster.SCCGrant{
				{SCC: "nccl-scc", Subject: "Group/system:cluster-admins", By: "securitycontextconstraints/nccl-scc"},
				{
					SCC:     "nccl-scc",
					Subject: "User/system:serviceaccount:train:a",
					By:      "securitycontextconstraints/nccl-scc",
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var roles []sccRole
			for _, text := range test.roles {
				roles = append(roles, convertRole(from[rbacv1.ClusterRole](t, text))...)
			}
			var bindings []binding
			for _, text := range test.bindings {
				bindings = append(bindings, convertBinding(from[rbacv1.ClusterRoleBinding](t, text)))
			}
			if diff := cmp.Diff(test.want, grants(roles, bindings, test.sccs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestObjectOf(t *testing.T) {
	service := objectOf("v1", "Service")(from[anyObject](t, `
metadata:
  namespace: train
  name: h-kim-headless
  managedFields:
  - {manager: railhead, operation: Update, fieldsV1: {"f:metadata": {}}}
  - {manager: kubectl, operation: Apply, fieldsV1: {"f:data": {}}}
  - {manager: railhead, operation: Apply, fieldsV1: {"f:spec": {"f:type": {}}}}
  labels: {app.kubernetes.io/managed-by: railhead}
spec: {clusterIP: None, ports: [{port: 29500}]}
`))
	want := []cluster.Object{{APIVersion: "v1", Kind: "Service", Namespace: "train", Name: "h-kim-headless",
		Applied: map[string]any{"f:spec": map[string]any{"f:type": map[string]any{}}},
		Fields: map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{
				"namespace": "train",
				"name":      "h-kim-headless",
				"labels":    map[string]any{"app.kubernetes.io/managed-by": "railhead"},
			},
			"spec": map[string]any{"clusterIP": "None", "ports": []any{map[string]any{"port": int64(29500)}}},
		}}}
	if diff := cmp.Diff(want, service); diff != "" {
		t.Error(diff)
	}
	made := objectOf("v1", "Pod")(from[anyObject](t, `{metadata: {name: h-kim-0, ownerReferences: [{kind: `+
		`StatefulSet, name: h-kim, controller: true}]}}`))
	if made != nil {
		t.Errorf("a pod that a controller made is not Railhead's: %v", made)
	}
}

// A Role is decoded as a ClusterRole: in protobuf, too, their fields have the same numbers.
func TestRoleInProtobuf(t *testing.T) {
	raw, err := (&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "rdma", ResourceVersion: "7"},
		Rules: []rbacv1.PolicyRule{{
			Verbs:     []string{"use"},
			APIGroups: []string{cluster.SecurityGroup},
			Resources: []string{string(cluster.SCCs)},
		}},
	}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := codecOfMany(convertRole, func(d *draft) *[]sccRole { return &d.roles }).decode(raw, inProtobuf)
	want := decoded{"train/rdma", "7", []sccRole{{"train", "rdma", []string{"*"}}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(decoded{}, sccRole{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestRoleBindingInProtobuf(t *testing.T) {
	raw, err := (&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "b", ResourceVersion: "7"},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "rdma"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "train", Name: "a"}},
	}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := codecOf(convertBinding, func(d *draft) *[]binding { return &d.bindings }).decode(raw, inProtobuf)
	want := decoded{"train/b", "7", []binding{{"train", "b", "train", "rdma", []string{"ServiceAccount/train/a"}}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(decoded{}, binding{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
