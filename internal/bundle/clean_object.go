package bundle

import (
	"encoding/json"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// keys are the fields of a JSON tree that may be kept: all the rest goes. A field maps to nil where its whole subtree stays.
type keys map[string]keys

// kept is a subtree of which the same fields stay as of the tree.
var kept = keys{}

// objectKeys are how large a workload is meant to be, how far it is, and what its containers ask for. Environment, arguments,
// annotations of others, and data are none of them.
var objectKeys = keys{
	"apiVersion": kept, "kind": kept, "metadata": kept, "name": kept, "namespace": kept, "uid": kept, "generation": kept, "labels": nil, "annotations": nil,
	"spec": kept, "replicas": kept, "serviceName": kept, "parallelism": kept, "completions": kept, "completionMode": kept, "replicatedJobs": kept,
	"template": kept, "containers": kept, "initContainers": kept, "image": kept, "resources": kept, "requests": nil, "limits": nil,
	"hostNetwork": kept, "serviceAccountName": kept,
	"status": kept, "observedGeneration": kept, "updateRevision": kept, "currentRevision": kept, "readyReplicas": kept, "updatedReplicas": kept,
	"currentReplicas": kept, "availableReplicas": kept, "active": kept, "ready": kept, "failed": kept, "succeeded": kept,
}

// configKeys are those of a CNI configuration that say which interface pods get. IPAM plugins have credentials, too
// (whereabouts: etcd_password).
var configKeys = keys{
	"cniVersion": kept, "name": kept, "type": kept, "plugins": kept, "ipam": kept, "range": kept, "range_start": kept, "range_end": kept, "ipRanges": kept,
	"exclude": kept, "subnet": kept, "rangeStart": kept, "rangeEnd": kept, "ranges": kept, "gateway": kept, "routes": kept, "dst": kept, "gw": kept,
	"addresses": kept, "address": kept, "master": kept, "mode": kept, "mtu": kept, "vlan": kept, "vlanQoS": kept, "vlanProto": kept, "bridge": kept,
	"sysctl": nil, "capabilities": nil, "device": kept, "deviceID": kept, "pciBusID": kept, "spoofchk": kept, "trust": kept, "link_state": kept,
	"min_tx_rate": kept, "max_tx_rate": kept, "pkey": kept, "ibKubernetesEnabled": kept, "logLevel": kept,
}

// sriovKeys are those of a SriovNetwork's spec; ipam, capabilities and metaPlugins hold JSON as text.
var sriovKeys = keys{
	"resourceName": kept, "networkNamespace": kept, "vlan": kept, "vlanQoS": kept, "vlanProto": kept, "linkState": kept, "spoofChk": kept, "trust": kept,
	"minTxRate": kept, "maxTxRate": kept, "ipam": kept, "capabilities": kept, "metaPlugins": kept,
}

func cleanObject(o cluster.Object, labels labelKeys) cluster.Object {
	o.Fields = prune(o.Fields, objectKeys)
	chooseText(o.Fields, labels)
	return o
}

// prune keeps the listed fields of a tree.
func prune(tree map[string]any, allowed keys) map[string]any {
	if tree == nil {
		return nil
	}
	left := map[string]any{}
	for name, value := range tree {
		below, ok := allowed[name]
		switch {
		case !ok:
		case below == nil:
			left[name] = value
		default:
			if value, ok = pruneValue(name, value, allowed); ok {
				left[name] = value
			}
		}
	}
	return left
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

// chooseText leaves of the labels and annotations in a tree those that may be kept.
func chooseText(tree map[string]any, labels labelKeys) {
	for name, value := range tree {
		switch v := value.(type) {
		case map[string]any:
			switch name {
			case "labels":
				tree[name] = asTree(labels.of(asText(v)))
			case "annotations":
				tree[name] = asTree(annotations(asText(v)))
			default:
				chooseText(v, labels)
			}
		case []any:
			for _, item := range v {
				if below, ok := item.(map[string]any); ok {
					chooseText(below, labels)
				}
			}
		}
	}
}

func asText(tree map[string]any) map[string]string {
	text := map[string]string{}
	for key, value := range tree {
		if s, ok := value.(string); ok {
			text[key] = s
		}
	}
	return text
}

func asTree(text map[string]string) map[string]any {
	tree := make(map[string]any, len(text))
	for key, value := range text {
		tree[key] = value
	}
	return tree
}

// cleanConfig keeps the listed fields of a CNI configuration; "" where it is no JSON.
func cleanConfig(text string) string {
	var tree map[string]any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return ""
	}
	left, err := json.Marshal(prune(tree, configKeys))
	if err != nil {
		return ""
	}
	return cleanText(string(left))
}
