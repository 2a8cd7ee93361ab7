package namespace

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// NetworksSource is the finding that nothing says where a namespace's rails are to be copied from.
const NetworksSource check.ID = "networks-source"

// resourceNameAnnotation names the resource of the device of an attachment.
const resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName"

// networks creates the rails of the namespace through the SR-IOV operator, or copies the rails of another namespace.
func (d *draft) networks() plan.Step {
	step := plan.Step{ID: "networks", Title: "Create the network attachments of namespace " + d.Namespace}
	switch {
	case !d.s.Knows(cluster.Networks) && d.s.Server.Serves(cluster.NetworkGroup):
		d.unread(cluster.Networks)
	case d.NetworksFrom == d.Namespace:
		d.noSource("--networks-from names the namespace itself")
	case d.NetworksFrom != "":
		step.Changes = copiesOf(d)
	default:
		d.operatorNetworks(&step)
	}
	if len(d.chained) > 0 {
		d.plan.Note("The rdma plugin is the last one of %s: the RDMA mode of the nodes is exclusive, "+
			"and pods get a device only through that plugin.", words.And(d.chained))
	}
	return step
}

// operatorNetworks adds the networks of an operator, which makes the attachments. NVIDIA's may have brought the SR-IOV
// operator, which then has no policy.
func (d *draft) operatorNetworks(step *plan.Step) {
	sriov := d.s.Server.Serves(cluster.SriovGroup) && d.s.Knows(cluster.SriovPolicies)
	switch {
	case makesNetworks(d.s) && d.s.Problem(cluster.SriovNetworks) != nil:
		d.unread(cluster.SriovNetworks)
	case sriov && (len(rdmaPolicies(d)) > 0 || !nvidiaMayHaveRails(d.s)):
		step.Changes = d.sriovNetworks()
		step.Done, step.Watch = networksExist(d.Namespace, d.planned), []cluster.Kind{cluster.Networks}
	case d.s.Server.Serves(cluster.NvidiaGroup) && d.s.Problem(cluster.NicPolicies) != nil:
		d.unread(cluster.NicPolicies)
	case d.s.Server.Serves(cluster.NvidiaGroup) && d.s.Knows(cluster.NicPolicies):
		step.Changes = d.nvidiaNetworks()
		step.Done, step.Watch = networksExist(d.Namespace, d.planned), []cluster.Kind{cluster.Networks}
	case len(d.s.UsableRails(d.Namespace)) == 0 && len(sourcesOf(d)) > 0 && !claimsRails(d):
		d.noSource("no SR-IOV policy can be read")
	}
}

// nvidiaMayHaveRails reports whether NVIDIA's operator has RDMA resources, or may have.
func nvidiaMayHaveRails(s cluster.State) bool {
	unread := s.Server.Serves(cluster.NvidiaGroup) && s.Problem(cluster.NicPolicies) != nil
	return unread || slices.ContainsFunc(s.NvidiaResources, func(r cluster.NvidiaResource) bool { return r.RDMA })
}

// makesNetworks reports whether an operator is known to make attachments from networks that the plan may write.
func makesNetworks(s cluster.State) bool {
	return s.Server.Serves(cluster.SriovGroup) && s.Knows(cluster.SriovPolicies) ||
		s.Server.Serves(cluster.NvidiaGroup) && s.Knows(cluster.NicPolicies)
}

// unread reports a list without which no attachment is created: it may exist already.
func (d *draft) unread(kind cluster.Kind) {
	f := plan.Unreadable(d.s, kind)[0]
	f.Status = check.Unknown
	f.Summary = f.Subject.Name + " could not be read: no attachment is created, because it may exist already"
	d.plan.Report(f)
}

// sourcesOf returns the other namespaces with rails, those with most first.
func sourcesOf(d *draft) []string {
	rails := map[string]int{}
	for _, n := range d.s.Networks {
		if _, seen := rails[n.Namespace]; !seen && n.Namespace != d.Namespace {
			rails[n.Namespace] = len(cluster.AttachedRails(d.s, n.Namespace))
		}
	}
	maps.DeleteFunc(rails, func(_ string, n int) bool { return n == 0 })
	return slices.SortedFunc(maps.Keys(rails), func(x, y string) int {
		return cmp.Or(cmp.Compare(rails[y], rails[x]), cmp.Compare(x, y))
	})
}

// noSource reports that nothing says where the rails are to be copied from.
func (d *draft) noSource(why string) {
	sources := sourcesOf(d)
	fix := check.ByUser("Copy them from a namespace that has them.")
	for _, from := range sources {
		fix.Commands = append(fix.Commands,
			fmt.Sprintf("railhead setup namespace %s --networks-from %s", d.Namespace, from))
	}
	d.plan.Fail(NetworksSource, check.Named(check.Namespace, d.Namespace),
		fmt.Sprintf("namespace %s gets no rails: %s", d.Namespace, why),
		check.Observed("--networks-from", cmp.Or(d.NetworksFrom, "none"),
			"a namespace with rails: "+cmp.Or(words.Few(sources, 4), "none")),
		fix)
}

// requested reports whether a network is requested by one of its names.
func (o Options) requested(names ...string) bool {
	listed := func(name string) bool { return slices.Contains(o.Networks, name) }
	return len(o.Networks) == 0 || slices.ContainsFunc(names, listed)
}

// named continues a sentence about rails.
func (o Options) named() string {
	if len(o.Networks) == 0 {
		return ""
	}
	return " named " + strings.Join(o.Networks, " or ")
}

// copiesOf returns copies of the rails of another namespace. Only the attachment's own fields are copied: no owner, and
// no annotation of the operator, which would delete the copy.
func copiesOf(d *draft) []plan.Change {
	var changes []plan.Change
	found := false
	for _, r := range d.s.Rails(d.NetworksFrom) {
		if !d.requested(r.Network, r.Resource) || !r.RDMA && len(d.Networks) == 0 {
			continue
		}
		source, _ := d.s.Network(r.Namespace, r.Network)
		if source.Broken != "" {
			d.plan.Note("%s/%s is not copied: its configuration cannot be read: %s.", r.Namespace, r.Network,
				source.Broken)
			continue
		}
		found = true
		if !source.RDMA && source.Config != "" && needsRDMAPlugin(d, path.Base(source.Resource)) {
			config, err := chain(source.Config)
			if err != nil {
				d.plan.Note("%s/%s is not copied: %v.", r.Namespace, r.Network, err)
				continue
			}
			source.Config, source.RDMA = config, true
			d.chained = append(d.chained, source.Name)
		}
		changes = append(changes, copyOfNetwork(d, source)...)
	}
	if !found {
		d.noSource(fmt.Sprintf("namespace %s has no rail%s", d.NetworksFrom, d.named()))
	}
	return changes
}

func copyOfNetwork(d *draft, source cluster.Network) []plan.Change {
	return attachmentOf(d, source, "copy of "+d.NetworksFrom+"/"+source.Name)
}

// attachmentOf returns the change that writes an attachment like the source into the namespace.
func attachmentOf(d *draft, source cluster.Network, why string) []plan.Change {
	meta := d.meta(source.Name)
	if source.Resource != "" {
		meta.Annotations = map[string]string{resourceNameAnnotation: source.Resource}
	}
	spec := map[string]any{}
	if source.Config != "" {
		spec["config"] = source.Config
	}
	want := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "k8s.cni.cncf.io/v1",
		"kind":       "NetworkAttachmentDefinition",
		"metadata":   plan.Fields(&meta),
		"spec":       spec,
	}}
	existing, exists := d.s.Network(d.Namespace, source.Name)
	_, ours := plan.LiveObject(d.s, want)
	switch {
	case !exists:
		planned := source
		planned.Namespace = d.Namespace
		d.planned = append(d.planned, planned)
	case existing.Resource == source.Resource && existing.Config == source.Config:
		return nil
	case !ours:
		subject := check.Ref{Kind: check.Attachment, Namespace: d.Namespace, Name: source.Name}
		d.plan.Report(nameTaken(subject, existing.Resource, source.Resource,
			fmt.Sprintf("attachment %s of namespace %s exists and differs from that of %s: it is not changed",
				source.Name, d.Namespace, source.Namespace)))
		return nil
	}
	return []plan.Change{{Verb: plan.Apply, Object: want, Why: why}}
}

func nameTaken(subject check.Ref, got, want, summary string) check.Finding {
	return check.Finding{
		Check: plan.NameFree, Status: check.Warn, Subject: subject, Summary: summary,
		Evidence: check.Observed(resourceNameAnnotation, cmp.Or(got, "none"), cmp.Or(want, "none")),
		Fix:      check.ByUser("If nothing needs it, delete it and run this again."),
	}
}

// networksExist is done when the operator has created the attachments.
func networksExist(namespace string, wanted []cluster.Network) plan.Condition {
	return func(s cluster.State) plan.Progress {
		bar := plan.Bar{Name: namespace, Total: len(wanted)}
		var items []plan.Item
		for _, w := range wanted {
			item := plan.Item{Name: w.Name, State: plan.Waiting, Note: "the SR-IOV operator creates it"}
			if w.Type == "host-device" {
				item.Note = "NVIDIA's network operator creates it"
			}
			if _, ok := s.Network(namespace, w.Name); ok {
				item = plan.Item{Name: w.Name, State: "created", Done: true}
				bar.Count++
			}
			items = append(items, item)
		}
		return plan.Progress{
			Done: bar.Count == bar.Total,
			Text: fmt.Sprintf("%d of %s of namespace %s created",
				bar.Count, words.Count(bar.Total, "attachment"), namespace),
			Bars:  []plan.Bar{bar},
			Items: items,
		}
	}
}
