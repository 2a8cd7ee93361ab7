package workload

import (
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// RankOf returns the rank that the controller of a pod set, or else the number at the end of its name.
func RankOf(p cluster.Pod) int {
	var numbers []string
	for _, k := range Kinds {
		numbers = append(numbers, p.Annotations[k.Rank.Annotation], p.Labels[k.Rank.Annotation], p.Labels[k.Rank.Label])
	}
	for _, text := range append(numbers, p.Name[strings.LastIndex(p.Name, "-")+1:]) {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			return n
		}
	}
	return 0
}

// GangOf returns the name of the job that a pod shares with others; empty if no label names it.
func GangOf(p cluster.Pod) string {
	for _, k := range Kinds {
		if name := p.Labels[k.Label]; k.Label != "" && name != "" {
			return strings.TrimSuffix(name+"-"+p.Labels[k.Group], "-")
		}
	}
	return ""
}

// AlikeOf returns the name of the object whose pods all request the same devices; empty if no label names it.
func AlikeOf(p cluster.Pod) string {
	for _, k := range Kinds {
		if name := p.Labels[k.Label]; k.Alike && name != "" {
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

// Recreated reports whether the controller of a pod replaces it when it ends or fails.
func Recreated(p cluster.Pod) bool {
	kind, _, _ := strings.Cut(p.Owner, "/")
	k, ok := Of(kind)
	return ok && k.Recreates
}
