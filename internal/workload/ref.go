package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// Ref is the name of a workload on a command line: NAME, or KIND/NAME as kubectl has it.
type Ref struct {
	Kind string // as Workload.Kind; empty: of any kind
	Name string
}

// ParseRef reads NAME or KIND/NAME. KIND may be singular, plural or short, in any case, and have its group. One that
// Railhead does not know stays as it is: Lookup finds its pods by their owner.
func ParseRef(text string) (Ref, error) {
	kind, name, slash := strings.Cut(text, "/")
	if !slash {
		kind, name = "", text
	}
	if name == "" || slash && kind == "" || strings.Contains(name, "/") {
		return Ref{}, fmt.Errorf("%q is neither NAME nor KIND/NAME", text)
	}
	if !slash {
		return Ref{Name: name}, nil
	}
	k, known := first(func(k Kind) bool { return k.called(kind) })
	switch {
	case known && k.Stores:
		return Ref{}, fmt.Errorf("%s: a %s has no pods of its own: name the Job or TrainJob whose pods are made from "+
			"it", text, k.GVK.Kind)
	case !known:
		return Ref{Kind: kind, Name: name}, nil
	}
	return Ref{Kind: k.Name(), Name: name}, nil
}

// called reports whether a word of a command line names the kind.
func (k Kind) called(word string) bool {
	word, group, qualified := strings.Cut(strings.ToLower(word), ".")
	one := strings.ToLower(k.GVK.Kind)
	return (word == one || word == one+"s" || slices.Contains(k.Short, word)) &&
		(!qualified || group == k.GVK.Group)
}

// owns reports whether an object of a kind that is not in the table made a workload.
func (r Ref) owns(w cluster.Workload) bool {
	kind, name, _ := strings.Cut(w.Owner, "/")
	return r.calls(kind) && r.Name == name
}

// String returns the reference as ParseRef reads it.
func (r Ref) String() string {
	if r.Kind == "" {
		return r.Name
	}
	return strings.ToLower(r.Kind) + "/" + r.Name
}

// Known reports whether the reference has no kind, or one of the table.
func (r Ref) Known() bool {
	return r.Kind == "" || slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name() == r.Kind })
}

// Unknown says why a reference to a kind that is not in the table leads to no pods.
func (r Ref) Unknown() string {
	return fmt.Sprintf("no pod there has such an owner, and the kind %s is not known; railhead knows %s",
		r.Kind, strings.ToLower(words.And(names())))
}

// Matches reports whether the reference names a workload.
func (r Ref) Matches(w cluster.Workload) bool {
	return r.Name == w.Name && (r.Kind == "" || r.Kind == w.Kind || r.calls(w.Kind))
}

// calls reports whether the reference has a kind that is not in the table and that names kind, perhaps in the plural or
// with its group.
func (r Ref) calls(kind string) bool {
	word, _, _ := strings.Cut(r.Kind, ".")
	return !r.Known() && (strings.EqualFold(word, kind) || strings.EqualFold(word, kind+"s"))
}

// RefOf returns the reference with the kind of a workload.
func RefOf(w cluster.Workload) Ref { return Ref{Kind: w.Kind, Name: w.Name} }

// ErrNotFound means that no workload has the name.
var ErrNotFound = errors.New("there is no such workload")

// AmbiguousError means that several workloads have the name.
type AmbiguousError struct {
	Ref
	Namespace  string
	Candidates []Ref
}

func (e *AmbiguousError) Error() string {
	var names []string
	for _, c := range e.Candidates {
		names = append(names, c.String())
	}
	return fmt.Sprintf("%s is the name of %d workloads in namespace %s: use %s",
		e.Ref, len(names), e.Namespace, strings.Join(names, " or "))
}

// Lookup returns the workload of a reference, with its family: also if another one made it, as a TrainJob makes a
// JobSet. Without a kind, the job that railhead deployed comes first.
func Lookup(s cluster.State, r Ref, namespace string) (Family, error) {
	is := func(w cluster.Workload) bool { return w.Namespace == namespace && r.Matches(w) }
	own := podsOfJob(s, r.Name, namespace)
	var found, makers []Family
	for _, f := range Families(s) {
		switch {
		case is(f.Workload) && f.Deployed():
			if len(own) > 0 {
				f.Pods = own
			}
			return f, nil
		case is(f.Workload):
			found = append(found, f)
		case slices.ContainsFunc(f.Made, is), f.Namespace == namespace && r.owns(f.Workload):
			makers = append(makers, f)
		}
	}
	if r.Kind == "" && len(own) > 0 { // its object could not be read, or was deleted
		return Family{Workload: cluster.Workload{Namespace: namespace, Name: r.Name}, Pods: own}, nil
	}
	if len(found) == 0 {
		found = makers
	}
	switch len(found) {
	case 0:
		return lonePod(s, r, is)
	case 1:
		return found[0], nil
	}
	e := &AmbiguousError{Ref: r, Namespace: namespace}
	for _, f := range found {
		e.Candidates = append(e.Candidates, RefOf(f.Workload))
	}
	return Family{}, e
}

// lonePod returns the pod of a reference to a pod, which may belong to a workload.
func lonePod(s cluster.State, r Ref, is func(cluster.Workload) bool) (Family, error) {
	for _, p := range s.Pods {
		if w := alone(p); r.Kind == w.Kind && is(w.Workload) {
			return w, nil
		}
	}
	return Family{}, ErrNotFound
}
