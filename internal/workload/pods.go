package workload

import (
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// GangOf returns the name of the job that a pod shares with others; empty if no label names it.
func GangOf(p cluster.Pod) string {
	for _, k := range Kinds {
		if name := p.Labels[k.Label]; k.Label != "" && name != "" {
			return strings.TrimSuffix(name+"-"+p.Labels[k.Group], "-")
		}
	}
	return ""
}

// AlikeOf returns the name of the object whose pods that train all request the same devices; empty if no label names
// it. Kinds that share a label are told apart by the owner.
func AlikeOf(p cluster.Pod) string {
	owner, _, _ := strings.Cut(p.Owner, "/")
	own, _ := Of(owner)
	for _, k := range Kinds {
		name := p.Labels[k.Label]
		if own.Label == k.Label {
			k = own
		}
		if k.Alike && name != "" && Trains(p) {
			return name
		}
	}
	return ""
}

// OwnedBy reports whether an object of a kind and name is the owner of a pod, or the object that its label names.
func OwnedBy(p cluster.Pod, kind, name string) bool {
	if p.Owner == kind+"/"+name {
		return true
	}
	k, ok := Of(kind)
	return ok && k.Label != "" && p.Labels[k.Label] == name
}

// Numbered reports whether the name of a pod ends in its number, as in a StatefulSet.
func Numbered(p cluster.Pod) bool {
	kind, _, _ := strings.Cut(p.Owner, "/")
	k, ok := Of(kind)
	return ok && k.Numbers
}

// Recreated reports whether the controller of a pod replaces it when it ends or fails.
func Recreated(p cluster.Pod) bool {
	kind, _, _ := strings.Cut(p.Owner, "/")
	k, ok := Of(kind)
	return ok && k.Recreates
}
