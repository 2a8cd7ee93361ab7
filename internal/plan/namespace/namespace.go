package namespace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/words"
)

// ComponentNamespace is the value of LabelComponent of the objects of `setup namespace`.
const ComponentNamespace = "namespace"

// Options are the flags of `railhead setup namespace`. The zero value of each field is its default.
type Options struct {
	Namespace    string
	Name         string             // of the job: railhead. The service account is NAME-sa
	SCC          string             // plan.SCCName
	NetworksFrom string             // copy the rails of this namespace
	Networks     []string           // only these, by the name of the attachment or of its resource
	IPAM         string             // JSON; empty: another network of the resource has it
	Programs     []delivery.Program // railhead-pod by architecture; nil: jobs deliver it
	RailSubnets  []netip.Prefix     // one for each rail, or one that is cut into as many
	Users        []string           // groups, and user:NAME, that run jobs
	AllowIPCLock bool               // plain Kubernetes: a new namespace lets pods add IPC_LOCK and be root
}

func (o Options) account() string { return o.Name + "-sa" }

func (o Options) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: plan.Labels(ComponentNamespace, o.Name)}
}

// Setup returns the plan that prepares a namespace for RDMA jobs, without settings that are in place already. If a
// finding is Fail, nothing may be written and the plan is empty.
func Setup(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	o.Name, o.SCC = cmp.Or(o.Name, plan.DefaultJob), cmp.Or(o.SCC, plan.SCCName)
	d := &draft{Options: o, s: s}
	d.plan.Report(refusals(s, o)...)
	if d.plan.Failed() {
		return plan.Plan{}, d.plan.Findings
	}
	access := plan.Step{ID: "access", Title: "Set up the service account " + o.account(), Changes: d.access()}
	networks, users := d.networks(), d.users()
	if d.plan.Failed() {
		return plan.Plan{}, d.plan.Findings
	}
	var classes plan.Step
	if claimsRails(d) {
		classes = d.classes()
	} else {
		d.noteRails()
	}
	program := o.delivery(s)
	// networks last: only that step waits
	return plan.Plan{
		Title: "Set up namespace " + o.Namespace + " for RDMA jobs",
		Steps: slices.DeleteFunc([]plan.Step{access, program, classes, users, networks}, func(s plan.Step) bool {
			return len(s.Changes) == 0
		}),
		Notes: d.plan.Notes,
	}, d.plan.Findings
}

// delivery puts railhead-pod for the nodes with GPUs, or for all nodes if none shows a GPU, into the namespace, so that
// manifests need only name it.
func (o Options) delivery(s cluster.State) plan.Step {
	nodes := slices.DeleteFunc(slices.Clone(s.Nodes), func(n cluster.Node) bool {
		_, gpus := n.GPUs()
		return gpus == 0
	})
	if len(nodes) == 0 {
		nodes = s.Nodes
	}
	programs, _ := delivery.Needed(o.Programs, nodes) // a node without a program cannot run jobs of ConfigMaps
	d := delivery.Delivery{Programs: programs}
	return d.Step(s, o.Namespace, delivery.Kept())
}

// draft collects the plan of a namespace.
type draft struct {
	Options
	plan    plan.Draft
	s       cluster.State
	planned []cluster.Network // attachments that will exist
	// oneSubnet: all rails get the same --ipam, and answer only for their own addresses
	oneSubnet bool
	chained   []string // those that get the rdma plugin, because their nodes' RDMA mode is exclusive
}

// refusals judges the names, the namespace itself and the SCC.
func refusals(s cluster.State, o Options) []check.Finding {
	subject := check.Named(check.Namespace, o.Namespace)
	var findings []check.Finding
	for _, field := range [][2]string{{"NAMESPACE", o.Namespace}, {"--name", o.Name}} {
		if errs := validation.IsDNS1123Label(field[1]); len(errs) > 0 {
			findings = append(findings, plan.Failure(plan.JobRequest, subject,
				fmt.Sprintf("%s is %q, but must be a DNS label: lower-case letters, digits and -",
					field[0], field[1]),
				check.Observed(field[0], cmp.Or(field[1], "none"), errs[0]), check.ByUser("Choose such a name.")))
		}
	}
	if n, _ := s.Namespace(o.Namespace); n.Terminating {
		findings = append(findings, plan.Failure(plan.NamespaceReady, subject,
			"namespace "+o.Namespace+" is being deleted: nothing can be created in it",
			check.Observed("status.phase", "Terminating", "Active"),
			check.ByUser("Wait until it is gone, then run this again.",
				"kubectl get namespace "+o.Namespace+" -o yaml")))
	}
	if _, exists := s.SCC(o.SCC); s.Server.OpenShift() && s.Knows(cluster.SCCs) && !exists {
		command := "railhead setup cluster"
		if o.SCC != plan.SCCName {
			command = "oc get scc"
		}
		findings = append(findings, plan.Failure(plan.SCCUsable, check.Named(check.SCC, o.SCC),
			"there is no SCC "+o.SCC, check.Observed("securitycontextconstraints", "not found", o.SCC),
			check.ByAdmin("Set up the cluster to create it, or name an existing SCC with --scc.", command)))
	}
	return findings
}

// resourcesOf lists the resources of rails with their numbers: "8 rdma/ib".
func resourcesOf(rails []cluster.Rail) string {
	var names []string
	count := map[string]int64{}
	for _, r := range rails {
		if count[r.Resource]++; count[r.Resource] == 1 {
			names = append(names, r.Resource)
		}
	}
	for i, name := range names {
		names[i] = cluster.Quantity(name, count[name])
	}
	return words.And(names)
}

// noteRails notes the rails that the namespace has or will have.
func (d *draft) noteRails() {
	after := d.s
	after.Networks = slices.Concat(d.s.Networks, d.planned)
	var rails []string
	for _, r := range cluster.AttachedRails(after, d.Namespace) {
		where := "unknown nodes"
		if d.s.Knows(cluster.Nodes) {
			where = words.Count(len(r.Nodes()), "node")
		}
		rails = append(rails, fmt.Sprintf("%s (%s, %s)", r.Network, r.Resource, where))
	}
	switch plugin := after.UsableRails(d.Namespace); {
	case len(rails) > 0:
		d.plan.Note("Rails of namespace %s: %s.", d.Namespace, strings.Join(rails, ", "))
	case len(plugin) > 0:
		d.plan.Note("Namespace %s needs no attachments: InfiniBand needs no interface in the pod, and jobs request "+
			"their rails by %s.", d.Namespace, resourcesOf(plugin))
	case cluster.OnlyEFA(d.s):
		d.plan.Note("Namespace %s has no rail: nodes offer only Elastic Fabric Adapters (%s), which NCCL reaches "+
			"through the plugin aws-ofi-nccl alone. Railhead cannot set it up.",
			d.Namespace, strings.Join(cluster.EFAOffers(d.s), ", "))
	default:
		d.plan.Note("Namespace %s has no rail: jobs in it train over TCP.", d.Namespace)
	}
	for _, r := range after.Rails(d.Namespace) {
		if r.RDMA && !r.Usable() {
			d.plan.Note("%s is no rail: %s.", r.Network, r.Reason)
		}
	}
}
