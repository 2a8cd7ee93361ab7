// Package access chooses the rights with which pods run.
package access

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/volume"
)

// Conditions for the rights of pods.
const (
	ServiceAccount check.ID = "service-account"
	PodMemlock     check.ID = "pod-memlock"
)

// Ways to let RDMA lock memory: the container runtime of the nodes lifts the limit, or the pods add a capability.
const (
	MemlockByNode    = "node"
	MemlockByIPCLock = "ipc-lock"
)

// Rights are the account and the privileges of the pods.
type Rights struct {
	ServiceAccount string // NAME-sa or railhead-sa, if it exists
	SCC            string // none is pinned, unless IPC_LOCK or --privileged needs one
	Privileged     bool
	Memlock        string // MemlockByNode, MemlockByIPCLock; chosen by the nodes' settings
	RunAsUser      *int64 // OpenShift's range, or the image's
}

// wantsSCC reports whether an SCC must allow what the user chose.
func (r Rights) wantsSCC() bool {
	return r.SCC != "" || r.RunAsUser != nil || r.Privileged || r.Memlock == MemlockByIPCLock
}

// Pods are the pods of a job whose rights are chosen.
type Pods struct {
	Rights
	Job         plan.Target
	Account     string         // empty: the default of the namespace
	RDMA        bool           // they have rails
	Nodes       []cluster.Node // can run them
	Volumes     []volume.Volume
	VolumeKinds []string // of their other volumes, as SCCs list them
}

// Access holds the rights of pods, and the fields by which pods ask for them.
type Access struct {
	Account   string // empty: the default of the namespace
	SCC       string // pinned; empty: OpenShift chooses
	IPCLock   bool   // the container that trains adds the capability
	NonRoot   bool   // they are certainly not root
	Pod       *corev1.PodSecurityContext
	Container *corev1.SecurityContext // of the container that trains
}

// admission is the decision about the rights of pods.
type admission struct {
	Pods
	draft   plan.Draft
	s       cluster.State
	level   string // of Pod Security, that the namespace enforces; empty: none
	scc     string // pinned; empty: OpenShift chooses
	ipcLock bool
}

// Needs returns the lists that must be read: the MachineConfigs if setup did not lift the memlock limit on the nodes,
// and the SCCs if the pods need one.
func Needs(s cluster.State, p Pods) []cluster.Kind {
	if !s.Server.OpenShift() {
		return nil
	}
	var kinds []cluster.Kind
	keepsLimit := func(n cluster.Node) bool { return !unlockedBySetup(s, n) }
	locked := p.RDMA && p.Memlock != MemlockByNode && slices.ContainsFunc(p.Nodes, keepsLimit)
	if locked && s.Server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.MachineConfigs)
	}
	if locked || p.wantsSCC() || slices.ContainsFunc(p.Volumes, volume.Volume.Guarded) {
		kinds = append(kinds, cluster.SCCs, cluster.SCCGrants)
	}
	return kinds
}

// Choose returns the least privileges with which the pods can lock memory on this cluster.
func Choose(s cluster.State, p Pods) (Access, plan.Draft) {
	namespace, _ := s.Namespace(p.Job.Namespace)
	a := admission{Pods: p, s: s, level: namespace.Labels[plan.EnforceLabel]}
	switch {
	case a.Privileged:
		a.requirePrivileged()
	case a.RDMA:
		a.memlock()
	case a.Memlock == MemlockByIPCLock:
		a.requireIPCLock()
	}
	user := a.RunAsUser
	if a.ipcLock && user != nil && *user != 0 {
		a.draft.Report(NotRoot(s.Server, a.Job, "the pods", "--run-as-user", strconv.FormatInt(*user, 10),
			"0, or none"))
	}
	a.scc = cmp.Or(a.scc, a.SCC)
	a.requireVolumes()
	a.requireUser()
	if s.Server.OpenShift() && a.scc != "" {
		a.checkSCC()
	}
	return Access{
		Account:   a.Account,
		SCC:       a.scc,
		IPCLock:   a.ipcLock,
		NonRoot:   a.noRoot() || user != nil && *user != 0,
		Pod:       a.podSecurity(),
		Container: a.security(),
	}, a.draft
}

// requireUser checks whether pods may run as the user of --run-as-user. checkSCC checks a pinned SCC.
func (a *admission) requireUser() {
	if a.RunAsUser == nil {
		return
	}
	if *a.RunAsUser == 0 && a.level == "restricted" {
		a.requireLevel("root")
	}
	allows := func(c cluster.SCC) bool { return allowsUser(a, c) }
	if !a.s.Server.OpenShift() || a.scc != "" || grantedSCC(a, allows) != "" {
		return
	}
	a.noSCC(fmt.Sprintf("user %d", *a.RunAsUser), grantCommand(a, "anyuid"))
}

// allowsUser reports whether the pods may run as their user under an SCC.
func allowsUser(a *admission, c cluster.SCC) bool {
	n, _ := a.s.Namespace(a.Job.Namespace)
	return a.RunAsUser == nil || c.AllowsUser(*a.RunAsUser, n)
}

// requirePrivileged checks whether privileged pods are admitted.
func (a *admission) requirePrivileged() {
	a.draft.Note("The pods are privileged: they can use every device of the node, " +
		"and a process that escapes is root on the node. RDMA does not need this.")
	a.requireLevel("privileged containers")
	if !a.s.Server.OpenShift() {
		return
	}
	a.scc = grantedSCC(a, func(c cluster.SCC) bool { return c.Privileged && c.RunAsUser == "RunAsAny" })
	if a.scc == "" && a.SCC == "" {
		a.noSCC("privileged containers", grantCommand(a, "privileged"))
	}
}

// Account chooses the account of a job's pods, unless the user chose one.
func Account(s cluster.State, job plan.Target, chosen string) (account string, d plan.Draft) {
	var existing []string
	for _, a := range s.ServiceAccounts {
		if a.Namespace == job.Namespace {
			existing = append(existing, a.Name)
		}
	}
	slices.Sort(existing)
	known, own := s.Knows(cluster.ServiceAccounts), job.Name+"-sa"
	switch {
	case chosen != "":
		account = chosen
		if known && !slices.Contains(existing, account) {
			d.Fail(ServiceAccount, accountRef(job, account),
				fmt.Sprintf("namespace %s has no service account %s", job.Namespace, account),
				check.Observed("serviceaccounts of "+job.Namespace, plan.OrNone(existing), account),
				check.ByAdmin("Set up the namespace; this creates the account.", job.SetUpCommand()))
		}
	case slices.Contains(existing, own):
		account = own
	case slices.Contains(existing, plan.DefaultJob+"-sa"):
		account = plan.DefaultJob + "-sa"
	case !known && s.Server.OpenShift():
		account = own
		d.Unknown(s, ServiceAccount, cluster.ServiceAccounts,
			fmt.Sprintf("whether namespace %s has service account %s is unknown", job.Namespace, own))
	}
	return account, d
}

func (a *admission) accountName() string { return cmp.Or(a.Account, "default") }

func (a *admission) accountRef() check.Ref { return accountRef(a.Job, a.accountName()) }

func accountRef(job plan.Target, account string) check.Ref {
	return check.Ref{Kind: check.ServiceAccount, Namespace: job.Namespace, Name: account}
}
