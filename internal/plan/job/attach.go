package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
)

const networksAnnotation = cluster.NetworksAnnotation

// attach lists the rails in the annotation and requests one device for each.
func (p podShape) attach(template, main map[string]any) error {
	if len(p.job.rails) > 0 {
		annotations := child(child(template, "metadata"), "annotations")
		text, _ := annotations[networksAnnotation].(string)
		text, err := withNetworks(text, p.job.Namespace, p.job.rails)
		if err != nil {
			return err
		}
		annotations[networksAnnotation] = text
	}
	for name, n := range perResource(p.job.rails) {
		for _, kind := range []string{"requests", "limits"} {
			have, err := resource.ParseQuantity(fmt.Sprint(amounts(main, kind)[name]))
			if err == nil && have.Value() > n {
				n = have.Value()
			}
		}
		set(main, name, fmt.Sprint(n)) // requests and limits of devices are equal (kubernetes pkg/apis/core/validation)
	}
	return nil
}

// perResource returns the devices of each resource that a pod needs: one for each rail.
func perResource(rails []cluster.Rail) map[string]int64 {
	devices := map[string]int64{}
	for _, r := range rails {
		if r.Driver == "" { // claimed rails are no resources
			devices[r.Resource]++
		}
	}
	return devices
}

// withNetworks adds attachments to an annotation, which is a list of names or JSON.
func withNetworks(text, namespace string, rails []cluster.Rail) (string, error) {
	var entries []map[string]any
	var names []string
	isJSON := strings.HasPrefix(strings.TrimSpace(text), "[")
	if isJSON {
		if err := json.Unmarshal([]byte(text), &entries); err != nil {
			return "", fmt.Errorf("read annotation %s: %w", networksAnnotation, err)
		}
		for _, e := range entries {
			name := fmt.Sprint(e["name"])
			if ns, ok := e["namespace"].(string); ok && ns != "" {
				name = ns + "/" + name
			}
			names = append(names, name)
		}
	} else {
		names = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	}
	existing := len(names)
	for _, r := range rails {
		if !slices.ContainsFunc(names[:existing], func(name string) bool {
			name, _, _ = strings.Cut(name, "@") // name@interface
			return name == r.Network || name == namespace+"/"+r.Network
		}) {
			names = append(names, r.Network)
			entries = append(entries, map[string]any{"name": r.Network})
		}
	}
	switch {
	case !isJSON:
		return strings.Join(names, ","), nil
	case len(names) == existing:
		return text, nil
	}
	data, err := json.Marshal(entries)
	return string(data), err
}
