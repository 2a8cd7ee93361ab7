package podspec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/railhead/railhead/internal/cluster"
)

// Networks is the annotation that lists the attachments of a pod: names, or JSON.
type Networks struct {
	text    string
	entries []map[string]any // nil: names
	Names   []string         // of attachments, as NAME or NAMESPACE/NAME
}

// NetworksOf reads the annotation of a pod template.
func NetworksOf(template map[string]any) (Networks, error) {
	metadata, _ := template["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[cluster.NetworksAnnotation].(string)
	n := Networks{text: text}
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		n.Names = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		return n, nil
	}
	n.entries = []map[string]any{}
	if err := json.Unmarshal([]byte(text), &n.entries); err != nil {
		return n, fmt.Errorf("read annotation %s: %w", cluster.NetworksAnnotation, err)
	}
	for _, e := range n.entries {
		name := fmt.Sprint(e["name"])
		if ns, ok := e["namespace"].(string); ok && ns != "" {
			name = ns + "/" + name
		}
		n.Names = append(n.Names, name)
	}
	return n, nil
}

// Has reports whether the annotation lists an attachment of the pod's namespace.
func (n Networks) Has(namespace, name string) bool {
	return slices.ContainsFunc(n.Names, func(listed string) bool {
		listed, _, _ = strings.Cut(listed, "@") // name@interface
		return listed == name || listed == namespace+"/"+name
	})
}

// With returns the text of the annotation with attachments of the pod's namespace added. A name that is given several
// times is listed as often. Where the place of an added attachment gives it the name of another one's interface, it
// gets a name of its own.
func (n Networks) With(namespace string, names ...string) (string, error) {
	selections, own := n.selections(), len(n.Names)
	listed := map[string]int{}
	for _, s := range selections {
		listed[strings.TrimPrefix(s.name, namespace+"/")]++
	}
	for _, name := range names {
		if listed[name]--; listed[name] < 0 {
			selections = append(selections, selection{name: name})
		}
	}
	if err := nameInterfaces(selections, own); err != nil {
		return "", err
	}
	switch {
	case len(selections) == own:
		return n.joined(selections), nil
	case n.entries == nil && !slices.ContainsFunc(selections, selection.isDotted):
		return n.joined(selections), nil
	}
	entries := slices.Clone(n.entries)
	for _, s := range selections[len(entries):] {
		entries = append(entries, s.entry())
	}
	data, err := json.Marshal(entries)
	return string(data), err
}

func (n Networks) joined(selections []selection) string {
	if n.entries != nil {
		return n.text
	}
	var all []string
	for _, s := range selections {
		all = append(all, s.String())
	}
	return strings.Join(all, ",")
}

// selection is an entry of the annotation.
type selection struct {
	name  string // NAME or NAMESPACE/NAME
	iface string // "": Multus names it by its place
}

func (n Networks) selections() []selection {
	var all []selection
	for i, text := range n.Names {
		s := selection{name: text}
		if n.entries == nil {
			s.name, s.iface, _ = strings.Cut(text, "@")
		} else {
			s.iface, _ = n.entries[i]["interface"].(string)
		}
		all = append(all, s)
	}
	return all
}

func (s selection) String() string {
	if s.iface == "" {
		return s.name
	}
	return s.name + "@" + s.iface
}

// isDotted reports whether Multus accepts the name in JSON alone (multus-cni 4.2.3 pkg/k8sclient
// parsePodNetworkObjectName).
func (s selection) isDotted() bool { return strings.Contains(s.name, ".") }

func (s selection) entry() map[string]any {
	e := map[string]any{"name": s.name}
	if namespace, name, found := strings.Cut(s.name, "/"); found {
		e["namespace"], e["name"] = namespace, name
	}
	if s.iface != "" {
		e["interface"] = s.iface
	}
	return e
}

// nameInterfaces gives the selections after the first own ones another name where theirs is taken. The n-th attachment
// without a name gets net<n>, whatever the others are called, and of two with one name Multus takes the whole pod's
// network back (multus-cni 4.2.3 pkg/multus getIfname, validateIfName).
func nameInterfaces(all []selection, own int) error {
	taken := map[string]string{"eth0": "the cluster's network"}
	for i := range own {
		name := cmp.Or(all[i].iface, placeName(i))
		if other := taken[name]; other != "" {
			return fmt.Errorf("annotation %s: %s and %s would both get the interface %s, and the pod would not start: "+
				"give each its own name", cluster.NetworksAnnotation, other, all[i].name, name)
		}
		taken[name] = all[i].name
	}
	for i := own; i < len(all); i++ {
		name := placeName(i)
		for free := len(all); taken[name] != ""; free++ {
			name, all[i].iface = placeName(free), placeName(free)
		}
		taken[name] = all[i].name
	}
	return nil
}

func placeName(i int) string { return fmt.Sprintf("net%d", i+1) }
