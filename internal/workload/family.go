package workload

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
)

// Family is a workload that no other workload made, with those that it made and the pods of all: a JobSet with its
// Jobs, a Deployment with its ReplicaSets.
type Family struct {
	cluster.Workload
	Made []cluster.Workload
	Pods []cluster.Pod // those that have ended, too
}

// Families returns the workloads of a State, with the pods that have none. Pods of an owner that was not read, such as
// one of a kind that Railhead does not know, are a workload of its kind and name. If no workloads were read, those that
// Railhead deployed are found by its objects.
func Families(s cluster.State) []Family {
	all, read := s.Workloads, slices.Contains(s.Read, cluster.Workloads)
	if !read {
		all = deployed(s)
	}
	of := map[string]cluster.Workload{}
	for _, w := range all {
		of[key(w.Namespace, w.Kind+"/"+w.Name)] = w
	}
	var families []Family
	at := map[string]int{} // by the key of the root
	for _, w := range all {
		root := rootOf(of, w)
		i, known := at[root]
		if !known {
			i = len(families)
			at[root] = i
			families = append(families, Family{Workload: of[root]})
		}
		if root != key(w.Namespace, w.Kind+"/"+w.Name) {
			families[i].Made = append(families[i].Made, w)
		}
	}
	for _, p := range s.Pods {
		makers := owners(p)
		k := slices.IndexFunc(makers, func(owner string) bool {
			_, known := of[key(p.Namespace, owner)]
			return known
		})
		switch {
		case k >= 0:
			i := at[rootOf(of, of[key(p.Namespace, makers[k])])]
			families[i].Pods = append(families[i].Pods, p)
		case read && ownedByObject(p):
			root := key(p.Namespace, p.Owner)
			i, known := at[root]
			if !known {
				i = len(families)
				at[root] = i
				families = append(families, unread(p))
			}
			families[i].join(p)
		case read:
			families = append(families, alone(p))
		}
	}
	return families
}

// ownedByObject reports whether an object of the namespace owns a pod: a Node owns the static pods of its kubelet.
func ownedByObject(p cluster.Pod) bool {
	return p.Owner != "" && !strings.HasPrefix(p.Owner, "Node/")
}

// unread returns the owner of a pod, which was not read, as a workload without pods.
func unread(p cluster.Pod) Family {
	kind, name, _ := strings.Cut(p.Owner, "/")
	return Family{Workload: cluster.Workload{Kind: kind, Namespace: p.Namespace, Name: name}}
}

// join adds a pod to a workload whose size is known by its pods alone.
func (f *Family) join(p cluster.Pod) {
	f.Pods, f.Templates = append(f.Pods, p), append(f.Templates, p)
	f.Size++
	if !p.Finished() && !p.Deleted {
		f.Wanted++
	}
}

// alone returns a pod that no known workload made as its own workload.
func alone(p cluster.Pod) Family {
	w := cluster.Workload{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Size: 1, Wanted: 1}
	w.Templates = []cluster.Pod{p}
	if p.Finished() || p.Deleted {
		w.Wanted = 0
	}
	return Family{Workload: w, Pods: []cluster.Pod{p}}
}

// Only drops the details of pods outside the family, which a read with Want.Detail has for all pods: the state is then
// like that of a read of one job.
func (f Family) Only(s cluster.State) cluster.State {
	s.Pods = slices.Clone(s.Pods)
	for i, p := range s.Pods {
		if !slices.ContainsFunc(f.Pods, func(own cluster.Pod) bool { return own.UID == p.UID }) {
			p.Labels, p.Annotations, p.Limits, p.Claims, p.Containers = nil, nil, nil, nil, nil
			s.Pods[i] = p
		}
	}
	return s
}

// Deployed reports whether `railhead deploy` wrote the workload.
func (f Family) Deployed() bool {
	return slices.ContainsFunc(f.Templates, func(p cluster.Pod) bool { return OfJob(p, f.Name, f.Namespace) })
}

func key(namespace, object string) string { return namespace + "/" + object }

// rootOf returns the key of the workload that made a workload, directly or through others.
func rootOf(of map[string]cluster.Workload, w cluster.Workload) string {
	for range 4 { // no chain of controllers is longer
		maker, known := of[key(w.Namespace, w.Owner)]
		if !known {
			break
		}
		w = maker
	}
	return key(w.Namespace, w.Kind+"/"+w.Name)
}

// owners returns the workloads that a pod may belong to: its controller, and those that its labels name.
func owners(p cluster.Pod) []string {
	all := []string{p.Owner}
	for _, k := range Kinds {
		if name := p.Labels[k.Label]; k.Label != "" && name != "" {
			all = append(all, k.Name()+"/"+name)
		}
	}
	return all
}

func deployed(s cluster.State) []cluster.Workload {
	var all []cluster.Workload
	for _, o := range s.Objects {
		if k, ok := Of(o.Kind); ok && k.Deployed {
			w := k.Describe(o.Fields)
			w.Namespace, w.Name = o.Namespace, o.Name
			for i := range w.Templates {
				w.Templates[i].Labels = map[string]string{LabelInstance: o.Name, LabelComponent: ComponentJob}
			}
			all = append(all, w)
		}
	}
	return all
}

// WantedPods returns the number of pods that the family should have now.
func (f Family) WantedPods() int {
	if f.Wanted == 0 {
		return 0
	}
	made, wanted := 0, 0
	for _, w := range f.Made {
		isMaker := func(other cluster.Workload) bool { return other.Owner == w.Kind+"/"+w.Name }
		if slices.ContainsFunc(f.Made, isMaker) {
			continue // the JobSet of a TrainJob has the same pods as its Jobs
		}
		made += w.Size
		wanted += w.Wanted
	}
	return wanted + max(0, f.Wanted-made)
}

// Count counts the pods that are ready and those that are not. A pod that has ended or is being deleted is in neither.
func (f Family) Count() (ready, unready int) {
	for _, p := range f.Pods {
		switch {
		case p.Finished(), p.Deleted:
		case p.Ready:
			ready++
		default:
			unready++
		}
	}
	return ready, unready
}

// Succeeded counts the pods that have ended without a fault and that WantedPods still includes: a Job wants fewer pods
// by those that its status counts as succeeded.
func (f Family) Succeeded() int {
	n, leftOut := 0, map[string]int{} // by owner
	for _, w := range f.Members() {
		leftOut[w.Kind+"/"+w.Name] = w.Succeeded
	}
	for _, p := range f.Pods {
		switch {
		case p.Phase != "Succeeded":
		case leftOut[p.Owner] > 0:
			leftOut[p.Owner]--
		default:
			n++
		}
	}
	return n
}

// Members returns the workload and those that it made.
func (f Family) Members() []cluster.Workload {
	return append([]cluster.Workload{f.Workload}, f.Made...)
}

// PodTemplates returns a pod of each template of the workload, or else of those that it made: a TrainJob has none.
func (f Family) PodTemplates() []cluster.Pod {
	all := f.Templates
	for _, w := range f.Made {
		if len(f.Templates) == 0 {
			all = append(all, w.Templates...)
		}
	}
	return all
}

// Events returns the events of the workloads of the family.
func (f Family) Events(s cluster.State) []cluster.Event {
	var events []cluster.Event
	members := f.Members()
	for _, e := range s.Events {
		if slices.ContainsFunc(members, func(w cluster.Workload) bool {
			former := e.UID != "" && w.UID != "" && e.UID != w.UID // an earlier workload of the same name
			return e.Namespace == w.Namespace && e.Object == w.Kind+"/"+w.Name && !former
		}) {
			events = append(events, e)
		}
	}
	return events
}
