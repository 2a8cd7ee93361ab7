package clusterrules

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

const networksAnnotation = cluster.NetworksAnnotation

// podNetworks finds networks that do not exist and that Pending pods name, or the templates of workloads without pods.
// Multus reports them in events only once a pod has a node, the network-resources-injector at once.
func podNetworks(v view) []check.Finding {
	var findings []check.Finding
	var seen []cluster.Pod
	add := func(subject check.Ref, who string, p cluster.Pod) {
		alike := func(other cluster.Pod) bool {
			return other.Owner == p.Owner && other.Annotations[networksAnnotation] == p.Annotations[networksAnnotation]
		}
		refused := func(f check.Finding) bool { return f.Subject == subject && f.Check == pods.NADMissing }
		why, about := v.wrongNetwork(p)
		if why != "" && !slices.ContainsFunc(seen, alike) && !slices.ContainsFunc(v.pods, refused) {
			seen = append(seen, p)
			findings = append(findings, notAttached(subject, p, who+" "+why, about))
		}
	}
	for _, f := range inQuestion(v.state, v.options) {
		for _, template := range f.PodTemplates() {
			if template.Owner = f.Kind + "/" + f.Name; len(f.Pods) == 0 && f.WantedPods() > 0 {
				add(jobRef(f), template.Owner, template)
			}
		}
	}
	for _, p := range detailed(v.state) {
		if p.Phase == "Pending" {
			add(check.PodRef(p.Namespace, p.Name), "pod "+p.Name, p)
		}
	}
	return findings
}

// wrongNetwork returns why Multus cannot attach a pod to the networks of its annotation; "" if nothing is known to be
// wrong.
func (v view) wrongNetwork(p cluster.Pod) (why string, about []check.Ref) {
	text := p.Annotations[networksAnnotation]
	if cluster.NetworksAsJSON(text) && json.Unmarshal([]byte(text), new([]map[string]any)) != nil {
		return "has an annotation " + networksAnnotation + " that is no list in JSON", nil
	}
	for _, named := range p.NetworkNames() {
		namespace, name := named.Namespace, named.Name
		inNamespace := func(n cluster.Network) bool { return n.Namespace == namespace }
		n, exists := v.state.Network(namespace, name)
		ref := check.Ref{Kind: check.Attachment, Namespace: namespace, Name: name}
		switch {
		case n.Broken != "":
			return fmt.Sprintf("names network %s/%s, whose configuration cannot be read: %s",
				namespace, name, words.Clip(n.Broken, 120)), []check.Ref{ref}
		case exists:
		case namespace == v.options.Namespace && v.ownNetworks() || slices.ContainsFunc(v.state.Networks, inNamespace):
			why = fmt.Sprintf("names network %s, which namespace %s does not have", name, namespace)
			return why, []check.Ref{ref}
		}
	}
	return "", nil
}

// ownNetworks reports whether the attachments of the namespace in question were read. If the Problem has no namespace,
// only the attachments of other namespaces are forbidden.
func (v view) ownNetworks() bool {
	p := v.state.Problem(cluster.Networks)
	return slices.Contains(v.state.Read, cluster.Networks) && (p == nil || p.Forbidden && p.Namespace == "")
}

func notAttached(subject check.Ref, p cluster.Pod, summary string, about []check.Ref) check.Finding {
	return check.Finding{
		Check: pods.NADMissing, Status: check.Fail, Subject: subject, About: about, Summary: summary,
		Evidence: check.Observed("annotation "+networksAnnotation, p.Annotations[networksAnnotation],
			"names of network attachments, or JSON"),
		Fix: check.ByUser("Correct the annotation, or let railhead create the attachments.",
			fmt.Sprintf("kubectl -n %s get network-attachment-definitions", p.Namespace),
			"railhead setup namespace "+p.Namespace),
	}
}
