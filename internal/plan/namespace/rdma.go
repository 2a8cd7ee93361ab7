package namespace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// rdmaPlugin is the rdma plugin in the form of a network's metaPlugins.
const rdmaPlugin = `{"type":"rdma"}`

// needsRDMAPlugin reports whether the attachments of a resource, whatever its prefix, must chain the rdma plugin. In
// the exclusive RDMA mode (SriovNetworkNodeState status.system.rdmaMode) a device is in one network namespace, and pods
// get it only if that plugin moves it to them; on nodes in the shared mode the plugin fails (rdma-cni README;
// sriov-network-operator test/conformance/tests/test_networkpool.go).
func needsRDMAPlugin(d *draft, resource string) bool {
	var exclusive, shared []string
	for _, state := range d.s.SriovNodes {
		node, _ := d.s.Node(state.Node)
		switch {
		case !offers(d.s, node, resource):
		case state.RDMAMode == "exclusive":
			exclusive = append(exclusive, state.Node)
		case state.RDMAMode != "":
			shared = append(shared, state.Node)
		}
	}
	if len(exclusive) > 0 && len(shared) > 0 {
		d.plan.Report(mixedModes(resource, exclusive, shared))
	}
	return len(exclusive) > 0
}

// offers reports whether a node offers a resource, or will when the operator is done with it.
func offers(s cluster.State, node cluster.Node, resource string) bool {
	for name := range node.Allocatable {
		if path.Base(name) == resource {
			return true
		}
	}
	return slices.ContainsFunc(s.SriovPolicies, func(p cluster.SriovPolicy) bool {
		return p.ResourceName == resource && cluster.Selects(p.NodeSelector, nil, node.Labels)
	})
}

// mixedModes warns that an attachment of a resource cannot work on all of its nodes.
func mixedModes(resource string, exclusive, shared []string) check.Finding {
	return check.Finding{
		Check: pods.SriovCNI, Status: check.Warn, Subject: check.Named(check.Resource, resource),
		Summary: fmt.Sprintf("the RDMA mode of nodes with %s is exclusive on %s and shared on %s: "+
			"its attachments chain the rdma plugin, which the former need and which fails on the latter",
			resource, words.Few(exclusive, 4), words.Few(shared, 4)),
		Evidence: check.Observed("sriovnetworknodestates status.system.rdmaMode",
			"exclusive on "+strings.Join(exclusive, ", ")+"; shared on "+strings.Join(shared, ", "), "one mode"),
		Fix: check.ByAdmin("Set the same rdmaMode for all of them in a SriovNetworkPoolConfig; nodes reboot.",
			"oc get sriovnetworkpoolconfigs -A -o yaml"),
	}
}

// chained returns metaPlugins with a plugin at its end, unless it has one of that type: plugins with commas between
// them, as the operator puts them into the list
// (sriov-network-operator bindata/manifests/cni-config/sriov/sriov-cni-config.yaml).
func chained(metaPlugins, plugin string) string {
	text := strings.TrimSpace(metaPlugins)
	if text == "" {
		return plugin
	}
	var plugins []struct {
		Type string `json:"type"`
	}
	both := text + "," + plugin
	if json.Unmarshal([]byte("["+both+"]"), &plugins) == nil {
		for _, p := range plugins[:len(plugins)-1] {
			if p.Type == plugins[len(plugins)-1].Type {
				return metaPlugins
			}
		}
	}
	return both
}

// chain returns a CNI configuration with the rdma plugin at its end. A single plugin becomes a list of plugins, which
// version 0.3.0 of the specification introduced.
func chain(config string) (string, error) {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(config)))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	if fields == nil {
		return "", errors.New("the configuration is empty")
	}
	list := fields
	if _, isList := fields["plugins"].([]any); !isList {
		list = map[string]any{"plugins": []any{fields}}
		for _, key := range []string{"cniVersion", "name"} {
			if value, ok := fields[key]; ok {
				list[key] = value
				delete(fields, key)
			}
		}
	}
	if v, _ := list["cniVersion"].(string); slices.Contains([]string{"", "0.1.0", "0.2.0"}, v) {
		list["cniVersion"] = "0.3.1"
	}
	list["plugins"] = append(list["plugins"].([]any), map[string]any{"type": "rdma"})
	text, err := json.Marshal(list)
	return string(text), err
}
