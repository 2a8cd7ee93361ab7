package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

// Quantity is an amount of a resource for a reader: "4 nvidia.com/gpu", "16Gi memory", "500m cpu".
func Quantity(resource string, n int64) string {
	switch {
	case strings.HasSuffix(resource, "cpu") && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + " " + resource
	case strings.HasSuffix(resource, "cpu"):
		return strconv.FormatInt(n, 10) + "m " + resource
	case strings.HasSuffix(resource, "memory"), strings.HasSuffix(resource, "storage"),
		strings.Contains(resource, "hugepages-"):
		return bytesOf(n) + " " + resource
	}
	return strconv.FormatInt(n, 10) + " " + resource
}

func bytesOf(n int64) string {
	for _, unit := range []struct {
		name  string
		shift uint
	}{{"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}} {
		if size := int64(1) << unit.shift; n >= size || n <= -size {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(size), 'f', 1, 64), ".0") + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Holder is a pod that holds some of a node's resource.
type Holder struct {
	Pod   string // namespace/name
	Count int64
}

// Holders are the pods that hold a resource of a node, those with most first.
func (s State) Holders(node, resource string) []Holder {
	var holders []Holder
	for _, p := range s.Pods {
		if n := p.Requests[resource]; p.Node == node && n > 0 && !p.Finished() {
			holders = append(holders, Holder{p.Namespace + "/" + p.Name, n})
		}
	}
	slices.SortStableFunc(holders, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Pod, b.Pod))
	})
	return holders
}

// Usage says how much of a node's resource is free, and which pods hold the rest: "2 of 8 nvidia.com/gpu free, held
// by train/a (6)".
func (s State) Usage(n Node, resource string) string {
	holders := s.Holders(n.Name, resource)
	free := n.Allocatable[resource]
	var held []string
	for _, h := range holders {
		free -= h.Count
		amount, _, _ := strings.Cut(Quantity(resource, h.Count), " ")
		held = append(held, fmt.Sprintf("%s (%s)", h.Pod, amount))
	}
	amount, _, _ := strings.Cut(Quantity(resource, free), " ")
	text := fmt.Sprintf("%s of %s free", amount, Quantity(resource, n.Allocatable[resource]))
	if len(held) > 0 {
		text += ", held by " + words.Few(held, 4)
	}
	return text
}
