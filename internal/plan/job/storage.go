package job

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// VolumeUsable is the check of the claims that the pods mount.
const VolumeUsable check.ID = "volume-usable"

// claimNames returns the claims that the pods mount.
func (s Storage) claimNames() []string {
	var names []string
	for _, v := range s.Volumes {
		if v.Kind == ClaimVolume {
			names = append(names, v.Source)
		}
	}
	return names
}

// unbound reports whether the state of a claim depends on its storage class.
func (s Storage) unbound(state cluster.State, namespace string) bool {
	return slices.ContainsFunc(s.claimNames(), func(name string) bool {
		c, ok := state.VolumeClaim(namespace, name)
		return ok && c.Phase == "Pending"
	})
}

// claimsUsable checks the claims that the pods mount.
func (j *request) claimsUsable() {
	if claims := j.claimNames(); len(claims) > 0 && !j.s.Knows(cluster.VolumeClaims) {
		j.unknown(VolumeUsable, cluster.VolumeClaims,
			"whether the pods can mount "+words.And(claims)+" could not be read")
		return
	}
	for _, v := range j.Volumes {
		if v.Kind == ClaimVolume {
			j.checkClaim(v)
		}
	}
}

func (j *request) checkClaim(v Volume) {
	c, exists := j.s.VolumeClaim(j.Namespace, v.Source)
	switch {
	case !exists:
		var existing []string
		for _, c := range j.s.VolumeClaims {
			existing = append(existing, c.Name)
		}
		j.fail(VolumeUsable, j.claimRef(v.Source),
			fmt.Sprintf("namespace %s has no claim %s", j.Namespace, v.Source),
			evidence("persistentvolumeclaims of "+j.Namespace, plan.OrNone(existing), v.Source),
			check.ByUser(didYouMean(v.Source, existing, "Create it, or name an existing one."),
				"kubectl -n "+j.Namespace+" get persistentvolumeclaims"))
	case c.Block:
		j.claimUnusable(c, "is a device without a file system", "volumeMode", "Block", "Filesystem",
			"Use a claim with volumeMode Filesystem.")
	case !v.mountable(c.Modes, j.Nodes):
		j.wrongMode(c, v)
	default:
		j.checkBinding(c)
	}
}

// mountable reports whether that many pods on separate nodes can mount a volume with the access modes (k8s.io/api
// core/v1 PersistentVolumeAccessMode).
func (v Volume) mountable(modes []string, pods int) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		switch corev1.PersistentVolumeAccessMode(mode) {
		case corev1.ReadWriteMany:
			return true
		case corev1.ReadOnlyMany:
			return v.ReadOnly
		case corev1.ReadWriteOnce, corev1.ReadWriteOncePod:
			return pods == 1
		}
		return false
	})
}

// wrongMode refuses a claim that not all pods can mount.
func (j *request) wrongMode(c cluster.VolumeClaim, v Volume) {
	why, want := "can be mounted on one node only, but the pods run on "+words.Count(j.Nodes, "node"), "ReadWriteMany"
	fix := "Use a claim with access mode ReadWriteMany, or ReadOnlyMany and :ro for data that is only read, or one pod."
	if slices.Contains(c.Modes, "ReadOnlyMany") {
		why, want = "can be mounted read-only, but the pods mount it to write", "ReadWriteMany, or --volume ...:ro"
		fix = fmt.Sprintf("Add :ro: --volume %s=pvc:%s:%s:ro", v.Name, v.Source, v.Path)
	}
	j.claimUnusable(c, why, "access modes", strings.Join(c.Modes, ", "), want, fix)
}

func (j *request) claimUnusable(c cluster.VolumeClaim, why, source, got, want, fix string) {
	j.fail(VolumeUsable, j.claimRef(c.Name), fmt.Sprintf("claim %s %s", c.Name, why),
		evidence("persistentvolumeclaim/"+c.Name+" "+source, got, want),
		check.ByUser(fix, "kubectl -n "+j.Namespace+" get persistentvolumeclaims"))
}

// checkBinding warns if a claim has no volume, and a pod does not make it get one.
func (j *request) checkBinding(c cluster.VolumeClaim) {
	class, known := j.s.StorageClass(c.Class)
	status, summary := check.Warn, fmt.Sprintf("claim %s has no volume: the pods wait until it is bound", c.Name)
	switch {
	case c.Phase == "Bound", known && class.WaitsForPod:
		return
	case c.Phase == "Lost":
		status, summary = check.Fail, fmt.Sprintf("claim %s has lost its volume", c.Name)
	case c.Class != "" && !j.s.Knows(cluster.StorageClasses):
		j.unknown(VolumeUsable, cluster.StorageClasses,
			fmt.Sprintf("whether claim %s, which has no volume yet, gets one with the first pod could not be read",
				c.Name))
		return
	}
	j.Report(check.Finding{
		Check:    VolumeUsable,
		Status:   status,
		Subject:  j.claimRef(c.Name),
		Summary:  summary,
		Evidence: []check.Evidence{evidence("persistentvolumeclaim/"+c.Name+" status.phase", c.Phase, "Bound")},
		Fix: check.ByUser("See in its events why it is not bound.",
			fmt.Sprintf("kubectl -n %s describe persistentvolumeclaim %s", j.Namespace, c.Name)),
	})
}

func (j *request) claimRef(name string) check.Ref {
	return check.Ref{Kind: "persistentvolumeclaim", Namespace: j.Namespace, Name: name}
}

// requireVolumes checks whether the pods may have volumes that the ordinary SCCs and the stricter levels forbid
// (pod-security-admission policy/check_restrictedVolumes.go, check_hostPathVolumes.go), and pins an SCC that allows
// them. checkSCC checks one that is already pinned.
func (j *admission) requireVolumes() {
	for _, v := range j.Volumes {
		if !v.guarded() {
			continue
		}
		setting := v.sccKind() + " volumes"
		if v.Kind == HostVolume || j.level() == "restricted" {
			j.requireLevel(setting)
		}
		if !j.s.Server.OpenShift() || j.scc != "" {
			continue
		}
		if j.scc = j.granted(j.allowsVolumes); j.scc == "" {
			j.noSCC(setting,
				fmt.Sprintf("oc adm policy add-scc-to-user hostmount-anyuid -z %s -n %s", j.accountName(), j.Namespace))
		}
	}
}

func (j *admission) allowsVolumes(c cluster.SCC) bool {
	return !slices.ContainsFunc(j.volumeKinds(), func(kind string) bool { return !c.AllowsVolume(kind) })
}
