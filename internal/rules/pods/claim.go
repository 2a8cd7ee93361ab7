package pods

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// The messages about DRA claims (kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources,
// pkg/controller/resourceclaim, pkg/kubelet/cm/dra; k8s.io/dynamic-resource-allocation resourceclaim and
// structured/internal). unallocated matches what the State can explain in more detail.
var (
	unallocated = anyCase(`cannot allocate all claims`)
	noClass     = anyOf(`device class (\S+) does not exist`, `could not retrieve device class ([^\s:]+)`)
	noTemplate  = anyOf(`resource claim template "([^"]+)": .*not found`,
		`resourceclaimtemplate(?:\.resource\.k8s\.io)? "([^"]+)" not found`)
	celError       = anyOf(`(selector #\d+: CEL (?:compile|runtime) error: [^,]+)`)
	uncreatedClaim = anyCase(`ResourceClaim not created yet`, `waiting for dynamic resource`,
		`waiting for resource ?claim`, `is in the process of being allocated`)
	unplacedClaims = anyCase(
		unallocated.String(),
		`resourceclaim(?:\.resource\.k8s\.io)? "?[^" ]*"? (not found|is being deleted)`,
		`resourceclaim in use`,
		`resourceclaim not available on the node`,
		`could not find (a )?device ?class`,
		`FailedResourceClaimCreation`,
		`FailedPrepareDynamicResources`,
		`prepare dynamic resources`,
		`NodePrepareResources`,
	)
)

// claims are the kinds of these messages.
var claims = []kind{
	{
		words:   anyOf(`DRA driver (\S+) is not registered`, `plugin name (\S+) not found in the list of registered`),
		summary: "the DRA driver {1} does not run on {on}: {quote}",
		fix: check.ByAdmin("Find out why its plugin is not ready on that node.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep -i dra"),
		example: `prepare dynamic resources: DRA driver compute-domain.nvidia.com is not registered`,
	},
	{
		words:   noClass,
		summary: "device class {1}, from which {pod} claims devices, does not exist",
		fix: check.ByAdmin("Create it, or name an existing one in the claim.",
			"kubectl get deviceclasses", "railhead setup namespace {namespace}"),
		example: `0/3 nodes are available: request rail-0: device class dranet does not exist.`,
	},
	{
		words:   noTemplate,
		summary: "ResourceClaimTemplate {1}, by which {pod} claims devices, does not exist",
		fix: check.ByUser("Create it in the namespace of the pod: `railhead deploy` and `railhead inject` write it.",
			"kubectl -n {namespace} get resourceclaimtemplates"),
		example: `PodResourceClaim rails: resource claim template "h-kim-rails-1": ` +
			`resourceclaimtemplate.resource.k8s.io "h-kim-rails-1" not found`,
	},
	{
		words:   celError,
		summary: "a selector of the devices that {pod} claims is wrong, so no device is given: {1}",
		fix: check.ByUser("Correct it. Ask with has() for an attribute that some devices lack: reading it is an error.",
			"kubectl -n {namespace} get resourceclaims -o yaml", "kubectl get resourceslices -o yaml"),
		example: `running "DynamicResources" filter plugin: claim train/c: selector #0: CEL runtime error: ` +
			`no such key: rdma`,
	},
	{
		words:   uncreatedClaim,
		summary: "the claim of {pod} is not ready yet: {quote}",
		fix: check.ByUser("Wait a moment. If it stays so, read the events of the pod and of the claim.",
			"kubectl -n {namespace} get resourceclaims"),
		example: `0/3 nodes are available: pod "train/h-kim-0": ResourceClaim not created yet.`,
		waits:   true,
	},
	{
		words:   unplacedClaims,
		summary: "the devices that {pod} claims cannot be allocated: {quote}",
		fix: check.ByUser("Compare the claim with the devices that drivers offer.",
			"kubectl -n {namespace} get resourceclaims", "kubectl get resourceslices"),
		example: `0/3 nodes are available: 3 cannot allocate all claims.`,
	},
}

// claimNotMet explains why the claims of a pod are not met: which request, and why, if the State has them.
func claimNotMet(t target, sym symptom) check.Finding {
	f := answer(ResourceClaim, claims)(t, sym)
	if !unallocated.MatchString(sym.text) {
		return f
	}
	for _, c := range t.s.ResourceClaims {
		if c.Namespace != t.pod.Namespace || c.Allocated || c.Pod != t.pod.Name || t.pod.Name == "" {
			continue
		}
		for _, r := range c.Requests {
			if t.requestNotMet(&f, c, r) {
				return f
			}
		}
		t.noNodeHasAll(&f, c)
	}
	return f
}

// requestNotMet adds to a finding why a request cannot be met anywhere; false if it can, or if that is not known.
func (t target) requestNotMet(f *check.Finding, c cluster.ResourceClaim, r cluster.ClaimRequest) bool {
	m := t.s.Matching(r)
	subject := fmt.Sprintf("request %s of %s", r.Name, t.name())
	held := holdersOf(t, m.Devices)
	evidence := check.Evidence{Source: "resourceclaim/" + c.Name + " " + r.Name, Want: "a device"}
	switch {
	case m.NoClass:
		evidence.Got = "device class " + r.Class + ", which does not exist"
		f.Summary = fmt.Sprintf("%s names device class %s, which does not exist", subject, r.Class)
		f.Fix = check.ByAdmin("Create it, or name an existing one.", "kubectl get deviceclasses",
			"railhead setup namespace "+t.namespace())
	case !m.Known && m.Unmet == "":
		return false
	case len(m.Of) == 0:
		evidence.Got = "no ResourceSlice has a device of its driver"
		f.Summary = subject + " finds no device: no node offers one of its driver"
		f.Fix = check.ByAdmin("Find out whether the DRA driver runs on the nodes.", "kubectl get resourceslices",
			"kubectl get pods -A -o wide | grep -i dra")
	case len(m.Devices) == 0:
		evidence.Got = fmt.Sprintf("none of %s meets %s", words.Count(len(m.Of), "device"), m.Unmet)
		f.Summary = fmt.Sprintf("no device meets %s: none of %s has %s",
			subject, words.Count(len(m.Of), "device"), m.Unmet)
		if values := valuesOf(m.Of, cluster.AttributeOf(m.Unmet)); len(values) > 0 {
			f.Summary += " (they have " + words.Few(values, 6) + ")"
		}
		f.Fix = check.ByUser("Correct the selector, or let `railhead deploy --claims` write the claim.",
			"kubectl get resourceslices -o yaml", "railhead inventory")
	case len(held) == len(m.Devices):
		f.Status = check.Warn
		evidence.Got = "all claimed by " + words.Few(unique(held), 4)
		f.Summary = fmt.Sprintf("%s waits: all %s that meet it are claimed by %s", subject,
			words.Count(len(m.Devices), "device"), words.Few(unique(held), 4))
		f.Fix = check.ByUser("Wait until one of these pods ends, or use fewer nodes.",
			"kubectl -n "+t.namespace()+" get resourceclaims")
	default:
		return false
	}
	f.Evidence = append(f.Evidence, evidence)
	return true
}

// noNodeHasAll adds which requests each node cannot meet now, if the claim as a whole fits on no node.
func (t target) noNodeHasAll(f *check.Finding, c cluster.ResourceClaim) {
	lacking := map[string][]string{}
	var nodes []string
	for _, r := range c.Requests {
		m := t.s.Matching(r)
		if !m.Known {
			return
		}
		for _, d := range m.Of {
			if !slices.Contains(nodes, d.Node) {
				nodes = append(nodes, d.Node)
			}
		}
	}
	for _, node := range nodes {
		for _, r := range c.Requests {
			free := func(d cluster.DRADevice) bool {
				return d.Node == node && len(holdersOf(t, []cluster.DRADevice{d})) == 0
			}
			if !slices.ContainsFunc(t.s.Matching(r).Devices, free) {
				lacking[node] = append(lacking[node], r.Name)
			}
		}
		if len(lacking[node]) == 0 {
			return // a constraint, or claims of other namespaces, which were not read
		}
	}
	slices.Sort(nodes)
	f.Status = check.Warn
	f.Summary = "no node has all devices that " + t.name() + " claims free at the same time"
	f.Fix = check.ByUser("Wait until other pods on these nodes end, or claim fewer rails with --network.",
		"kubectl -n "+t.namespace()+" get resourceclaims")
	for _, node := range nodes[:min(len(nodes), 8)] {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "node/" + node, Got: "nothing free for " + words.Few(lacking[node], 4),
		})
	}
}

// holdersOf returns the claims that hold some of the devices, by the names of their pods.
func holdersOf(t target, devices []cluster.DRADevice) []string {
	var pods []string
	for _, d := range devices {
		for _, c := range t.s.ResourceClaims {
			if slices.ContainsFunc(c.Devices, func(held cluster.ClaimedDevice) bool { return held.Is(d) }) {
				pods = append(pods, c.Namespace+"/"+cmp.Or(c.Pod, c.Name))
				break
			}
		}
	}
	return pods
}

func unique(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// valuesOf returns the values that devices have for an attribute, each once.
func valuesOf(devices []cluster.DRADevice, attribute string) []string {
	var values []string
	for _, d := range devices {
		if v, has := d.Attribute[attribute]; has {
			values = append(values, v)
		}
	}
	return unique(values)
}
