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

// granted is the SCC among those that the pods' account may use, or the one that is asked for; Railhead's own before
// others.
func (j *admission) granted(fits func(cluster.SCC) bool) string {
	var names []string
	for _, c := range j.s.SCCs {
		if fits(c) && (j.o.SCC == "" || j.o.SCC == c.Name) && (c.Name == j.o.SCC || len(j.s.GrantsTo(
			c.Name, j.o.Namespace, j.accountName(),
		)) > 0) {
			names = append(names, c.Name)
		}
	}
	if slices.Contains(names, plan.SCCName) {
		return plan.SCCName
	}
	slices.Sort(names)
	return strings.Join(names[:min(len(names), 1)], "")
}

// noSCC says that no SCC which the account may use allows something.
func (j *admission) noSCC(what, command string) {
	if !j.s.Knows(cluster.SCCs) || !j.s.Knows(cluster.SCCGrants) {
		kind := cluster.SCCs
		if j.s.Knows(kind) {
			kind = cluster.SCCGrants
		}
		j.unknown(
			plan.SCCUsable, kind,
			fmt.Sprintf(
				"whether service account %s may use an SCC that allows %s could not be read", j.accountName(), what,
			),
		)
		return
	}
	j.fail(plan.SCCUsable, check.Ref{
		Kind:      check.ServiceAccount,
		Namespace: j.o.Namespace,
		Name:      j.accountName(),
	}, fmt.Sprintf("service account %s may use no SCC that allows %s", j.accountName(), what),
		check.Evidence{
			Source: "SCCs granted to " + j.accountName(),
			Got:    cmp.Or(strings.Join(j.grantedSCCs(), ", "), "none"),
			Want:   "one that allows " + what,
		},
		check.Fix{
			Text:     "Let the service account use one, in this namespace only.",
			Who:      check.Admin,
			Commands: []string{command},
		})
}

func (j *admission) grantedSCCs() []string {
	var names []string
	for _, c := range j.s.SCCs {
		if len(j.s.GrantsTo(c.Name, j.o.Namespace, j.accountName())) > 0 {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// usable judges the SCC that is pinned: it is there, the account may use it, and it allows what the pods have.
func (j *admission) usable() {
	subject := check.Named(check.SCC, j.scc)
	if !j.s.Knows(cluster.SCCs) {
		j.unknown(plan.SCCUsable, cluster.SCCs, "what SCC "+j.scc+" allows could not be read")
	} else if scc, ok := j.s.SCC(j.scc); !ok {
		j.fail(plan.SCCUsable, subject, "there is no SCC "+j.scc, check.Evidence{
			Source: "securitycontextconstraints",
			Got:    "not there",
			Want:   j.scc,
		},
			check.Fix{
				Text:     "Make it, or name one that is there.",
				Who:      check.Admin,
				Commands: []string{"railhead setup cluster", "oc get scc"},
			})
		return
	} else {
		j.allows(scc)
	}
	switch {
	case len(j.s.GrantsTo(j.scc, j.o.Namespace, j.accountName())) > 0:
	case !j.s.Knows(cluster.SCCGrants):
		j.unknown(
			plan.SCCUsable, cluster.SCCGrants,
			fmt.Sprintf("whether service account %s may use SCC %s could not be read", j.accountName(), j.scc),
		)
	default:
		j.fail(plan.SCCUsable, subject, fmt.Sprintf(
			"service account %s of namespace %s may not use SCC %s", j.accountName(), j.o.Namespace, j.scc,
		),
			check.Evidence{
				Source: "SCCs granted to " + j.accountName(),
				Got:    cmp.Or(strings.Join(j.grantedSCCs(), ", "), "none"),
				Want:   j.scc,
			},
			check.Fix{
				Text:     "Bind the account to it in this namespace.",
				Who:      check.Admin,
				Commands: []string{j.setUp()},
			})
	}
}

// allows compares the pods with an SCC.
func (j *admission) allows(c cluster.SCC) {
	var lacks []string
	for _, kind := range j.volumeKinds() {
		if !c.AllowsVolume(kind) {
			lacks = append(lacks, kind+" volumes")
		}
	}
	if j.ipcLock && !locks(c) {
		lacks = append(lacks, "IPC_LOCK as root")
	}
	if j.o.Privileged && !c.Privileged {
		lacks = append(lacks, "privileged containers")
	}
	if len(lacks) > 0 {
		j.fail(plan.SCCUsable, check.Named(
			check.SCC, c.Name,
		), fmt.Sprintf("SCC %s does not allow %s of the pods", c.Name, words.And(lacks)),
			check.Evidence{
				Source: "scc/" + c.Name,
				Got: fmt.Sprintf(
					"volumes %s; capabilities %s; runAsUser %s", cmp.Or(strings.Join(c.Volumes, ", "), "none"),
					cmp.Or(strings.Join(c.AllowedCapabilities, ", "), "none"), cmp.Or(c.RunAsUser, "none"),
				),
				Want: strings.Join(lacks, ", "),
			},
			check.Fix{
				Text:     "Use an SCC that does.",
				Who:      check.Admin,
				Commands: []string{"railhead setup cluster", j.setUp()},
			})
	}
}

// volumeKinds are the kinds of volumes of the pods; the network-resources-injector adds one of kind downwardAPI.
func (j *admission) volumeKinds() []string {
	kinds := append(j.delivery().kinds(), "emptyDir") // of /dev/shm
	if j.o.Script != nil {
		kinds = append(kinds, "configMap")
	}
	if len(j.rails) > 0 {
		kinds = append(kinds, "downwardAPI")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
