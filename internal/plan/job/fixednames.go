package job

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/podspec"
)

// fixedNames warns of variables that name devices: the same pod has other ones on another node. The settings of the
// pods are in their environment or, after an obstacle, in files.
func fixedNames(variables []podspec.Variable, obstacle string, rdma bool) []check.Finding {
	var all []check.Finding
	for _, v := range variables {
		general := strings.HasPrefix(v.Value, "^") || strings.TrimPrefix(v.Value, "=") == "eth0" // of every pod
		if general || !slices.Contains(nccl.NamesDevices, v.Name) {
			continue
		}
		f := check.Finding{
			Check: nccl.UserSetting, Status: check.Warn, Subject: check.EnvRef(v.Name),
			Summary:  fmt.Sprintf("%s=%s is fixed for all pods, but devices differ from node to node", v.Name, v.Value),
			Evidence: check.Observed("environment of the pods", v.Name+"="+v.Value, "not set"),
			Fix:      check.ByUser("Remove it. " + effect(v, obstacle, rdma)),
		}
		switch {
		case v.Source != "":
			f.Status = check.Unknown
			f.Summary = fmt.Sprintf("%s is the same for all pods, but devices differ from node to node: "+
				"its value, %s, was not read", v.Name, v.Source)
			f.Evidence = check.Observed("environment of the pods", v.Name+" from "+v.Source, "not set")
		case v.ByCommand:
			f.Evidence = check.Observed("command of the pods", v.Name+"="+v.Value, "not set")
		}
		all = append(all, f)
	}
	return all
}

// effect says how a variable and the settings of railhead-pod add up.
func effect(v podspec.Variable, obstacle string, rdma bool) string {
	switch {
	case v.ByCommand:
		return "The command sets it after railhead-pod, which cannot replace it."
	case obstacle == "":
		return "railhead-pod sets it in every pod, and replaces a value that contradicts the pod's devices; " +
			"RAILHEAD_KEEP=true keeps it."
	case rdma && nccl.InFile(v.Name):
		return "The settings of the pods are in files, which replace no variable: a pod whose devices the value " +
			"contradicts does not start. RAILHEAD_KEEP=true keeps it."
	}
	return "The settings of the pods are in files, which replace no variable: it is kept, right or wrong."
}

// variablesOf returns those that the options give the pods, and those that their command sets.
func variablesOf(o *Options) []podspec.Variable {
	var all []podspec.Variable
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		all = append(all, podspec.Variable{Name: name, Value: o.Env[name]})
	}
	for _, word := range o.Command {
		all = append(all, podspec.Assigned(word)...)
	}
	if o.Script != nil && path.Ext(o.Script.Name) != ".py" {
		all = append(all, podspec.Assigned(string(o.Script.Content))...)
	}
	return all
}
