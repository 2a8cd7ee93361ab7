package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/pods"
)

// LiveObject returns the object of the State that has the kind, namespace and name of the wanted one.
func LiveObject(s cluster.State, want unstructured.Unstructured) (cluster.Object, bool) {
	return s.Object(want.GetKind(), want.GetNamespace(), want.GetName())
}

// OrNone lists names, or says that there are none.
func OrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// List returns a list as unstructured objects have it.
func List(values []string) []any {
	list := make([]any, 0, len(values))
	for _, v := range values {
		list = append(list, v)
	}
	return list
}

// Unreadable returns the findings about required lists that could not be read.
func Unreadable(s cluster.State, kinds ...cluster.Kind) []check.Finding {
	var findings []check.Finding
	shown := false // the commands for the roles
	for i, kind := range kinds {
		if s.Knows(kind) || slices.Contains(kinds[:i], kind) {
			continue
		}
		f := check.Finding{
			Check: clusterrules.ClusterReadable, Status: check.Fail, Subject: check.Named(check.List, string(kind)),
			Summary:  fmt.Sprintf("%s could not be read, so no plan can be made", listOf(kind, s.Problem(kind))),
			Evidence: check.Observed(string(kind), "not read", "the list"),
		}
		p := s.Problem(kind)
		if p != nil {
			f.Evidence[0].Got = p.Err
		}
		switch {
		case p != nil && p.Denied != "" && shown:
			f.Fix = check.ByAdmin("The same roles give this right.")
		case p != nil && p.Denied != "":
			f.Fix, shown = administratorRoles(p.Denied), true
		case p != nil && p.Grant != "":
			f.Fix = check.ByAdmin("Give the right to list them.", p.Grant)
		case p != nil && p.Forbidden:
			f.Fix = check.ByAdmin("Run this as a user who may list them, or ask a cluster administrator for the right.")
			if kind != cluster.Objects { // which are of many kinds
				f.Fix.Commands = []string{"kubectl auth can-i list " + string(kind)}
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// listOf names a list that could not be read. Objects are of several kinds.
func listOf(kind cluster.Kind, p *cluster.Problem) string {
	if kind == cluster.Objects && p != nil && p.Resource != "" {
		return p.Resource + " with Railhead's label"
	}
	return string(kind)
}

// AdministratorRoles names the roles that give the rights of the setup commands.
const AdministratorRoles = "the ClusterRoles railhead-reader and railhead-administrator " +
	"(docs/rights.md, Administrators)"

// administratorRoles tells how a user gets the rights of the setup commands, as in docs/rights.md.
func administratorRoles(user string) *check.Fix {
	return check.ByAdmin("Run this as a cluster administrator, or give "+user+" "+AdministratorRoles+".",
		"kubectl apply -f docs/rights/reader.yaml -f docs/rights/administrator.yaml",
		"kubectl create clusterrolebinding rdma-reader --clusterrole railhead-reader --user "+user,
		"kubectl create clusterrolebinding rdma-admin --clusterrole railhead-administrator --user "+user)
}

// Unchanged reports whether applying an object would change nothing: the live one has all its fields, and no others
// from an earlier apply. Lists named by growing may have more items.
func Unchanged(live cluster.Object, want unstructured.Unstructured, growing ...string) bool {
	return Covers(live.Fields, want.Object, growing...) && !Drops(live.Applied, want.Object)
}

// ApplyIfChanged returns the change that writes an object, or nil if it would change nothing.
func ApplyIfChanged(s cluster.State, want unstructured.Unstructured, why string) []Change {
	if live, ok := LiveObject(s, want); ok && Unchanged(live, want) {
		return nil
	}
	return []Change{{Verb: Apply, Object: want, Why: why}}
}

// ExplainPod returns why a pod is not ready, from its status and events; ok is false if nothing is wrong.
func ExplainPod(s cluster.State, pod cluster.Pod) (o check.Obstacle, ok bool) {
	var events []cluster.Event
	for _, e := range s.Events {
		ofPredecessor := e.UID != "" && pod.UID != "" && e.UID != pod.UID
		if e.Namespace == pod.Namespace && e.Object == "Pod/"+pod.Name && !ofPredecessor {
			events = append(events, e)
		}
	}
	return pods.Explain(pod, events, s)
}
