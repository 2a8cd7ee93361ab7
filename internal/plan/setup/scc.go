package setup

import (
	"cmp"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// sccPart creates the SCC, or judges the one to use instead.
func sccPart(s cluster.State, o Options) part {
	var p part
	if !s.Server.OpenShift() {
		return p
	}
	name := cmp.Or(o.SCC, plan.SCCName)
	existing, exists := s.SCC(name)
	_, ours := s.Object("SecurityContextConstraints", "", name)
	switch {
	case name != plan.SCCName && !exists:
		p.Report(noSCC(s, name))
	case name != plan.SCCName, exists && !ours && o.SCC != "":
		p.judge(existing, o.AllowIPCLock)
	case exists && !ours:
		p.Report(sccTaken(existing))
	default:
		p.writeSCC(s, o)
	}
	return p
}

func (p *part) writeSCC(s cluster.State, o Options) {
	why := "admits unprivileged RDMA pods"
	if o.AllowIPCLock {
		why = "admits pods that add IPC_LOCK and run as root"
	}
	changes := slices.Concat(
		plan.ApplyIfChanged(s, sccObject(s, o), why),
		plan.ApplyIfChanged(s, sccRole(), "lets the accounts that are bound to it use the SCC"),
	)
	if len(changes) == 0 {
		return
	}
	p.steps = []plan.Step{{ID: "scc", Title: "Write the security context constraint " + plan.SCCName, Changes: changes}}
	if o.AllowIPCLock {
		p.Note("SCC %s allows more than restricted-v2: the capability IPC_LOCK, "+
			"and root, without which the capability has no effect.", plan.SCCName)
		return
	}
	except := ""
	restricted, ok := s.SCC("restricted-v2")
	if ok && s.Server.Minor >= plan.ImageVolumesMinor && !restricted.AllowsVolume("image") {
		except = " except image volumes"
	}
	p.Note("SCC %s allows nothing beyond restricted-v2%s. It is separate because clusters change restricted-v2.",
		plan.SCCName, except)
	if o.NoMemlock || !s.Server.Serves(cluster.MachineConfigGroup) {
		p.Note("This plan does not set the locked-memory limit of the nodes. " +
			"If the limit is small, RDMA also needs --allow-ipc-lock.")
	}
	if existing, ok := s.SCC(plan.SCCName); ok && existing.AllowsCapability(plan.CapIPCLock) {
		p.Note("SCC %s no longer allows IPC_LOCK: pods that add it are refused from now on. "+
			"Use --allow-ipc-lock to keep it.", plan.SCCName)
	}
}

// sccObject returns the SCC: restricted-v2 (openshift/cluster-kube-apiserver-operator bindata/bootkube/scc-manifests)
// without its NET_BIND_SERVICE. If the runtime unlocks memory, RDMA needs no more. The network-resources-injector adds
// a downwardAPI volume to every pod with a network, so that kind must be allowed. An added capability has an effect
// only for root: Kubernetes drops ambient capabilities, and execve by another user clears the rest.
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
	scc := object(cluster.SecurityGroup+"/v1", "SecurityContextConstraints", plan.SCCName, map[string]any{
		"allowHostDirVolumePlugin": false,
		"allowHostIPC":             false,
		"allowHostNetwork":         false,
		"allowHostPID":             false,
		"allowHostPorts":           false,
		"allowPrivilegeEscalation": false,
		"allowPrivilegedContainer": false,
		"readOnlyRootFilesystem":   false,
		// The CRD requires these four fields, null or not (openshift/api security/v1 zz_generated.crd-manifests).
		// The client side of kubectl apply omits fields that are null.
		"priority":                 int64(0),
		"defaultAddCapabilities":   []any{},
		"allowedCapabilities":      capabilities,
		"requiredDropCapabilities": []any{"ALL"},
		"runAsUser":                map[string]any{"type": user},
		"seLinuxContext":           map[string]any{"type": "MustRunAs"},
		"fsGroup":                  map[string]any{"type": "MustRunAs"},
		"supplementalGroups":       map[string]any{"type": "RunAsAny"},
		"seccompProfiles":          []any{"runtime/default"},
		"volumes":                  plan.List(volumes),
	})
	const description = "The part of restricted-v2 that RDMA pods need. Created by railhead setup cluster."
	scc.SetAnnotations(map[string]string{"kubernetes.io/description": description})
	return scc
}

// sccRole is the cluster role that the role bindings of namespaces refer to.
func sccRole() unstructured.Unstructured {
	return plan.Typed(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: plan.SCCRole(plan.SCCName), Labels: plan.Labels(ComponentSetup, "")},
		Rules:      plan.SCCRules(plan.SCCName),
	})
}

// sccTaken reports that somebody else has the SCC's name.
func sccTaken(scc cluster.SCC) check.Finding {
	return plan.Failure(plan.NameFree, check.Named(check.SCC, scc.Name),
		fmt.Sprintf("SCC %s exists and was not created by Railhead", scc.Name),
		check.Observed("SecurityContextConstraints/"+scc.Name+" label "+plan.LabelManagedBy, "none",
			plan.ManagedBy),
		check.ByAdmin("Use it as it is, or recreate it under another name.",
			"railhead setup cluster --scc "+scc.Name))
}

func noSCC(s cluster.State, name string) check.Finding {
	var names []string
	for _, scc := range s.SCCs {
		names = append(names, scc.Name)
	}
	slices.Sort(names)
	return plan.Failure(SetupSCC, check.Named(check.SCC, name),
		fmt.Sprintf("there is no SCC %s: the cluster has %s", name, cmp.Or(words.And(names), "none")),
		check.Observed("securitycontextconstraints", plan.OrNone(names), name),
		check.ByAdmin("Name an existing SCC, or omit --scc to create "+plan.SCCName+".", "oc get scc"))
}

// judge reports whether RDMA pods can run under an SCC of somebody else.
func (p *part) judge(scc cluster.SCC, ipcLock bool) {
	f := check.Finding{Check: SetupSCC, Subject: check.Named(check.SCC, scc.Name)}
	source := "SecurityContextConstraints/" + scc.Name
	if !scc.AllowsVolume("downwardAPI") {
		f.Status = check.Warn
		f.Summary = fmt.Sprintf("SCC %s does not allow downwardAPI volumes: "+
			"the network-resources-injector adds one to every pod with a network, and such pods are refused", scc.Name)
		f.Evidence = check.Observed(source+" volumes", plan.OrNone(scc.Volumes), "downwardAPI")
		f.Fix = check.ByAdmin("Allow them.", fmt.Sprintf(
			`oc patch scc %s --type=json -p '[{"op":"add","path":"/volumes/-","value":"downwardAPI"}]'`, scc.Name))
		p.Report(f)
	}
	if ipcLock && !scc.AllowsCapability(plan.CapIPCLock) {
		f.Status = check.Fail
		f.Summary = fmt.Sprintf("SCC %s does not allow IPC_LOCK, and Railhead does not change SCCs of others", scc.Name)
		f.Evidence = check.Observed(source+" allowedCapabilities",
			plan.OrNone(scc.AllowedCapabilities), plan.CapIPCLock)
		f.Fix = check.ByAdmin("Omit --scc, so that "+plan.SCCName+" is created with IPC_LOCK.",
			"railhead setup cluster --allow-ipc-lock")
		p.Report(f)
	}
	if scc.Privileged {
		p.Note("SCC %s allows privileged pods. RDMA does not need them, and they can open every HCA of the node.",
			scc.Name)
	}
}
