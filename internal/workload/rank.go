package workload

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// Ranks returns the rank of each pod of a workload: the number that its controller set, if that is unique, and else its
// place in the order of the table. A pod that replaces another has the same rank. Pods that do not train come last.
func (f Family) Ranks() []int {
	places := make([]place, len(f.Pods))
	for i, p := range f.Pods {
		places[i] = placeOf(p)
		places[i].helps = !f.Trains(p)
	}
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, place.compare)
	sorted = slices.CompactFunc(sorted, func(a, b place) bool { return a.compare(b) == 0 })
	training := slices.IndexFunc(sorted, func(p place) bool { return p.helps })
	if training < 0 {
		training = len(sorted)
	}
	first := 0
	numbered := !slices.ContainsFunc(sorted[:training], func(p place) bool {
		return p.number < 0 || !slices.Equal(p.before, sorted[0].before)
	})
	if numbered && training > 0 {
		first = sorted[training-1].number + 1 - training // of the helpers, after the last rank
	}
	ranks := make([]int, len(f.Pods))
	for i, p := range places {
		if ranks[i] = p.number; p.helps || !numbered {
			at, _ := slices.BinarySearchFunc(sorted, p, place.compare)
			ranks[i] = first + at
		}
	}
	return ranks
}

// place orders a pod among the pods of its workload.
type place struct {
	helps  bool     // it does not train
	before []string // the labels that count more than the number
	number int      // set by the controller; -1: none
	name   string   // of a pod without a number
}

func placeOf(p cluster.Pod) place {
	at := place{number: -1}
	for _, k := range slices.Backward(Kinds) { // a controller that uses another one stands behind it in the table
		for _, label := range k.Order {
			at.before = append(at.before, p.Labels[label])
		}
		text := cmp.Or(p.Annotations[k.Rank.Annotation], p.Labels[k.Rank.Annotation], p.Labels[k.Rank.Label])
		if n, err := strconv.Atoi(text); err == nil && at.number < 0 {
			at.number = n
		}
	}
	if n, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:]); err == nil && at.number < 0 && Numbered(p) {
		at.number = n // of a StatefulSet; its label is missing before Kubernetes 1.28
	}
	if at.number < 0 {
		at.name = p.Name
	}
	return at
}

func (a place) compare(b place) int {
	if a.helps != b.helps {
		if a.helps {
			return 1
		}
		return -1
	}
	return cmp.Or(slices.CompareFunc(a.before, b.before, words.Natural),
		cmp.Compare(a.number, b.number), words.Natural(a.name, b.name))
}

// Trains reports whether a pod of the workload takes part in the training.
func (f Family) Trains(p cluster.Pod) bool {
	k, _ := Of(f.Kind)
	return Trains(p) && !(k.Submits && strings.HasPrefix(p.Owner, "Job/"))
}

// Trains reports whether a pod takes part in the training. A launcher of MPI does if it has GPUs.
func Trains(p cluster.Pod) bool {
	if p.Requests.GPUs() > 0 {
		return true
	}
	for _, k := range Kinds {
		for _, label := range k.Part {
			if k.Templates[0].Roles[strings.ToLower(p.Labels[label])] > Leader {
				return false
			}
		}
	}
	return true
}

// TrainContainer is the container of the pods of `railhead deploy`.
const TrainContainer = "train"

// Trainer returns the name of the container that trains: the first that runs railhead-pod or else requests GPUs, or
// else has the name that deploy gives it, or else runs; or else the first.
func Trainer(containers []cluster.Container) string {
	for _, is := range []func(cluster.Container) bool{
		func(c cluster.Container) bool { return len(c.Command) > 0 && path.Base(c.Command[0]) == "railhead-pod" },
		func(c cluster.Container) bool { return c.GPUs },
		func(c cluster.Container) bool { return c.Name == TrainContainer },
		func(c cluster.Container) bool { return c.Running },
		func(cluster.Container) bool { return true },
	} {
		for _, c := range containers {
			if !c.Init && is(c) {
				return c.Name
			}
		}
	}
	return ""
}
