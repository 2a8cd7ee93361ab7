// Package job plans training jobs: their pods, the additions to others' manifests, and the removal of both.
package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/access"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Deploy returns the plan that creates the pods of a training job, without the objects that already exist. The plan is
// empty if a finding is Fail.
func Deploy(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	j := newRequest(s, o)
	checkOptions := func() { j.draft.Add(checkFlags(j.job.Options, s.Server)) }
	for _, stage := range []func(){checkOptions, j.place, j.decide, j.unchanged} {
		if stage(); j.draft.Failed() {
			return plan.Plan{}, j.draft.Findings
		}
	}
	return plan.Plan{Title: titleOf(&j.job), Steps: j.steps(), Notes: j.draft.Notes}, j.draft.Findings
}

// Kinds returns the lists that every plan of a job reads. Needs returns the others.
func Kinds(server cluster.Server, o Options) []cluster.Kind {
	kinds := []cluster.Kind{
		cluster.Nodes, cluster.Pods, cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas, cluster.JobObjects,
	}
	if o.PodImage == "" {
		kinds = append(kinds, cluster.ConfigMaps)
	}
	if len(o.Storage.claimNames()) > 0 {
		kinds = append(kinds, cluster.VolumeClaims)
	}
	for _, r := range o.Scheduling.references(cluster.State{}, "") {
		kinds = append(kinds, r.list)
	}
	if o.Mode == nccl.TCP {
		return kinds
	}
	kinds = append(kinds, cluster.Networks)
	if server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.Pools)
	}
	return kinds
}

// Needs returns the lists that must also be read, given the first: the objects of the job if it exists, and what its
// volumes, its claims and its rights need.
func Needs(s cluster.State, o Options) []cluster.Kind {
	var kinds []cluster.Kind
	_, _, exists := workload.Find(s, o.Name, o.Namespace)
	if exists || len(workload.PodsOf(s, workload.Ref{Name: o.Name}, o.Namespace)) > 0 {
		kinds = append(kinds, cluster.Objects)
	}
	if o.Storage.unbound(s, o.Namespace) {
		kinds = append(kinds, cluster.StorageClasses)
	}
	var ofClaims []cluster.Kind
	if o.Mode != nccl.TCP {
		ofClaims = claims.Needs(s, o.Namespace, o.Claims)
	}
	kinds = append(kinds, ofClaims...)
	pods := access.Pods{Rights: o.Rights, RDMA: o.Mode != nccl.TCP, Volumes: o.Storage.Volumes}
	rails := s.UsableRails(o.Namespace)
	for _, n := range s.Nodes {
		offers := func(r cluster.Rail) bool { return r.PerNode[n.Name] > 0 }
		if len(ofClaims) > 0 || slices.ContainsFunc(rails, offers) {
			pods.Nodes = append(pods.Nodes, n)
		}
	}
	return append(kinds, access.Needs(s, pods)...)
}

// job is a job with all decisions; its objects follow from them.
type job struct {
	Options    // with the defaults of the cluster
	rails      []cluster.Rail
	claim      claims.Claim   // if the pods claim their rails
	candidates []cluster.Node // can run a pod once they are free
	access     access.Access
}

// request decides a job on a cluster.
type request struct {
	job    job
	draft  plan.Draft
	s      cluster.State
	others cluster.State // without the job's own pods, whose resources the job may use
}

func newRequest(s cluster.State, o Options) *request {
	setDefaults(&o)
	defaultKind(&o, s)
	defaultGPUs(&o, s)
	return &request{job: job{Options: o}, s: s, others: withoutJob(s, o.Name, o.Namespace)}
}

// withoutJob returns the cluster without the pods of a job and the claims that they hold.
func withoutJob(s cluster.State, job, namespace string) cluster.State {
	all := s.Pods
	owns := func(p cluster.Pod) bool { return workload.OfJob(p, job, namespace) }
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), owns)
	s.ResourceClaims = slices.DeleteFunc(slices.Clone(s.ResourceClaims), func(c cluster.ResourceClaim) bool {
		return c.Namespace == namespace && slices.ContainsFunc(all, func(p cluster.Pod) bool {
			return owns(p) && (p.Name == c.Pod || slices.Contains(c.Users, p.Name))
		})
	})
	return s
}

// decide chooses the rails, the nodes and the privileges of the pods.
func (j *request) decide() {
	j.devices()
	account, d := access.Account(j.s, targetOf(&j.job.Options), j.job.ServiceAccount)
	j.draft.Add(d)
	j.privileges(account, nil)
	j.draft.Add(j.job.Storage.claimsUsable(j.s, j.job.Namespace, j.job.Nodes))
	j.draft.Add(j.job.Scheduling.referencesExist(j.s, targetOf(&j.job.Options)))
	j.draft.Add(j.job.Scheduling.queueActive(j.s, targetOf(&j.job.Options)))
	needs, unset := j.quotaNeeds()
	j.draft.Add(checkQuotas(j.s, targetOf(&j.job.Options), needs, unset))
	j.draft.ReportOnce(fixedNames(variablesOf(&j.job.Options), "", usesRDMA(&j.job.Options))...)
	j.draft.Add(memoryNotes(&j.job.Options))
	if j.job.Scheduling.DisruptionBudget {
		j.draft.Note("The nodes of %s cannot be drained while its pods run, so node updates wait for it.", j.job.Name)
	}
}

// privileges chooses the rights of the pods. mounted has the kinds of the volumes of a manifest, as SCCs list them.
func (j *request) privileges(account string, mounted []string) {
	pods := access.Pods{
		Rights:      j.job.Rights,
		Job:         targetOf(&j.job.Options),
		Account:     account,
		RDMA:        len(j.job.rails) > 0,
		Nodes:       j.job.candidates,
		Volumes:     j.job.Storage.Volumes,
		VolumeKinds: append(j.job.delivery().VolumeKinds(), mounted...),
	}
	if j.job.Script != nil {
		pods.VolumeKinds = append(pods.VolumeKinds, "configMap")
	}
	var d plan.Draft
	j.job.access, d = access.Choose(j.s, pods)
	j.draft.Add(d)
}

func titleOf(j *job) string {
	pods, network := words.Count(j.Nodes, "pod"), "over TCP"
	if j.Nodes > 1 {
		pods += " on separate nodes"
	}
	if j.Mode != nccl.TCP {
		network = "RDMA over " + words.Count(len(j.rails), "rail")
	}
	return fmt.Sprintf("Deploy %s in namespace %s: %s, %s", j.Name, j.Namespace, pods, network)
}

// defaultGPUs chooses the GPU resource that most nodes offer, and the most GPUs that enough nodes have.
func defaultGPUs(o *Options, s cluster.State) {
	counts := map[string][]int{} // resource -> GPUs of each node
	for _, n := range s.Nodes {
		if resource, count := n.GPUs(); count > 0 && o.Scheduling.excluded(s, o.Namespace, n) == "" {
			counts[resource] = append(counts[resource], int(count))
		}
	}
	if o.GPUResource == "" {
		for _, resource := range slices.Sorted(maps.Keys(counts)) {
			if len(counts[resource]) > len(counts[o.GPUResource]) {
				o.GPUResource = resource
			}
		}
		o.GPUResource = cmp.Or(o.GPUResource, "nvidia.com/gpu")
	}
	if of := counts[o.GPUResource]; o.GPUs == 0 && len(of) > 0 {
		slices.Sort(of)
		o.GPUs = of[max(len(of)-max(o.Nodes, 1), 0)]
	}
}

// addChanges adds the objects that are missing or different. Those of a job without pods, whose controller should make
// some, are written again, to wait for the pods.
func (j *request) addChanges(step *plan.Step, d delivery.Delivery, hasPods bool) {
	k := workloadOf(&j.job.Options)
	for _, change := range j.objects(d) {
		live, exists := plan.LiveObject(j.s, change.Object)
		unchanged := exists && change.Verb == plan.Apply && plan.Unchanged(live, change.Object,
			j.job.Scheduling.grows()...)
		if unchanged && (hasPods || !k.Recreates) {
			continue
		}
		step.Changes = append(step.Changes, change)
		if exists && !unchanged && k.Revision != "" && live.Kind == k.GVK.Kind {
			step.Disruption.RestartsPods = true
			j.draft.Note("%s already runs and will change: its pods restart.", j.job.Name)
		}
	}
}

// steps write the missing objects and wait for the pods.
func (j *request) steps() []plan.Step {
	var steps []plan.Step
	d := j.job.delivery()
	if step := d.Step(j.s, j.job.Namespace, plan.Labels(delivery.Component, "")); len(step.Changes) > 0 {
		steps = append(steps, step)
	}
	step := plan.Step{
		ID:    "job",
		Title: fmt.Sprintf("Create the pods of %s and wait until they run", j.job.Name),
		Done:  Done(j.job.Name, j.job.Namespace, j.job.Nodes),
		Watch: []cluster.Kind{cluster.Pods, cluster.Events},
	}
	if j.job.Scheduling.Queue != "" {
		step.Watch = append(step.Watch, cluster.JobObjects) // which tell whether they are suspended
	}
	updatable := workloadOf(&j.job.Options).Revision != ""
	hasPods := len(workload.PodsOf(j.s, workload.Ref{Name: j.job.Name}, j.job.Namespace)) > 0
	if updatable && hasPods {
		step.Watch = append(step.Watch, cluster.StatefulSets) // only its status tells which pods are outdated
	}
	j.addChanges(&step, d, hasPods)
	switch _, _, exists := workload.Find(j.s, j.job.Name, j.job.Namespace); {
	case len(step.Changes) > 0:
		steps = append(steps, step)
	case exists && !hasPods:
		j.draft.Note("%s exists, but has no pods: see %s.", j.job.Name,
			"railhead status "+j.job.Name+" -n "+j.job.Namespace)
	case exists && !step.Done(j.s).Done: // an interrupted deploy continues to wait
		step.Title = fmt.Sprintf("Wait until the pods of %s run", j.job.Name)
		steps = append(steps, step)
	}
	return steps
}
