package podspec

import (
	"fmt"
	"regexp"
	"strings"
)

// Variable is an environment variable of a container.
type Variable struct {
	Name, Value string
	Source      string // of a value that the template does not show: "key hca of ConfigMap settings"
	ByCommand   bool   // the command sets it
}

// Variables returns the variables that a pod template sets in a container, and those that its command sets. Variables
// of envFrom have their names elsewhere.
func Variables(container map[string]any) []Variable {
	var all []Variable
	for _, v := range Items(container["env"]) {
		name, _ := v["name"].(string)
		value, literal := v["value"].(string)
		if source := sourceOf(v["valueFrom"]); literal || source != "" {
			all = append(all, Variable{Name: name, Value: value, Source: source})
		}
	}
	for _, field := range []string{"command", "args"} {
		words, _ := container[field].([]any)
		for _, word := range words {
			text, _ := word.(string)
			all = append(all, Assigned(text)...)
		}
	}
	return all
}

// sourceOf names the object that has the value of a variable; "" if it has none, or its value depends on the pod.
func sourceOf(valueFrom any) string {
	from, _ := valueFrom.(map[string]any)
	for field, kind := range map[string]string{"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"} {
		if ref, ok := from[field].(map[string]any); ok {
			return fmt.Sprintf("key %v of %s %v", ref["key"], kind, ref["name"])
		}
	}
	return ""
}

// assignment matches NAME=value in a shell script, in the arguments of env and behind mpirun -x.
var assignment = regexp.MustCompile(`(?:^|[\s;&|(])([A-Z][A-Z0-9_]*)=("[^"]*"|'[^']*'|[^\s;&|)]*)`)

// comment matches a comment of a shell script.
var comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)

// Assigned returns the variables that a word of a command, or a shell script, sets to the same value in every pod.
func Assigned(text string) []Variable {
	if !strings.Contains(text, "=") {
		return nil
	}
	var all []Variable
	for _, match := range assignment.FindAllStringSubmatch(comment.ReplaceAllString(text, "$1"), -1) {
		if !strings.ContainsAny(match[2], "$`") { // computed in the pod
			all = append(all, Variable{Name: match[1], Value: strings.Trim(match[2], `"'`), ByCommand: true})
		}
	}
	return all
}
