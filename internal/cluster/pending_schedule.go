package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The words of the scheduler (kubernetes v1.36 pkg/scheduler/framework/types.go FitError, plugins/*/ErrReason*) and of
// the kubelet, which asks the same questions again (pkg/kubelet/lifecycle/predicate.go).
var (
	insufficient  = regexp.MustCompile(`(?i)\binsufficient (cpu|memory|pods|ephemeral-storage|hugepages-\w+|[A-Za-z0-9._-]+/[A-Za-z0-9._-]*[A-Za-z0-9])`)
	outOf         = regexp.MustCompile(`Node didn't have enough resource: ([^\s,]+), requested: (\d+)`)
	nodeReason    = regexp.MustCompile(`(\d+) (node\(s\) (?:[^,.{]|\{[^}]*\}|\.\d)+|Too many pods)`)
	unfitNode     = regexp.MustCompile(`taint|unschedulable|affinity|selector|topology spread|requested node name|node\(s\) were not ready|Too many pods|required features`)
	unboundVolume = regexp.MustCompile(`(?i)unbound immediate PersistentVolumeClaim|persistentvolumeclaim "[^"]*" (not found|is being deleted|bound to non-existent)|available persistent volumes to bind|volume node affinity conflict|PersistentVolume's node affinity|available volume zone|max volume count|ReadWriteOncePod|enough free storage`)
	// passingTaint is one that a node bears while it is not ready, cordoned or short of something
	// (k8s.io/api/core/v1 well_known_taints.go); unnamedTaint is all that newer schedulers say of any (kubernetes v1.36
	// pkg/scheduler/framework/plugins/tainttoleration).
	passingTaint   = regexp.MustCompile(`untolerated taint(?:\(s\))? \{node\.(?:cloudprovider\.)?kubernetes\.io/`)
	unnamedTaint   = regexp.MustCompile(`untolerated taint\(s\)(?: *[,.]|$)`)
	takenPort      = regexp.MustCompile(`have free ports`)
	unplacedClaims = regexp.MustCompile(`(?i)cannot allocate all claims|resourceclaim "?[^" ]*"? (not found|is being deleted)|waiting for resource ?claim|waiting for dynamic resource|could not find (a )?device ?class|FailedPrepareDynamicResources|prepare dynamic resources|NodePrepareResources`)
)

// unscheduled explains what the scheduler, or the kubelet in its place, says of the nodes.
func unscheduled(p patient, said symptom) (check.Finding, bool) {
	text := said.text
	if i := strings.Index(text, "preemption:"); i > 0 {
		text = text[:i] // whether others could be evicted does not say what is missing
	}
	var short []string
	for _, m := range insufficient.FindAllStringSubmatch(text, -1) {
		short = append(short, m[1])
	}
	for _, m := range outOf.FindAllStringSubmatch(text, -1) {
		short = append(short, m[1])
	}
	switch {
	case len(short) > 0:
		return p.shortOf(short, text), true
	case takenPort.MatchString(text):
		return check.Finding{
			Check: HostPort, Status: check.Fail, Summary: p.name() + " asks for a port of the node that is taken on every node that fits",
			Fix: &check.Fix{Text: "Leave hostPort out: pods of a job reach each other on their own addresses.", Who: check.User},
		}, true
	case unboundVolume.MatchString(text):
		return check.Finding{}, false // volumeNotReady
	case unfitNode.MatchString(text):
		return p.unfit(text), true
	}
	return check.Finding{}, false
}

// shortage is one resource that is short, and how badly.
type shortage struct {
	id       check.ID
	rank     int // the higher, the less it helps to wait
	summary  string
	evidence []check.Evidence
	fix      *check.Fix
}

// shortOf explains the gravest of several shortages and names the others.
func (p patient) shortOf(resources []string, text string) check.Finding {
	slices.Sort(resources)
	var all []shortage
	for _, r := range slices.Compact(resources) {
		all = append(all, p.shortage(r))
	}
	slices.SortStableFunc(all, func(a, b shortage) int { return cmp.Compare(b.rank, a.rank) })
	f := check.Finding{Check: all[0].id, Status: check.Fail, Summary: all[0].summary, Evidence: all[0].evidence, Fix: all[0].fix}
	if all[0].rank < neverRank {
		f.Status = check.Warn
	}
	for _, more := range all[1:] {
		f.Summary += "; " + more.summary
		f.Evidence = append(f.Evidence, more.evidence...)
	}
	for _, m := range nodeReason.FindAllStringSubmatch(text, -1) {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "scheduler", Got: m[1] + " " + strings.TrimSpace(m[2])})
	}
	return f
}

const neverRank = 2 // waiting does not help

func (p patient) shortage(resource string) shortage {
	want := max(p.pod.Requests[resource], 1)
	most, total := int64(0), int64(0)
	var nodes []string
	for _, n := range p.s.Nodes {
		if count := n.Allocatable[resource]; count > 0 {
			nodes = append(nodes, n.Name)
			most, total = max(most, count), total+count
		}
	}
	special := 0
	if strings.Contains(resource, "/") {
		special = 1 // a device comes before cpu and memory
	}
	switch {
	case !p.s.Knows(Nodes):
		return shortage{id: InsufficientResource, rank: special, summary: "no node has enough " + resource + " free; what nodes offer could not be read", fix: p.lookAtNodes(resource)}
	case len(nodes) == 0:
		return p.notOffered(resource, special)
	case want > most:
		return shortage{
			id: InsufficientResource, rank: neverRank + special,
			summary:  fmt.Sprintf("%s asks for %s, and no node has more than %s", p.name(), Quantity(resource, want), Quantity(resource, most)),
			evidence: []check.Evidence{{Source: "nodes status.allocatable", Got: listed(nodes) + ": at most " + Quantity(resource, most), Want: Quantity(resource, want)}},
			fix:      &check.Fix{Text: "Ask for no more per pod than a node has.", Who: check.User, Commands: []string{"railhead inventory"}},
		}
	}
	s := shortage{
		id: InsufficientResource, rank: special,
		summary: fmt.Sprintf("%s is used up: no node that fits has %s free of %s in all", resource, Quantity(resource, want), Quantity(resource, total)),
		fix:     &check.Fix{Text: "Wait until the pods that hold it end, or ask for fewer nodes or GPUs.", Who: check.User, Commands: []string{"railhead inventory"}},
	}
	if !p.s.Knows(Pods) {
		s.summary = fmt.Sprintf("no node that fits has %s free; who holds it could not be read", Quantity(resource, want))
		return s
	}
	free := p.s.Free()
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(free[b][resource], free[a][resource]) })
	for _, node := range nodes[:min(len(nodes), 8)] {
		n, _ := p.s.Node(node)
		s.evidence = append(s.evidence, check.Evidence{Source: "node/" + node, Got: p.s.Usage(n, resource), Want: Quantity(resource, want) + " free"})
	}
	return s
}

// notOffered tells a resource that is meant to be there from a name that this cluster does not have.
func (p patient) notOffered(resource string, special int) shortage {
	_, base, _ := strings.Cut(resource, "/")
	s := shortage{id: InsufficientResource, rank: neverRank + special + 1, fix: p.lookAtNodes(resource)}
	s.summary = "no node offers " + resource
	s.evidence = []check.Evidence{{Source: "nodes status.allocatable", Got: fmt.Sprintf("%d nodes, none names %s", len(p.s.Nodes), resource), Want: resource}}
	for _, policy := range p.s.SriovPolicies {
		if policy.ResourceName == base {
			s.summary += ", which SriovNetworkNodePolicy " + policy.Name + " is to make"
			s.evidence = append(s.evidence, p.sriovStates()...)
			s.fix = &check.Fix{Text: "The SR-IOV operator has not made the devices: read what it says of the nodes.", Who: check.Admin,
				Commands: []string{"oc -n " + orDefault(policy.Namespace, "openshift-sriov-network-operator") + " get sriovnetworknodestates -o yaml"}}
			return s
		}
	}
	instead := p.s.suggest(resource)
	if IsGPU(resource) {
		instead = p.s.gpuResources()
	}
	if len(instead) > 0 && special > 0 {
		s.id = ResourceNameMismatch
		s.summary += "; nodes offer " + strings.Join(instead, ", ")
		s.evidence = append(s.evidence, check.Evidence{Source: "nodes status.allocatable", Got: strings.Join(instead, ", ")})
		s.fix = &check.Fix{Text: "Ask for a resource by the name that nodes offer it under; with railhead the names come from the network attachments of the namespace.",
			Who: check.User, Commands: []string{"railhead inventory", p.kubectl("get network-attachment-definitions -o yaml")}}
	}
	return s
}

func (s State) gpuResources() []string {
	found := map[string]bool{}
	for _, n := range s.Nodes {
		if resource, count := n.GPUs(); count > 0 {
			found[resource] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (p patient) sriovStates() []check.Evidence {
	var evidence []check.Evidence
	for _, n := range p.s.SriovNodes {
		if n.SyncStatus != "Succeeded" {
			evidence = append(evidence, check.Evidence{Source: "sriovnetworknodestate/" + n.Node, Got: strings.TrimSuffix(n.SyncStatus+": "+n.SyncError, ": "), Want: "Succeeded"})
		}
	}
	return evidence
}

func (p patient) lookAtNodes(resource string) *check.Fix {
	return &check.Fix{Text: "See which nodes offer it; a device plugin that does not run on a node offers nothing there.", Who: check.Admin,
		Commands: []string{fmt.Sprintf(`kubectl get nodes -o custom-columns='NODE:.metadata.name,OFFERS:.status.allocatable.%s'`, strings.ReplaceAll(resource, ".", `\.`))}}
}

// Quantity is an amount of a resource for a reader: "4 nvidia.com/gpu", "16Gi memory", "500m cpu".
func Quantity(resource string, n int64) string {
	switch {
	case strings.HasSuffix(resource, "cpu") && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + " " + resource
	case strings.HasSuffix(resource, "cpu"):
		return strconv.FormatInt(n, 10) + "m " + resource
	case strings.HasSuffix(resource, "memory"), strings.HasSuffix(resource, "storage"), strings.Contains(resource, "hugepages-"):
		return bytesOf(n) + " " + resource
	}
	return strconv.FormatInt(n, 10) + " " + resource
}

func bytesOf(n int64) string {
	for _, unit := range []struct {
		name  string
		shift uint
	}{{"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}} {
		if size := int64(1) << unit.shift; n >= size || n <= -size {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(size), 'f', 1, 64), ".0") + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Holder is a pod that holds some of a node's resource.
type Holder struct {
	Pod   string // namespace/name
	Count int64
}

// Holders are the pods that hold a resource of a node, those with most first.
func (s State) Holders(node, resource string) []Holder {
	var holders []Holder
	for _, p := range s.Pods {
		if n := p.Requests[resource]; p.Node == node && n > 0 && !p.Finished() {
			holders = append(holders, Holder{p.Namespace + "/" + p.Name, n})
		}
	}
	slices.SortStableFunc(holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Pod, b.Pod))
	})
	return holders
}

// Usage is how much of a node's resource is free, and who holds the rest: "2 of 8 nvidia.com/gpu free, held by train/a (6)".
func (s State) Usage(n Node, resource string) string {
	holders := s.Holders(n.Name, resource)
	free := n.Allocatable[resource]
	var held []string
	for _, h := range holders {
		free -= h.Count
		amount, _, _ := strings.Cut(Quantity(resource, h.Count), " ")
		held = append(held, fmt.Sprintf("%s (%s)", h.Pod, amount))
	}
	amount, _, _ := strings.Cut(Quantity(resource, free), " ")
	text := fmt.Sprintf("%s of %s free", amount, Quantity(resource, n.Allocatable[resource]))
	if len(held) > 0 {
		text += ", held by " + listed(held)
	}
	return text
}

// unfit explains that nodes turn the pod away for other reasons than resources.
func (p patient) unfit(text string) check.Finding {
	f := check.Finding{Check: NodeSelection, Status: check.Fail}
	var reasons []string
	for _, m := range nodeReason.FindAllStringSubmatch(text, -1) {
		reasons = append(reasons, m[1]+" "+strings.TrimSpace(m[2]))
	}
	f.Summary = "no node takes " + p.name() + ": " + orDefault(strings.Join(reasons, ", "), clip(text))
	f.Fix = &check.Fix{Who: check.User, Commands: []string{"railhead inventory"}}
	switch {
	case strings.Contains(text, "unschedulable") || strings.Contains(text, "not ready") || passingTaint.MatchString(text):
		f.Status, f.Fix.Text = check.Warn, "Nodes are cordoned or not ready: wait, or let an administrator uncordon them."
	case strings.Contains(text, "anti-affinity") || strings.Contains(text, "topology spread"):
		f.Fix.Text = "Pods of a job go to one node each, and there are too few nodes that fit: ask for fewer nodes."
	case strings.Contains(text, "taint"):
		f.Fix.Text = "Tolerate the taint with --toleration if the job may use those nodes."
	case strings.Contains(text, "Too many pods"):
		f.Status, f.Fix.Text = check.Warn, "The nodes have all the pods that they take: wait until some end."
	default:
		f.Fix.Text = "Correct --node-selector: no node has these labels."
	}
	for _, n := range p.s.Nodes {
		if why, ok := n.Schedulable(); !ok && len(f.Evidence) < 8 {
			f.Evidence = append(f.Evidence, check.Evidence{Source: "node/" + n.Name, Got: why})
		}
	}
	return f
}

// resourceClaim explains DRA claims that are not met.
func resourceClaim(p patient, said symptom) (check.Finding, bool) {
	if !unplacedClaims.MatchString(said.reason + ": " + said.text) {
		return check.Finding{}, false
	}
	return check.Finding{
		Check: ResourceClaim, Status: check.Fail,
		Summary: "the devices that " + p.name() + " claims cannot be given: " + clip(said.text),
		Fix: &check.Fix{Text: "Compare the claim with the devices that drivers offer.", Who: check.User,
			Commands: []string{p.kubectl("get resourceclaims"), "kubectl get resourceslices"}},
	}, true
}
