package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// sccObject is the SCC: restricted-v2 (openshift/cluster-kube-apiserver-operator bindata/bootkube/scc-manifests)
// without its NET_BIND_SERVICE. Where memory is unlocked by the runtime, RDMA needs no more. The
// network-resources-injector adds a downwardAPI volume to every pod with a network, so that kind must be allowed. A
// capability that is added is only effective for root: Kubernetes drops ambient capabilities, and execve by another
// user clears the rest.
func sccObject(s cluster.State, o Options) unstructured.Unstructured {
	volumes := []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"}
	if s.Server.Minor >= plan.ImageVolumesMinor {
		volumes = append(volumes, "image")
	}
	volumes = append(volumes, "persistentVolumeClaim", "projected", "secret")
	capabilities, user := []any{}, "MustRunAsRange"
	if o.AllowIPCLock {
		capabilities, user = []any{plan.CapIPCLock}, "RunAsAny"
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cluster.SecurityGroup + "/v1", "kind": "SecurityContextConstraints",
		"metadata": map[string]any{
			"name": plan.SCCName, "labels": setupLabels(),
			"annotations": map[string]any{
				"kubernetes.io/description": "What RDMA pods need of restricted-v2. Made by railhead setup cluster.",
			},
		},
		"allowHostDirVolumePlugin": false, "allowHostIPC": false, "allowHostNetwork": false, "allowHostPID": false, "allowHostPorts": false,
		"allowPrivilegeEscalation": false, "allowPrivilegedContainer": false, "readOnlyRootFilesystem": false,
		// the CRD requires these four fields, null or not (openshift/api security/v1 zz_generated.crd-manifests)
		"priority": nil, "defaultAddCapabilities": []any{}, "allowedCapabilities": capabilities, "requiredDropCapabilities": []any{
			"ALL",
		},
		"runAsUser": map[string]any{"type": user}, "seLinuxContext": map[string]any{"type": "MustRunAs"},
		"fsGroup": map[string]any{"type": "MustRunAs"}, "supplementalGroups": map[string]any{"type": "RunAsAny"},
		"seccompProfiles": []any{"runtime/default"}, "volumes": plan.List(volumes),
	}}
}

// sccRoleObject is the cluster role that a role binding of a namespace refers to.
func sccRoleObject(scc string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": plan.SCCRole(scc), "labels": setupLabels()},
		"rules":    plan.SCCRules(scc),
	}}
}

// sccSteps make the SCC, or judge the one that is to be used instead.
func (b *setup) sccSteps() []plan.Step {
	switch {
	case !b.s.Server.OpenShift():
		return nil
	case b.o.SCC != "" && b.o.SCC != plan.SCCName:
		b.judgeSCC(b.o.SCC)
		return nil
	}
	_, ours := b.s.Object("SecurityContextConstraints", "", plan.SCCName)
	if there, ok := b.s.SCC(plan.SCCName); ok && !ours {
		if b.o.SCC == plan.SCCName {
			b.judgeSCC(plan.SCCName)
			return nil
		}
		b.say(sccTaken(there))
		return nil
	}
	changes := plan.ApplyUnlessCovered(b.s, sccObject(b.s, b.o), sccWhy(b.o))
	changes = append(changes, plan.ApplyUnlessCovered(
		b.s, sccRoleObject(plan.SCCName), "gives the right to use it to whoever is bound to it",
	)...)
	if len(changes) == 0 {
		return nil
	}
	b.noteSCC()
	return []plan.Step{{ID: "scc", Title: "Write the security context constraint " + plan.SCCName, Changes: changes}}
}

func sccWhy(o Options) string {
	if o.AllowIPCLock {
		return "admits pods that add IPC_LOCK and run as root"
	}
	return "admits RDMA pods without privileges"
}

// noteSCC lists the SCC's permissions beyond restricted-v2.
func (b *setup) noteSCC() {
	if b.o.AllowIPCLock {
		b.note(
			"SCC %s allows beyond restricted-v2: the capability IPC_LOCK, and root, without which that capability has no effect.",
			plan.SCCName,
		)
		return
	}
	beyond := "nothing beyond restricted-v2"
	if restricted, ok := b.s.SCC("restricted-v2"); ok && b.s.Server.Minor >= plan.ImageVolumesMinor && !restricted.AllowsVolume("image") {
		beyond += " but image volumes"
	}
	b.note("SCC %s allows %s. It is made because clusters change their restricted-v2.", plan.SCCName, beyond)
	if b.o.NoMemlock || !b.s.Server.Serves(cluster.MachineConfigGroup) {
		b.note("The locked-memory limit of the nodes is not set here. Where it is small, RDMA needs --allow-ipc-lock, too.")
	}
	if there, ok := b.s.SCC(plan.SCCName); ok && there.AllowsCapability(plan.CapIPCLock) {
		b.note(
			"SCC %s no longer allows IPC_LOCK: pods that add it are refused from now on. Give --allow-ipc-lock to keep it.",
			plan.SCCName,
		)
	}
}

// sccTaken says that the SCC's name is somebody else's.
func sccTaken(there cluster.SCC) check.Finding {
	return check.Finding{
		Check: plan.NameFree, Status: check.Fail, Subject: check.Named(check.SCC, there.Name),
		Summary: fmt.Sprintf("SCC %s is there and was not made by Railhead", there.Name),
		Evidence: []check.Evidence{
			{
				Source: "SecurityContextConstraints/" + there.Name + " label " + plan.LabelManagedBy,
				Got:    "not there",
				Want:   plan.ManagedBy,
			},
		},
		Fix: &check.Fix{
			Text:     "Use it as it is, or rename it.",
			Commands: []string{"railhead setup cluster --scc " + there.Name},
			Who:      check.Admin,
		},
	}
}

// judgeSCC looks whether RDMA pods can live under an SCC that is there.
func (b *setup) judgeSCC(name string) {
	subject := check.Named(check.SCC, name)
	scc, ok := b.s.SCC(name)
	if !ok {
		names := make([]string, 0, len(b.s.SCCs))
		for _, c := range b.s.SCCs {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		b.say(check.Finding{
			Check: SetupSCC, Status: check.Fail, Subject: subject,
			Summary: fmt.Sprintf("there is no SCC %s: the cluster has %s", name, cmp.Or(words.And(names), "none")),
			Evidence: []check.Evidence{
				{Source: "securitycontextconstraints", Got: cmp.Or(strings.Join(names, ", "), "none"), Want: name},
			},
			Fix: &check.Fix{
				Text:     "Name one that exists, or leave --scc out to have " + plan.SCCName + " made.",
				Commands: []string{"oc get scc"},
				Who:      check.Admin,
			},
		})
		return
	}
	if !scc.AllowsVolume("downwardAPI") {
		b.say(check.Finding{
			Check: SetupSCC, Status: check.Warn, Subject: subject,
			Summary: fmt.Sprintf(
				"SCC %s does not allow downwardAPI volumes: the network-resources-injector adds one to every pod with a network, which is then refused",
				name,
			),
			Evidence: []check.Evidence{
				{
					Source: "SecurityContextConstraints/" + name + " volumes",
					Got:    cmp.Or(strings.Join(scc.Volumes, ", "), "none"),
					Want:   "downwardAPI",
				},
			},
			Fix: &check.Fix{
				Text: "Add it.", Who: check.Admin,
				Commands: []string{
					fmt.Sprintf(
						`oc patch scc %s --type=json -p '[{"op":"add","path":"/volumes/-","value":"downwardAPI"}]'`,
						name,
					),
				},
			},
		})
	}
	if b.o.AllowIPCLock && !scc.AllowsCapability(plan.CapIPCLock) {
		b.say(check.Finding{
			Check: SetupSCC, Status: check.Fail, Subject: subject,
			Summary: fmt.Sprintf("SCC %s does not allow IPC_LOCK, and SCCs of others are not changed", name),
			Evidence: []check.Evidence{
				{
					Source: "SecurityContextConstraints/" + name + " allowedCapabilities",
					Got:    cmp.Or(strings.Join(scc.AllowedCapabilities, ", "), "none"),
					Want:   plan.CapIPCLock,
				},
			},
			Fix: &check.Fix{
				Text:     "Leave --scc out, so that " + plan.SCCName + " is made with it.",
				Commands: []string{"railhead setup cluster --allow-ipc-lock"},
				Who:      check.Admin,
			},
		})
	}
	if scc.Privileged {
		b.note(
			"SCC %s allows privileged pods, which RDMA does not need and in which every HCA of the node can be opened.",
			name,
		)
	}
}
