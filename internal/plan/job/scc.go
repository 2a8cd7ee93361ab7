package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// requiredSCC is an annotation of a pod that names the only SCC which may admit it.
const requiredSCC = "openshift.io/required-scc"

// grantedSCCs returns the SCCs that the account of the pods may use, sorted.
func (j *admission) grantedSCCs() []string {
	var names []string
	for _, c := range j.s.SCCs {
		if j.mayUse(c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (j *admission) mayUse(scc string) bool {
	return len(j.s.GrantsTo(scc, j.Namespace, j.accountName())) > 0
}

func (j *admission) sccsKnown() bool { return j.s.Knows(cluster.SCCs) && j.s.Knows(cluster.SCCGrants) }

// granted returns a fitting SCC that the account may use, Railhead's own first; --scc allows only its own, granted or
// not.
func (j *admission) granted(fits func(cluster.SCC) bool) string {
	names := j.grantedSCCs()
	if j.SCC != "" {
		names = []string{j.SCC}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		c, ok := j.s.SCC(name)
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

// noSCC fails because the account may use no SCC that allows a setting.
func (j *admission) noSCC(setting, command string) {
	if !j.sccsKnown() {
		kind := cluster.SCCs
		if j.s.Knows(kind) {
			kind = cluster.SCCGrants
		}
		j.Unknown(j.s, plan.SCCUsable, kind, fmt.Sprintf(
			"whether service account %s may use an SCC that allows %s could not be read", j.accountName(), setting))
		return
	}
	j.Fail(plan.SCCUsable, j.accountRef(),
		fmt.Sprintf("service account %s may use no SCC that allows %s", j.accountName(), setting),
		check.Observed("SCCs granted to "+j.accountName(), plan.OrNone(j.grantedSCCs()), "one that allows "+setting),
		check.ByAdmin("Let the service account use one, in this namespace only.", command))
}

// checkSCC checks that the pinned SCC exists, that the account may use it, and that it allows the settings of the pods.
func (j *admission) checkSCC() {
	subject := check.Named(check.SCC, j.scc)
	switch scc, ok := j.s.SCC(j.scc); {
	case !j.s.Knows(cluster.SCCs):
		j.Unknown(j.s, plan.SCCUsable, cluster.SCCs, "what SCC "+j.scc+" allows could not be read")
	case !ok:
		j.Fail(plan.SCCUsable, subject, "SCC "+j.scc+" does not exist",
			check.Observed("securitycontextconstraints", "not found", j.scc),
			check.ByAdmin("Create it, or choose an existing one.", "railhead setup cluster", "oc get scc"))
		return
	default:
		j.checkAllowed(scc)
	}
	switch {
	case j.mayUse(j.scc):
	case !j.s.Knows(cluster.SCCGrants):
		j.Unknown(j.s, plan.SCCUsable, cluster.SCCGrants,
			fmt.Sprintf("whether service account %s may use SCC %s could not be read", j.accountName(), j.scc))
	default:
		j.Fail(plan.SCCUsable, subject,
			fmt.Sprintf("service account %s of namespace %s may not use SCC %s", j.accountName(), j.Namespace, j.scc),
			check.Observed("SCCs granted to "+j.accountName(), plan.OrNone(j.grantedSCCs()), j.scc),
			check.ByAdmin("Bind the account to it in this namespace.", j.target().SetUpCommand()))
	}
}

// checkAllowed fails if an SCC does not allow the settings of the pods.
func (j *admission) checkAllowed(c cluster.SCC) {
	var missing []string
	for _, kind := range j.volumeKinds() {
		if !c.AllowsVolume(kind) {
			missing = append(missing, kind+" volumes")
		}
	}
	if j.ipcLock && !allowsIPCLock(c) {
		missing = append(missing, "IPC_LOCK as root")
	}
	if j.Privileged && !c.Privileged {
		missing = append(missing, "privileged containers")
	}
	if !j.allowsUser(c) {
		missing = append(missing, fmt.Sprintf("user %d", *j.RunAsUser))
	}
	if len(missing) == 0 {
		return
	}
	j.Fail(plan.SCCUsable, check.Named(check.SCC, c.Name),
		fmt.Sprintf("SCC %s does not allow %s, which the pods need", c.Name, words.And(missing)),
		check.Observed("scc/"+c.Name,
			fmt.Sprintf("volumes %s; capabilities %s; runAsUser %s",
				plan.OrNone(c.Volumes), plan.OrNone(c.AllowedCapabilities), cmp.Or(c.RunAsUser, "none")),
			strings.Join(missing, ", ")),
		j.otherSCC(c))
}

// otherSCC returns the way to an SCC that allows what c does not.
func (j *admission) otherSCC(c cluster.SCC) *check.Fix {
	other := ""
	switch {
	case j.Privileged && !c.Privileged:
		other = "privileged"
	case !j.allowsUser(c):
		other = "anyuid"
	case c.Name == plan.SCCName && j.ipcLock && !allowsIPCLock(c):
		return check.ByAdmin("Let the SCC allow it.", "railhead setup cluster --allow-ipc-lock")
	default:
		return check.ByAdmin("Use an SCC that allows them.", "railhead setup cluster", j.target().SetUpCommand())
	}
	return check.ByAdmin("Let the service account use another SCC, in this namespace only, and name that.",
		fmt.Sprintf("oc adm policy add-scc-to-user %s -z %s -n %s", other, j.accountName(), j.Namespace),
		j.target().CommandWith("--scc "+other))
}

// volumeKinds returns the kinds of the pods' volumes; the network-resources-injector adds one of kind downwardAPI.
func (j *admission) volumeKinds() []string {
	kinds := append(j.delivery().VolumeKinds(), "emptyDir") // of /dev/shm
	kinds = append(kinds, j.mounted...)
	for _, v := range j.Volumes {
		kinds = append(kinds, v.SCCKind())
	}
	if j.Script != nil {
		kinds = append(kinds, "configMap")
	}
	if len(j.rails) > 0 {
		kinds = append(kinds, "downwardAPI")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
