package namespace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// ComponentNamespace is the value of LabelComponent of the objects of `setup namespace`.
const ComponentNamespace = "namespace"

// Options are the flags of `railhead setup namespace`. The zero value of each field is its default.
type Options struct {
	Namespace    string
	Name         string   // of the job: railhead. The service account is NAME-sa
	SCC          string   // SCCName
	NetworksFrom string   // copy the rails of this namespace: SriovNetworks are made where the operator is there
	Networks     []string // only these, by the name of the attachment or of its resource
	IPAM         string   // JSON, for networks that no other of their resource shows the way
	AllowIPCLock bool     // plain Kubernetes: a new namespace lets pods add IPC_LOCK and be root
}

// Setup returns the plan that prepares a namespace for RDMA jobs, without settings that are in place already. With a
// finding that is Fail nothing may be written, and the plan is empty.
func Setup(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	o.Name, o.SCC = cmp.Or(o.Name, plan.DefaultJob), cmp.Or(o.SCC, plan.SCCName)
	b := &namespace{s: s, o: o}
	if b.request(); check.Worst(b.findings) == check.Fail {
		return plan.Plan{}, b.findings
	}
	access := b.access()
	networks := b.networks()
	if check.Worst(b.findings) == check.Fail {
		return plan.Plan{}, b.findings
	}
	var steps []plan.Step
	if len(access) > 0 {
		steps = append(steps, plan.Step{
			ID:      "access",
			Title:   "Make the service account " + b.account() + " and what it needs",
			Changes: access,
		})
	}
	if len(networks.Changes) > 0 {
		steps = append(steps, networks)
	}
	b.noteRails()
	return plan.Plan{
		Title: "Set up namespace " + o.Namespace + " for RDMA jobs",
		Steps: steps,
		Notes: b.notes,
	}, b.findings
}

// namespace gathers the plan of a namespace.
type namespace struct {
	s        cluster.State
	o        Options
	findings []check.Finding
	notes    []string
	made     []cluster.Network // attachments that there will be
	moving   []string          // those that are made with the rdma plugin, because their nodes' mode is exclusive
}

func (b *namespace) say(f check.Finding) { b.findings = append(b.findings, f) }

func (b *namespace) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

func (b *namespace) account() string { return b.o.Name + "-sa" }

// request judges the names and the namespace itself.
func (b *namespace) request() {
	for _, field := range [][2]string{{"NAMESPACE", b.o.Namespace}, {"--name", b.o.Name}} {
		if errs := validation.IsDNS1123Label(field[1]); len(errs) > 0 {
			b.say(check.Finding{
				Check: plan.JobRequest, Status: check.Fail, Subject: check.Named(check.Namespace, b.o.Namespace),
				Summary: fmt.Sprintf(
					"%s is %q, and must be a DNS label: small letters, digits and -", field[0], field[1],
				),
				Evidence: []check.Evidence{{Source: field[0], Got: cmp.Or(field[1], "none"), Want: errs[0]}},
				Fix:      &check.Fix{Text: "Take such a name.", Who: check.User},
			})
		}
	}
	if n, _ := b.s.Namespace(b.o.Namespace); n.Terminating {
		b.say(check.Finding{
			Check: plan.NamespaceReady, Status: check.Fail, Subject: check.Named(check.Namespace, b.o.Namespace),
			Summary:  "namespace " + b.o.Namespace + " is being deleted: nothing can be made in it",
			Evidence: []check.Evidence{{Source: "status.phase", Got: "Terminating", Want: "Active"}},
			Fix: &check.Fix{
				Text:     "Wait until it is gone, then run this again.",
				Who:      check.User,
				Commands: []string{"kubectl get namespace " + b.o.Namespace + " -o yaml"},
			},
		})
	}
	if b.s.Server.OpenShift() {
		b.scc()
	}
}

// scc judges the SCC that the account is to use.
func (b *namespace) scc() {
	if _, ok := b.s.SCC(b.o.SCC); ok || !b.s.Knows(cluster.SCCs) {
		return
	}
	command := "railhead setup cluster"
	if b.o.SCC != plan.SCCName {
		command = "oc get scc"
	}
	b.say(check.Finding{
		Check: plan.SCCUsable, Status: check.Fail, Subject: check.Named(check.SCC, b.o.SCC),
		Summary:  "there is no SCC " + b.o.SCC,
		Evidence: []check.Evidence{{Source: "securitycontextconstraints", Got: "not there", Want: b.o.SCC}},
		Fix: &check.Fix{
			Text:     "Set the cluster up, which makes it, or name one that is there with --scc.",
			Who:      check.Admin,
			Commands: []string{command},
		},
	})
}

func (b *namespace) labels() map[string]any {
	return map[string]any{
		plan.LabelManagedBy: plan.ManagedBy,
		plan.LabelName:      plan.ProgramName,
		plan.LabelInstance:  b.o.Name,
		plan.LabelComponent: ComponentNamespace,
	}
}

func (b *namespace) object(apiVersion, kind, name string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion,
		"kind":       kind,
		"metadata":   map[string]any{"name": name, "namespace": b.o.Namespace, "labels": b.labels()},
	}}
}

// access makes the namespace, the service account and its right to use the SCC.
func (b *namespace) access() []plan.Change {
	var changes []plan.Change
	live, there := b.s.Namespace(b.o.Namespace)
	switch {
	case there:
		b.levels(live)
	case b.s.Knows(cluster.Namespaces):
		changes = append(changes, b.newNamespace())
	default:
		b.note("Whether namespace %s is there could not be read: it is taken to be.", b.o.Namespace)
	}
	account := cluster.ServiceAccount{Namespace: b.o.Namespace, Name: b.account()}
	if !slices.Contains(b.s.ServiceAccounts, account) {
		changes = append(changes, plan.ApplyUnlessCovered(
			b.s, b.object("v1", "ServiceAccount", b.account()), "pods run under it",
		)...)
	}
	if b.s.Server.OpenShift() {
		changes = append(changes, b.grant()...)
	}
	return changes
}

// newNamespace is the namespace. Outside OpenShift, which holds pods to SCCs, it names a Pod Security level: baseline
// lets images run as root, as most training images do, and nothing that reaches the node; IPC_LOCK is not among what it
// allows (pod-security-admission policy/check_capabilities_baseline.go).
func (b *namespace) newNamespace() plan.Change {
	labels := b.labels()
	if !b.s.Server.OpenShift() {
		labels[plan.EnforceLabel] = "baseline"
		if b.o.AllowIPCLock {
			labels[plan.EnforceLabel] = "privileged"
			b.note(
				"Namespace %s enforces no Pod Security level, because the pods add IPC_LOCK: whoever may make pods in it may make privileged ones.",
				b.o.Namespace,
			)
		} else {
			b.note(
				"Namespace %s enforces Pod Security level baseline: the nodes must unlock memory by themselves. Otherwise give --allow-ipc-lock.",
				b.o.Namespace,
			)
		}
	}
	return plan.Change{
		Verb: plan.Apply,
		Why:  "is not there yet",
		Object: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Namespace",
			"metadata":   map[string]any{"name": b.o.Namespace, "labels": labels},
		}},
	}
}

// levels judges the Pod Security level of a namespace that is there. It is never loosened on the way.
func (b *namespace) levels(live cluster.Namespace) {
	level := live.Labels[plan.EnforceLabel]
	if b.s.Server.OpenShift() || !b.o.AllowIPCLock || level == "" || level == "privileged" {
		return
	}
	b.say(check.Finding{
		Check: pods.PodSecurity, Status: check.Fail, Subject: check.Named(check.Namespace, live.Name),
		Summary:  fmt.Sprintf("namespace %s enforces Pod Security level %s, which forbids IPC_LOCK", live.Name, level),
		Evidence: []check.Evidence{{Source: "label " + plan.EnforceLabel, Got: level, Want: "privileged"}},
		Fix: &check.Fix{
			Text: "Change the level, if all who make pods in the namespace may have that right.",
			Who:  check.Admin,
			Commands: []string{
				fmt.Sprintf("kubectl label --overwrite namespace %s %s=privileged", live.Name, plan.EnforceLabel),
			},
		},
	})
}

// grant binds the account to the SCC in this namespace alone. The binding has a name of its own: that of `oc adm
// policy` may hold others' subjects, which an apply would replace.
func (b *namespace) grant() []plan.Change {
	if grants := b.s.GrantsTo(b.o.SCC, b.o.Namespace, b.account()); len(grants) > 0 {
		b.note("Service account %s may use SCC %s already, by %s.", b.account(), b.o.SCC, grants[0].By)
		return nil
	}
	name := b.account() + "-scc-" + b.o.SCC
	var changes []plan.Change
	role := map[string]any{
		"apiGroup": "rbac.authorization.k8s.io",
		"kind":     "ClusterRole",
		"name":     plan.SCCRole(b.o.SCC),
	}
	if b.o.SCC != plan.SCCName && !slices.Contains(standardSCCs, b.o.SCC) {
		own := b.object("rbac.authorization.k8s.io/v1", "Role", name)
		own.Object["rules"] = plan.SCCRules(b.o.SCC)
		role["kind"], role["name"] = "Role", name
		changes = plan.ApplyUnlessCovered(
			b.s, own, "is the right to use SCC "+b.o.SCC+", which not every SCC has a cluster role for",
		)
	}
	binding := b.object("rbac.authorization.k8s.io/v1", "RoleBinding", name)
	binding.Object["roleRef"] = role
	binding.Object["subjects"] = []any{
		map[string]any{"kind": "ServiceAccount", "name": b.account(), "namespace": b.o.Namespace},
	}
	return append(changes, plan.ApplyUnlessCovered(
		b.s, binding, "lets "+b.account()+" use SCC "+b.o.SCC+" in this namespace only",
	)...)
}

// standardSCCs are OpenShift's own, which have their cluster roles (openshift/cluster-kube-apiserver-operator
// bindata/bootkube/scc-manifests).
var standardSCCs = []string{
	"anyuid", "hostaccess", "hostmount-anyuid", "hostmount-anyuid-v2", "hostnetwork", "hostnetwork-v2",
	"nested-container", "nonroot", "nonroot-v2", "privileged", "restricted", "restricted-v2", "restricted-v3",
}

// noteRails says which rails the namespace has, or will have.
func (b *namespace) noteRails() {
	after := b.s
	after.Networks = append(slices.Clone(b.s.Networks), b.made...)
	var rails []string
	for _, r := range after.UsableRails(b.o.Namespace) {
		where := "nodes not known"
		if b.s.Knows(cluster.Nodes) {
			where = words.Count(len(r.Nodes()), "node")
		}
		rails = append(rails, fmt.Sprintf("%s (%s, %s)", r.Network, r.Resource, where))
	}
	switch {
	case len(rails) == 0:
		b.note("Namespace %s has no rail: jobs in it train over TCP.", b.o.Namespace)
	default:
		b.note("Rails of namespace %s: %s.", b.o.Namespace, strings.Join(rails, ", "))
	}
	for _, r := range after.Rails(b.o.Namespace) {
		if r.RDMA && !r.Usable() {
			b.note("%s is no rail: %s.", r.Network, r.Reason)
		}
	}
}

// chosen reports whether a network is among those that are asked for.
func (b *namespace) chosen(names ...string) bool {
	return len(b.o.Networks) == 0 || slices.ContainsFunc(
		names, func(name string) bool { return slices.Contains(b.o.Networks, name) },
	)
}

// rdmaPool is one RDMA resource that the SR-IOV operator makes.
type rdmaPool struct {
	policy cluster.SriovPolicy
	ib     bool
}

// rdmaPools are the RDMA resources of the operator's policies, by name.
func (b *namespace) rdmaPools() []rdmaPool {
	byName := map[string]rdmaPool{}
	for _, p := range b.s.SriovPolicies {
		if _, there := byName[p.ResourceName]; p.RDMA && p.DeviceType != "vfio-pci" && !there {
			byName[p.ResourceName] = rdmaPool{policy: p, ib: b.infiniBand(p)}
		}
	}
	var pools []rdmaPool
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if b.chosen(name) || len(b.o.Networks) > 0 && b.chosen(b.networkName(name)) {
			pools = append(pools, byName[name])
		}
	}
	return pools
}

// infiniBand reports whether a policy's NICs are InfiniBand: it says so, or the nodes do.
func (b *namespace) infiniBand(p cluster.SriovPolicy) bool {
	if p.LinkType != "" {
		return strings.EqualFold(p.LinkType, "IB")
	}
	for _, n := range b.s.SriovNodes {
		for _, i := range n.Interfaces {
			if i.LinkType == "IB" && slices.ContainsFunc(
				p.PFs, func(pf string) bool { name, _, _ := strings.Cut(pf, "#"); return name == i.Name },
			) {
				return true
			}
		}
	}
	return false
}
