package bundle

import (
	"encoding/json"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// keys lists the fields of a JSON tree to keep: true keeps the whole value, false only the listed fields in it.
type keys map[string]bool

// fields takes names separated by blanks.
func fields(pruned, whole string) keys {
	k := keys{}
	for name := range strings.FieldsSeq(pruned) {
		k[name] = false
	}
	for name := range strings.FieldsSeq(whole) {
		k[name] = true
	}
	return k
}

// objectKeys describe the size and progress of a workload and the requests of its containers, without environment,
// arguments, data and foreign annotations.
var objectKeys = fields(`
	apiVersion kind metadata name namespace uid generation spec replicas serviceName parallelism completions
	completionMode replicatedJobs template containers initContainers image resources hostNetwork
	serviceAccountName status observedGeneration updateRevision currentRevision readyReplicas updatedReplicas
	currentReplicas availableReplicas active ready failed succeeded
`, `
	labels annotations requests limits
`)

// configKeys are the fields of a CNI configuration about the interface of pods. IPAM plugins have credentials too
// (whereabouts: etcd_password).
var configKeys = fields(`
	cniVersion name type plugins ipam range range_start range_end ipRanges exclude subnet rangeStart rangeEnd
	ranges gateway routes dst gw addresses address master mode mtu vlan vlanQoS vlanProto bridge device deviceID
	pciBusID spoofchk trust link_state min_tx_rate max_tx_rate pkey ibKubernetesEnabled logLevel
`, `
	sysctl capabilities
`)

// sriovKeys are the fields of the spec of a SriovNetwork. Its ipam, capabilities and metaPlugins contain JSON as text.
var sriovKeys = fields(`
	resourceName networkNamespace vlan vlanQoS vlanProto linkState spoofChk trust minTxRate maxTxRate ipam
	capabilities metaPlugins
`, "")

func (k labelKeys) cleanObject(o *cluster.Object) {
	o.Fields = prune(o.Fields, objectKeys)
	k.chooseText(o.Fields)
}

// prune keeps the listed fields of a tree.
func prune(tree map[string]any, allowed keys) map[string]any {
	if tree == nil {
		return nil
	}
	kept := map[string]any{}
	for name, value := range tree {
		whole, ok := allowed[name]
		if ok && !whole {
			value, ok = pruneValue(name, value, allowed)
		}
		if ok {
			kept[name] = value
		}
	}
	return kept
}

func pruneValue(name string, value any, allowed keys) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		return prune(v, allowed), true
	case []any:
		var list []any
		for _, item := range v {
			if item, ok := pruneValue(name, item, allowed); ok {
				list = append(list, item)
			}
		}
		return list, true
	case string:
		switch name {
		case "ipam", "capabilities":
			return cleanConfig(v), true
		case "metaPlugins": // objects with a comma between them
			text := strings.TrimPrefix(cleanConfig(`{"plugins":[`+v+`]}`), `{"plugins":[`)
			return strings.TrimSuffix(text, "]}"), text != ""
		}
		return cleanText(v), true
	}
	return value, true
}

// chooseText keeps the allowed labels and annotations in a tree.
func (k labelKeys) chooseText(tree map[string]any) {
	for name, value := range tree {
		switch v := value.(type) {
		case map[string]any:
			switch name {
			case "labels":
				tree[name] = filterTree(v, k.allows)
			case "annotations":
				tree[name] = filterTree(v, allowsAnnotation)
			default:
				k.chooseText(v)
			}
		case []any:
			for _, item := range v {
				if below, ok := item.(map[string]any); ok {
					k.chooseText(below)
				}
			}
		}
	}
}

func filterTree(tree map[string]any, allows func(key string) bool) map[string]any {
	kept := map[string]any{}
	for key, value := range tree {
		if text, ok := value.(string); ok && allows(key) && !secretName.MatchString(key) {
			kept[key] = cleanText(text)
		}
	}
	return kept
}

// cleanConfig keeps the listed fields of a CNI configuration. It returns "" for text that is not JSON.
func cleanConfig(text string) string {
	var tree map[string]any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return ""
	}
	kept, _ := json.Marshal(prune(tree, configKeys)) // decoded JSON always marshals
	return cleanText(string(kept))
}
