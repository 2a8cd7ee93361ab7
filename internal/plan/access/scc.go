package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/words"
)

// RequiredSCC is an annotation of a pod that names the only SCC which may admit it.
const RequiredSCC = "openshift.io/required-scc"

// grantedSCCs returns the SCCs that the account of the pods may use, sorted.
func grantedSCCs(a *admission) []string {
	var names []string
	for _, c := range a.s.SCCs {
		if mayUse(a, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

func mayUse(a *admission, scc string) bool {
	return len(a.s.GrantsTo(scc, a.Job.Namespace, a.accountName())) > 0
}

func (a *admission) sccsKnown() bool { return a.s.Knows(cluster.SCCs) && a.s.Knows(cluster.SCCGrants) }

// grantedSCC returns a fitting SCC that the account may use, Railhead's own first; --scc allows only its own, granted
// or not.
func grantedSCC(a *admission, fits func(cluster.SCC) bool) string {
	names := grantedSCCs(a)
	if a.SCC != "" {
		names = []string{a.SCC}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		c, ok := a.s.SCC(name)
		return !ok || !fits(c)
	})
	switch {
	case slices.Contains(names, plan.SCCName):
		return plan.SCCName
	case len(names) > 0:
		return names[0]
	}
	return ""
}

// grantCommand returns the command that lets the account use an SCC, in its namespace only.
func grantCommand(a *admission, scc string) string {
	return fmt.Sprintf("oc adm policy add-scc-to-user %s -z %s -n %s", scc, a.accountName(), a.Job.Namespace)
}

// noSCC fails because the account may use no SCC that allows a setting.
func (a *admission) noSCC(setting, command string) {
	if !a.sccsKnown() {
		kind := cluster.SCCs
		if a.s.Knows(kind) {
			kind = cluster.SCCGrants
		}
		a.draft.Unknown(a.s, plan.SCCUsable, kind, fmt.Sprintf(
			"whether service account %s may use an SCC that allows %s could not be read", a.accountName(), setting))
		return
	}
	a.draft.Fail(plan.SCCUsable, a.accountRef(),
		fmt.Sprintf("service account %s may use no SCC that allows %s", a.accountName(), setting),
		check.Observed("SCCs granted to "+a.accountName(), plan.OrNone(grantedSCCs(a)), "one that allows "+setting),
		check.ByAdmin("Let the service account use one, in this namespace only.", command))
}

// checkSCC checks that the pinned SCC exists, that the account may use it, and that it allows the settings of the pods.
func (a *admission) checkSCC() {
	subject := check.Named(check.SCC, a.scc)
	switch scc, ok := a.s.SCC(a.scc); {
	case !a.s.Knows(cluster.SCCs):
		a.draft.Unknown(a.s, plan.SCCUsable, cluster.SCCs, "what SCC "+a.scc+" allows could not be read")
	case !ok:
		a.draft.Fail(plan.SCCUsable, subject, "SCC "+a.scc+" does not exist",
			check.Observed("securitycontextconstraints", "not found", a.scc),
			check.ByAdmin("Create it, or choose an existing one.", "railhead setup cluster", "oc get scc"))
		return
	default:
		a.checkAllowed(scc)
	}
	switch {
	case mayUse(a, a.scc):
	case !a.s.Knows(cluster.SCCGrants):
		a.draft.Unknown(a.s, plan.SCCUsable, cluster.SCCGrants,
			fmt.Sprintf("whether service account %s may use SCC %s could not be read", a.accountName(), a.scc))
	default:
		a.draft.Fail(plan.SCCUsable, subject,
			fmt.Sprintf("service account %s of namespace %s may not use SCC %s",
				a.accountName(), a.Job.Namespace, a.scc),
			check.Observed("SCCs granted to "+a.accountName(), plan.OrNone(grantedSCCs(a)), a.scc),
			check.ByAdmin("Bind the account to it in this namespace.", a.Job.SetUpCommand()))
	}
}

// checkAllowed fails if an SCC does not allow the settings of the pods.
func (a *admission) checkAllowed(c cluster.SCC) {
	var missing []string
	for _, kind := range volumeKindsOf(a) {
		if !c.AllowsVolume(kind) {
			missing = append(missing, kind+" volumes")
		}
	}
	if a.ipcLock && !allowsIPCLock(c) {
		missing = append(missing, "IPC_LOCK as root")
	}
	if a.Privileged && !c.Privileged {
		missing = append(missing, "privileged containers")
	}
	if !allowsUser(a, c) {
		missing = append(missing, fmt.Sprintf("user %d", *a.RunAsUser))
	}
	if len(missing) == 0 {
		return
	}
	a.draft.Fail(plan.SCCUsable, check.Named(check.SCC, c.Name),
		fmt.Sprintf("SCC %s does not allow %s, which the pods need", c.Name, words.And(missing)),
		check.Observed("scc/"+c.Name,
			fmt.Sprintf("volumes %s; capabilities %s; runAsUser %s",
				plan.OrNone(c.Volumes), plan.OrNone(c.AllowedCapabilities), cmp.Or(c.RunAsUser, "none")),
			strings.Join(missing, ", ")),
		otherSCC(a, c))
}

// otherSCC returns the way to an SCC that allows what c does not.
func otherSCC(a *admission, c cluster.SCC) *check.Fix {
	other := ""
	switch {
	case a.Privileged && !c.Privileged:
		other = "privileged"
	case !allowsUser(a, c):
		other = "anyuid"
	case c.Name == plan.SCCName && a.ipcLock && !allowsIPCLock(c):
		return check.ByAdmin("Let the SCC allow it.", "railhead setup cluster --allow-ipc-lock")
	default:
		return check.ByAdmin("Use an SCC that allows them.", "railhead setup cluster", a.Job.SetUpCommand())
	}
	return check.ByAdmin("Let the service account use another SCC, in this namespace only, and name that.",
		grantCommand(a, other), a.Job.CommandWith("--scc "+other))
}

// volumeKindsOf returns the kinds of the pods' volumes; the network-resources-injector adds one of kind downwardAPI.
func volumeKindsOf(a *admission) []string {
	kinds := append(slices.Clone(a.VolumeKinds), "emptyDir") // of /dev/shm
	for _, v := range a.Volumes {
		kinds = append(kinds, v.SCCKind())
	}
	if a.RDMA {
		kinds = append(kinds, "downwardAPI")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// requireVolumes checks whether the pods may have volumes that the ordinary SCCs and the stricter levels forbid
// (pod-security-admission policy/check_restrictedVolumes.go, check_hostPathVolumes.go), and pins an SCC that allows
// them. checkSCC checks one that is already pinned.
func (a *admission) requireVolumes() {
	for _, v := range a.Volumes {
		if !v.Guarded() {
			continue
		}
		setting := v.SCCKind() + " volumes"
		if v.Kind == volume.Host || a.level == "restricted" {
			a.requireLevel(setting)
		}
		if !a.s.Server.OpenShift() || a.scc != "" {
			continue
		}
		if a.scc = grantedSCC(a, func(c cluster.SCC) bool { return allowsVolumes(a, c) }); a.scc == "" {
			a.noSCC(setting, grantCommand(a, "hostmount-anyuid"))
		}
	}
}

func allowsVolumes(a *admission, c cluster.SCC) bool {
	return !slices.ContainsFunc(volumeKindsOf(a), func(kind string) bool { return !c.AllowsVolume(kind) })
}
