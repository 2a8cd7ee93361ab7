package namespace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// exclusiveMode is the mode of a node's RDMA subsystem in which a device is in one network namespace
// (SriovNetworkNodeState status.system.rdmaMode). Pods then get it only where the attachment chains the rdma plugin,
// which moves it to them, and which fails on nodes of the other mode (rdma-cni README; sriov-network-operator
// test/conformance/tests/test_networkpool.go).
const exclusiveMode = "exclusive"

// rdmaPlugin is the rdma plugin in the form of a network's metaPlugins.
const rdmaPlugin = `{"type":"rdma"}`

// exclusive reports whether the attachments of a resource, whatever its prefix, must chain the rdma plugin.
func (b *namespace) exclusive(resource string) bool {
	var moved, shared []string
	for _, state := range b.s.SriovNodes {
		node, _ := b.s.Node(state.Node)
		switch {
		case !b.offers(node, resource):
		case state.RDMAMode == exclusiveMode:
			moved = append(moved, state.Node)
		case state.RDMAMode != "":
			shared = append(shared, state.Node)
		}
	}
	if len(moved) > 0 && len(shared) > 0 {
		b.mixedModes(resource, moved, shared)
	}
	return len(moved) > 0
}

// offers reports whether a node offers a resource, or will when the operator is done with it.
func (b *namespace) offers(node cluster.Node, resource string) bool {
	return slices.ContainsFunc(
		slices.Collect(maps.Keys(node.Allocatable)), func(name string) bool { return base(name) == resource },
	) ||
		slices.ContainsFunc(b.s.SriovPolicies, func(p cluster.SriovPolicy) bool {
			return p.ResourceName == resource && cluster.Selects(p.NodeSelector, nil, node.Labels)
		})
}

// mixedModes warns that an attachment of a resource cannot serve all of its nodes.
func (b *namespace) mixedModes(resource string, moved, shared []string) {
	b.say(check.Finding{
		Check: pods.SriovCNI, Status: check.Warn, Subject: check.Named(check.Resource, resource),
		Summary: fmt.Sprintf(
			"the RDMA subsystem of nodes with %s is in exclusive mode on %s and in shared mode on %s: its attachments chain the rdma plugin, without which pods get no device on the former and with which they fail on the latter",
			resource, words.Few(moved, 4), words.Few(shared, 4),
		),
		Evidence: []check.Evidence{
			{
				Source: "sriovnetworknodestates status.system.rdmaMode",
				Got:    "exclusive on " + strings.Join(moved, ", ") + "; shared on " + strings.Join(shared, ", "),
				Want:   "one mode",
			},
		},
		Fix: &check.Fix{
			Text:     "Set rdmaMode for all of them alike in a SriovNetworkPoolConfig; nodes reboot.",
			Who:      check.Admin,
			Commands: []string{"oc get sriovnetworkpoolconfigs -A -o yaml"},
		},
	})
}

// chained are metaPlugins with the rdma plugin among them: plugins with commas between, as the operator puts them into
// the list (sriov-network-operator bindata/manifests/cni-config/sriov/sriov-cni-config.yaml).
func chained(metaPlugins string) string {
	var there []struct {
		Type string `json:"type"`
	}
	text := strings.TrimSpace(metaPlugins)
	if text == "" {
		return rdmaPlugin
	}
	if json.Unmarshal([]byte("["+text+"]"), &there) == nil {
		for _, p := range there {
			if p.Type == "rdma" {
				return metaPlugins
			}
		}
	}
	return text + "," + rdmaPlugin
}

// chain is a CNI configuration with the rdma plugin at its end: a list of plugins is made of a single one, which lists
// have been since version 0.3.0 of the specification.
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
			if value, said := fields[key]; said {
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
