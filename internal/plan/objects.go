package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// LiveObject returns the object of the State that has the kind, namespace and name of the wanted one.
func LiveObject(s cluster.State, want unstructured.Unstructured) (cluster.Object, bool) {
	return s.Object(want.GetKind(), want.GetNamespace(), want.GetName())
}

// List is a list as unstructured objects hold it.
func List(values []string) []any {
	list := make([]any, 0, len(values))
	for _, v := range values {
		list = append(list, v)
	}
	return list
}

// Unreadable returns the findings about lists that a plan cannot do without.
func Unreadable(s cluster.State, kinds ...cluster.Kind) []check.Finding {
	var findings []check.Finding
	for i, kind := range kinds {
		if s.Knows(kind) || slices.Contains(kinds[:i], kind) {
			continue
		}
		f := check.Finding{
			Check: clusterrules.ClusterReadable, Status: check.Fail, Subject: check.Named(check.List, string(kind)),
			Summary:  fmt.Sprintf("%s could not be read, so nothing can be planned on them", kind),
			Evidence: []check.Evidence{{Source: string(kind), Got: "not read", Want: "the list"}},
		}
		if p := s.Problem(kind); p != nil {
			f.Evidence[0].Got = p.Err
			if p.Forbidden {
				f.Fix = &check.Fix{
					Text: "Let somebody run this who may list them, or get the right from a cluster administrator.",
					Who:  check.Admin,
				}
				if kind != cluster.Objects { // which are of many kinds
					f.Fix.Commands = []string{"kubectl auth can-i list " + string(kind)}
				}
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// ApplyUnlessCovered is the change that writes an object, nil when it is there as wanted.
func ApplyUnlessCovered(s cluster.State, want unstructured.Unstructured, why string) []Change {
	live, ok := s.Object(want.GetKind(), want.GetNamespace(), want.GetName())
	if ok && Covers(live.Fields, want.Object) {
		return nil
	}
	return []Change{{Verb: Apply, Object: want, Why: why}}
}

// SriovNamespace is the namespace of the operator: it looks at no other.
func SriovNamespace(s cluster.State) string {
	for _, n := range s.SriovNodes {
		if n.Namespace != "" {
			return n.Namespace
		}
	}
	for _, p := range s.SriovPolicies {
		if p.Namespace != "" {
			return p.Namespace
		}
	}
	return "openshift-sriov-network-operator"
}
