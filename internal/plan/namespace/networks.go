package namespace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// NetworksSource is the finding that the source of a namespace's rails is not known.
const NetworksSource check.ID = "networks-source"

// resourceNameAnnotation names the resource of the device that an attachment brings.
const resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName"

// networks gives the namespace its rails: from the operator, or copied from another namespace.
func (b *namespace) networks() plan.Step {
	step := plan.Step{ID: "networks", Title: "Give namespace " + b.o.Namespace + " its network attachments"}
	switch {
	case !b.s.Knows(cluster.Networks) && b.s.Server.Serves(cluster.NetworkGroup):
		b.unreadNetworks(cluster.Networks)
	case b.o.NetworksFrom == b.o.Namespace && b.o.NetworksFrom != "":
		b.noSource("the networks are to come from the namespace itself")
	case b.o.NetworksFrom != "":
		step.Changes = b.copies()
	case b.s.Server.Serves(cluster.SriovGroup) && b.s.Knows(cluster.SriovPolicies):
		step.Changes = b.sriovNetworks()
		step.Done, step.Watch = networksThere(b.o.Namespace, b.made), []cluster.Kind{cluster.Networks}
	case len(b.s.UsableRails(b.o.Namespace)) == 0 && len(b.sources()) > 0:
		b.noSource("no SR-IOV policy can be read here")
	}
	if len(b.moving) > 0 {
		b.note(
			"The rdma plugin comes last in %s: nodes have their RDMA subsystem in exclusive mode, in which pods get a device only by it.",
			words.And(b.moving),
		)
	}
	return step
}

func (b *namespace) unreadNetworks(kind cluster.Kind) {
	got := "not read"
	if p := b.s.Problem(kind); p != nil {
		got = p.Err
	}
	b.say(check.Finding{
		Check: clusterrules.ClusterReadable, Status: check.Unknown, Subject: check.Named(check.List, string(kind)),
		Summary:  fmt.Sprintf("%s could not be read: no attachment is made, so that none is doubled", kind),
		Evidence: []check.Evidence{{Source: string(kind), Got: got}},
	})
}

// sources are the other namespaces with rails, those with most first.
func (b *namespace) sources() []string {
	rails := map[string]int{}
	for _, n := range b.s.Networks {
		if _, seen := rails[n.Namespace]; !seen && n.Namespace != b.o.Namespace {
			rails[n.Namespace] = len(b.s.UsableRails(n.Namespace))
		}
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(rails)), func(name string) bool { return rails[name] == 0 })
	slices.SortStableFunc(names, func(x, y string) int { return rails[y] - rails[x] })
	return names
}

// noSource says that it is not known where the rails are to come from.
func (b *namespace) noSource(why string) {
	f := check.Finding{
		Check: NetworksSource, Status: check.Fail, Subject: check.Named(check.Namespace, b.o.Namespace),
		Summary: fmt.Sprintf("namespace %s gets no rails: %s", b.o.Namespace, why),
		Evidence: []check.Evidence{
			{
				Source: "--networks-from",
				Got:    cmp.Or(b.o.NetworksFrom, "none"),
				Want:   "a namespace with rails: " + cmp.Or(words.Few(b.sources(), 4), "none"),
			},
		},
		Fix: &check.Fix{Text: "Copy them from a namespace that has them.", Who: check.User},
	}
	for _, from := range b.sources() {
		f.Fix.Commands = append(
			f.Fix.Commands, fmt.Sprintf("railhead setup namespace %s --networks-from %s", b.o.Namespace, from),
		)
	}
	b.say(f)
}

// copies are the rails of another namespace. Only the attachment's own fields are copied: no owner, nothing of the
// server, and not the annotation by which the operator would take the copy for its own and delete it.
func (b *namespace) copies() []plan.Change {
	var changes []plan.Change
	found := false
	for _, r := range b.s.Rails(b.o.NetworksFrom) {
		named := len(b.o.Networks) > 0
		if !b.chosen(r.Network, r.Resource) || !r.RDMA && !named {
			continue
		}
		source, _ := b.s.Network(r.Namespace, r.Network)
		if source.Broken != "" {
			b.note("%s/%s is not copied: its configuration cannot be read: %s.", r.Namespace, r.Network, source.Broken)
			continue
		}
		found = true
		if !source.RDMA && source.Config != "" && b.exclusive(base(source.Resource)) {
			config, err := chain(source.Config)
			if err != nil {
				b.note("%s/%s is not copied: %v.", r.Namespace, r.Network, err)
				continue
			}
			source.Config, source.RDMA = config, true
			b.moving = append(b.moving, source.Name)
		}
		changes = append(changes, b.copyOf(source)...)
	}
	if !found {
		b.noSource(fmt.Sprintf("namespace %s has no rail%s", b.o.NetworksFrom, among(b.o.Networks)))
	}
	return changes
}

func among(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " named " + strings.Join(names, " or ")
}

func (b *namespace) copyOf(source cluster.Network) []plan.Change {
	want := b.object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", source.Name)
	if source.Resource != "" {
		want.SetAnnotations(map[string]string{resourceNameAnnotation: source.Resource})
	}
	spec := map[string]any{}
	if source.Config != "" {
		spec["config"] = source.Config
	}
	want.Object["spec"] = spec
	if live, there := b.s.Network(b.o.Namespace, source.Name); there {
		_, ours := plan.LiveObject(b.s, want)
		switch {
		case live.Resource == source.Resource && live.Config == source.Config:
			return nil
		case !ours:
			b.taken(
				check.Ref{
					Kind:      check.Attachment,
					Namespace: b.o.Namespace,
					Name:      source.Name,
				},
				fmt.Sprintf(
					"attachment %s of namespace %s is there with other content than that of %s: it is left as it is",
					source.Name, b.o.Namespace, source.Namespace,
				),
				live.Resource, source.Resource,
			)
			return nil
		}
	} else {
		source.Namespace = b.o.Namespace
		b.made = append(b.made, source)
	}
	return []plan.Change{{Verb: plan.Apply, Object: want, Why: "is a copy of " + b.o.NetworksFrom + "/" + source.Name}}
}

func (b *namespace) taken(subject check.Ref, summary, got, want string) {
	b.say(check.Finding{
		Check: plan.NameFree, Status: check.Warn, Subject: subject, Summary: summary,
		Evidence: []check.Evidence{
			{Source: "k8s.v1.cni.cncf.io/resourceName", Got: cmp.Or(got, "none"), Want: cmp.Or(want, "none")},
		},
		Fix: &check.Fix{Text: "Delete it to have it made anew, if nothing needs it as it is.", Who: check.User},
	})
}

// sriovNetworks are one network for each RDMA resource of the operator that the namespace has no attachment for yet.
func (b *namespace) sriovNetworks() []plan.Change {
	var changes []plan.Change
	pools := b.rdmaPools()
	for _, p := range pools {
		if b.hasRail(p.policy.ResourceName) || b.comes(p.policy.ResourceName) {
			continue
		}
		changes = append(changes, b.sriovNetwork(p)...)
	}
	if len(pools) == 0 && len(b.s.UsableRails(b.o.Namespace)) == 0 {
		if sources := b.sources(); len(sources) > 0 || len(b.o.Networks) > 0 {
			b.noSource("no SriovNetworkNodePolicy with isRdma: true" + among(b.o.Networks))
		} else {
			b.note("No SriovNetworkNodePolicy has isRdma: true: `railhead setup cluster --sriov` makes them.")
		}
	}
	return changes
}

// hasRail reports whether the namespace has an attachment of a resource, whatever its prefix.
func (b *namespace) hasRail(resource string) bool {
	return slices.ContainsFunc(b.s.Networks, func(n cluster.Network) bool {
		return n.Namespace == b.o.Namespace && base(n.Resource) == resource
	})
}

func base(resource string) string { return resource[strings.LastIndex(resource, "/")+1:] }

// comes reports whether the operator is told already to make an attachment of a resource in the namespace.
func (b *namespace) comes(resource string) bool {
	return slices.ContainsFunc(b.s.SriovNetworks, func(n cluster.SriovNetwork) bool {
		return cmp.Or(n.TargetNamespace, n.Namespace) == b.o.Namespace && n.ResourceName == resource
	})
}

// model is another network of the resource, whose address management and options are taken over; the first by its
// place.
func (b *namespace) model(resource string) (cluster.SriovNetwork, bool) {
	var models []cluster.SriovNetwork
	for _, n := range b.s.SriovNetworks {
		if n.ResourceName == resource && (n.Kind == "SriovNetwork" || n.Kind == "SriovIBNetwork") {
			models = append(models, n)
		}
	}
	if len(models) == 0 {
		return cluster.SriovNetwork{}, false
	}
	return slices.MinFunc(models, func(x, y cluster.SriovNetwork) int {
		return strings.Compare(x.TargetNamespace+"/"+x.Name, y.TargetNamespace+"/"+y.Name)
	}), true
}

// networkName is the name of the network of a resource: SriovNetworks of all namespaces lie in the operator's.
func (b *namespace) networkName(resource string) string {
	name := strings.ToLower(strings.ReplaceAll(resource, "_", "-"))
	if m, ok := b.model(resource); ok {
		name = strings.TrimPrefix(m.Name, cmp.Or(m.TargetNamespace, m.Namespace)+"-")
	}
	return b.o.Namespace + "-" + name
}

// sriovNetwork makes one network. The operator makes the attachment of it, by the same name, in networkNamespace
// (sriov-network-operator api/v1 helper.go RenderNetAttDef).
func (b *namespace) sriovNetwork(p rdmaPool) []plan.Change {
	resource := p.policy.ResourceName
	kind, spec, why := "SriovNetwork", map[string]any{}, ""
	if p.ib {
		kind = "SriovIBNetwork"
	}
	model, like := b.model(resource)
	switch {
	case like:
		kind, spec = model.Kind, maps.Clone(model.Spec)
		why = "like " + model.Name
		b.sharedRange(model)
	case b.o.IPAM != "":
		spec["ipam"] = b.o.IPAM
	case !p.ib:
		b.note(
			"Network %s has no IPAM, because no other network of %s shows one: its interfaces get no IPv4 address, and RoCE has only link-local GIDs. Give --ipam.",
			b.networkName(resource), resource,
		)
	}
	spec = maps.Clone(orEmpty(spec))
	spec["resourceName"], spec["networkNamespace"] = resource, b.o.Namespace
	if !like && p.ib {
		spec["linkState"] = "enable" // with auto, the default, the ports of virtual functions were seen to stay down (Mellanox/network-operator issue 1825)
	}
	if b.exclusive(resource) {
		meta, _ := spec["metaPlugins"].(string)
		spec["metaPlugins"] = chained(meta)
		b.moving = append(b.moving, b.networkName(resource))
	}
	want := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cluster.SriovGroup + "/v1", "kind": kind, "spec": spec,
		"metadata": map[string]any{
			"name":      b.networkName(resource),
			"namespace": cmp.Or(p.policy.Namespace, plan.SriovNamespace(b.s)),
			"labels":    b.labels(),
		},
	}}
	for _, n := range b.s.SriovNetworks {
		if n.Name == want.GetName() && n.Namespace == want.GetNamespace() {
			b.taken(
				check.Named(check.SriovNetwork, n.Name),
				fmt.Sprintf(
					"%s %s is there for resource %s in namespace %s: it is left as it is", n.Kind, n.Name,
					n.ResourceName, cmp.Or(n.TargetNamespace, n.Namespace),
				),
				n.ResourceName, resource,
			)
			return nil
		}
	}
	b.made = append(b.made, cluster.Network{
		Namespace: b.o.Namespace,
		Name:      want.GetName(),
		Resource:  b.qualified(resource),
		Type:      map[string]string{"SriovNetwork": "sriov", "SriovIBNetwork": "ib-sriov"}[kind],
	})
	return plan.ApplyUnlessCovered(
		b.s, want, strings.TrimSpace("has the operator make the attachment of "+resource+" "+why),
	)
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// sharedRange notes addresses that would be given twice: host-local counts on each node and for each network by itself
// (containernetworking/plugins plugins/ipam/host-local).
func (b *namespace) sharedRange(model cluster.SriovNetwork) {
	text, _ := model.Spec["ipam"].(string)
	var ipam struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &ipam) == nil && ipam.Type == "host-local" {
		b.note(
			"The IPAM of %s is host-local, which counts on each node by itself: pods on different nodes may get one address. whereabouts counts for the whole cluster.",
			model.Name,
		)
	}
}

// qualified is a resource with the prefix that nodes offer it under; the operator's default is openshift.io
// (sriov-network-operator deploy: RESOURCE_PREFIX).
func (b *namespace) qualified(resource string) string {
	for _, o := range b.s.RDMAOffers() {
		if base(o.Resource) == resource {
			return o.Resource
		}
	}
	return "openshift.io/" + resource
}

// networksThere is done when the operator has made the attachments.
func networksThere(namespace string, wanted []cluster.Network) plan.Condition {
	return func(s cluster.State) plan.Progress {
		p := plan.Progress{Done: true}
		there := 0
		for _, w := range wanted {
			item := plan.Item{Name: w.Name, State: plan.Waiting, Note: "the SR-IOV operator makes it"}
			if _, ok := s.Network(namespace, w.Name); ok {
				item = plan.Item{Name: w.Name, State: "there", Done: true}
				there++
			}
			p.Done = p.Done && item.Done
			p.Items = append(p.Items, item)
		}
		p.Text = fmt.Sprintf("%d of %s of namespace %s made", there, words.Count(len(wanted), "attachment"), namespace)
		p.Bars = []plan.Bar{{Name: namespace, Count: there, Total: len(wanted)}}
		return p
	}
}
