package openshift

import (
	"slices"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StandardSCCs are the ten SecurityContextConstraints without which OpenShift's admission refuses every pod ("cache
// is missing ..."), with the fields of openshift/cluster-kube-apiserver-operator's bindata/bootkube/scc-manifests.
// From 4.20 on there are three more, which no account may use by default: hostmount-anyuid-v2, nested-container and
// restricted-v3.
func StandardSCCs() []*securityv1.SecurityContextConstraints {
	return []*securityv1.SecurityContextConstraints{
		scc("anyuid", legacy, anyUser, func(s *securityv1.SecurityContextConstraints) {
			priority := int32(10)
			s.Priority = &priority
			s.RequiredDropCapabilities = []corev1.Capability{"MKNOD"}
			s.Groups = []string{clusterAdmins}
		}),
		scc("hostaccess", legacy, hostNetwork, hostPath, func(s *securityv1.SecurityContextConstraints) {
			s.AllowHostIPC, s.AllowHostPID = true, true
		}),
		scc("hostmount-anyuid", legacy, anyUser, hostPath, func(s *securityv1.SecurityContextConstraints) {
			s.RequiredDropCapabilities = []corev1.Capability{"MKNOD"}
			s.Volumes = append(s.Volumes, securityv1.FSTypeNFS)
			s.Users = []string{"system:serviceaccount:openshift-infra:pv-recycler-controller"}
		}),
		scc("hostnetwork", legacy, hostNetwork, ownGroups),
		scc("hostnetwork-v2", hostNetwork, ownGroups),
		scc("nonroot", legacy, nonRoot),
		scc("nonroot-v2", nonRoot),
		scc("privileged", legacy, anyUser, hostNetwork, everything),
		scc("restricted", legacy),
		scc("restricted-v2"),
	}
}

// clusterAdmins is the group that OpenShift makes cluster administrators.
const clusterAdmins = "system:cluster-admins"

// scc returns restricted-v2 under another name, with changes.
func scc(name string, changes ...func(*securityv1.SecurityContextConstraints)) *securityv1.SecurityContextConstraints {
	no := false
	s := &securityv1.SecurityContextConstraints{
		ObjectMeta:               metav1.ObjectMeta{Name: name},
		AllowPrivilegeEscalation: &no,
		AllowedCapabilities:      []corev1.Capability{"NET_BIND_SERVICE"},
		RequiredDropCapabilities: []corev1.Capability{"ALL"},
		RunAsUser:                securityv1.RunAsUserStrategyOptions{Type: securityv1.RunAsUserStrategyMustRunAsRange},
		SELinuxContext:           securityv1.SELinuxContextStrategyOptions{Type: securityv1.SELinuxStrategyMustRunAs},
		FSGroup:                  securityv1.FSGroupStrategyOptions{Type: securityv1.FSGroupStrategyMustRunAs},
		SupplementalGroups: securityv1.SupplementalGroupsStrategyOptions{
			Type: securityv1.SupplementalGroupsStrategyRunAsAny,
		},
		SeccompProfiles: []string{"runtime/default"},
		Volumes: []securityv1.FSType{
			securityv1.FSTypeConfigMap, securityv1.FSTypeCSI, securityv1.FSTypeDownwardAPI, securityv1.FSTypeEmptyDir,
			securityv1.FSTypeEphemeral, securityv1.FSTypePersistentVolumeClaim, securityv1.FSProjected,
			securityv1.FSTypeSecret,
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// legacy marks the SCCs without -v2: privilege escalation and no seccomp profile.
func legacy(s *securityv1.SecurityContextConstraints) {
	yes := true
	s.AllowPrivilegeEscalation = &yes
	s.AllowedCapabilities = nil
	s.RequiredDropCapabilities = []corev1.Capability{"KILL", "MKNOD", "SETUID", "SETGID"}
	s.SeccompProfiles = nil
}

func anyUser(s *securityv1.SecurityContextConstraints) {
	s.RunAsUser.Type = securityv1.RunAsUserStrategyRunAsAny
	s.FSGroup.Type = securityv1.FSGroupStrategyRunAsAny
}

func nonRoot(s *securityv1.SecurityContextConstraints) {
	s.RunAsUser.Type = securityv1.RunAsUserStrategyMustRunAsNonRoot
	s.FSGroup.Type = securityv1.FSGroupStrategyRunAsAny
}

func hostNetwork(s *securityv1.SecurityContextConstraints) {
	s.AllowHostNetwork, s.AllowHostPorts = true, true
}

func hostPath(s *securityv1.SecurityContextConstraints) {
	s.AllowHostDirVolumePlugin = true
	s.Volumes = append(slices.Clone(s.Volumes), securityv1.FSTypeHostPath)
}

func ownGroups(s *securityv1.SecurityContextConstraints) {
	s.SupplementalGroups.Type = securityv1.SupplementalGroupsStrategyMustRunAs
}

func everything(s *securityv1.SecurityContextConstraints) {
	s.AllowPrivilegedContainer, s.AllowHostDirVolumePlugin, s.AllowHostIPC, s.AllowHostPID = true, true, true, true
	s.AllowedCapabilities = []corev1.Capability{securityv1.AllowAllCapabilities}
	s.RequiredDropCapabilities = nil
	s.AllowedUnsafeSysctls, s.SeccompProfiles = []string{"*"}, []string{"*"}
	s.SELinuxContext.Type = securityv1.SELinuxStrategyRunAsAny
	s.Volumes = []securityv1.FSType{securityv1.FSTypeAll}
	s.Groups = []string{clusterAdmins, "system:nodes", "system:masters"}
	s.Users = []string{"system:admin", "system:serviceaccount:openshift-infra:build-controller"}
}

// Security is all that decides who may use which SCC in a fresh cluster: the standard SCCs, a ClusterRole for each,
// and restricted-v2 for everyone who is authenticated. It also makes the members of the group system:cluster-admins
// administrators.
func Security() []client.Object {
	var objects []client.Object
	for _, s := range StandardSCCs() {
		objects = append(objects, s, UseSCC(s.Name))
	}
	const restricted = "system:openshift:scc:restricted-v2"
	return append(objects,
		bind(restricted, restricted, "system:authenticated"),
		bind("cluster-admins", "cluster-admin", clusterAdmins))
}

// UseSCC returns the ClusterRole that lets its subjects use an SCC, named as OpenShift and `oc adm policy
// add-scc-to-user` name it.
func UseSCC(name string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:openshift:scc:" + name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{securityv1.GroupName}, Resources: []string{"securitycontextconstraints"},
			ResourceNames: []string{name}, Verbs: []string{"use"},
		}},
	}
}

func bind(name, role, group string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
}
