package cluster

import (
	"cmp"
	"encoding/json"
	"strings"
)

// NetworksAnnotation lists the network attachments of a pod.
const NetworksAnnotation = "k8s.v1.cni.cncf.io/networks"

// NetworkName names a network attachment.
type NetworkName struct{ Namespace, Name string }

// NetworksAsJSON reports whether Multus reads an annotation as JSON (multus-cni pkg/k8sclient
// parsePodNetworkAnnotation).
func NetworksAsJSON(annotation string) bool { return strings.ContainsAny(annotation, `[{"`) }

// NetworkNames returns the networks that a pod names, in a list with commas or in JSON (multi-net-spec 4.1); none if
// the annotation cannot be read.
func (p Pod) NetworkNames() []NetworkName {
	text := p.Annotations[NetworksAnnotation]
	var all []NetworkName
	if NetworksAsJSON(text) {
		if json.Unmarshal([]byte(text), &all) != nil {
			return nil
		}
		for i := range all {
			all[i].Namespace = cmp.Or(all[i].Namespace, p.Namespace)
		}
		return all
	}
	for word := range strings.SplitSeq(text, ",") {
		word, _, _ = strings.Cut(strings.TrimSpace(word), "@")
		namespace, name, qualified := strings.Cut(word, "/")
		if !qualified {
			namespace, name = p.Namespace, word
		}
		if name != "" {
			all = append(all, NetworkName{namespace, name})
		}
	}
	return all
}
