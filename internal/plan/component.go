package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// RefuseNamespace returns why a component cannot have its namespace: it is being deleted, or somebody else's.
func RefuseNamespace(s cluster.State, name, component string) []check.Finding {
	n, exists := s.Namespace(name)
	_, ours := s.Object("Namespace", "", name)
	f := check.Finding{Status: check.Fail, Subject: check.Named(check.Namespace, name)}
	switch {
	case n.Terminating:
		f.Check = NamespaceReady
		f.Summary = "namespace " + name + " is being deleted: nothing can be created in it"
		f.Evidence = check.Observed("status.phase", "Terminating", "Active")
		f.Fix = check.ByAdmin("Wait until it is gone, then run this again.")
	case exists && !ours:
		f.Check = NameFree
		f.Summary = "namespace " + name + " exists and was not created by Railhead"
		f.Evidence = check.Observed("namespace/"+name+" label "+LabelManagedBy, "none", ManagedBy)
		f.Fix = check.ByAdmin("Delete it, or label it so that Railhead uses it.", fmt.Sprintf(
			"kubectl label namespace %s %s=%s %s=%s", name, LabelManagedBy, ManagedBy, LabelComponent, component))
	default:
		return nil
	}
	return []check.Finding{f}
}

// DeleteComponent returns the changes that delete the objects of a component, in the order of the kinds. Those that are
// being deleted, such as a namespace whose pods still end, are left out.
func DeleteComponent(s cluster.State, component, why string, kinds ...string) []Change {
	var changes []Change
	for _, kind := range kinds {
		for _, o := range s.Objects {
			live := unstructured.Unstructured{Object: o.Fields}
			if o.Kind == kind && live.GetLabels()[LabelComponent] == component && live.GetDeletionTimestamp() == nil {
				changes = append(changes, Deletion(o, why))
			}
		}
	}
	return changes
}

// AddPods adds the pods of a namespace, and what keeps them from running.
func (p *Progress) AddPods(s cluster.State, namespace string) {
	for _, pod := range s.Pods {
		if pod.Namespace != namespace {
			continue
		}
		item := Item{Name: pod.Name, State: pod.Phase, Done: pod.Ready}
		if o, wrong := ExplainPod(s, pod); wrong {
			item.Note = o.Summary
			p.AddObstacle(o)
		}
		p.Items = append(p.Items, item)
	}
}
