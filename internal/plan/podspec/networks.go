package podspec

import (
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
// times is listed as often.
func (n Networks) With(namespace string, names ...string) (string, error) {
	all, entries := slices.Clone(n.Names), n.entries
	listed := map[string]int{}
	for _, name := range n.Names {
		name, _, _ = strings.Cut(name, "@") // name@interface
		listed[strings.TrimPrefix(name, namespace+"/")]++
	}
	for _, name := range names {
		if listed[name]--; listed[name] < 0 {
			all = append(all, name)
			entries = append(entries, map[string]any{"name": name})
		}
	}
	switch {
	case n.entries == nil:
		return strings.Join(all, ","), nil
	case len(all) == len(n.Names):
		return n.text, nil
	}
	data, err := json.Marshal(entries)
	return string(data), err
}
