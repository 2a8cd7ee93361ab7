package setup

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// Rollback returns the plan that removes exactly the objects of `setup cluster`, in one rollout. Pools that a broken
// run left paused are resumed. With a finding that is Fail nothing may be written.
func Rollback(s cluster.State) (plan.Plan, []check.Finding) {
	kinds := []cluster.Kind{cluster.Objects}
	if s.Server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.Nodes, cluster.Pools, cluster.MachineConfigs)
	}
	b := &rollback{s: s}
	if len(b.made("SriovNetworkNodePolicy")) > 0 {
		kinds = append(kinds, cluster.Nodes, cluster.SriovPolicies, cluster.SriovNodes)
	}
	if b.findings = plan.Unreadable(s, kinds...); len(b.findings) > 0 {
		return plan.Plan{}, b.findings
	}
	steps := b.rolloutSteps()
	steps = append(steps, b.sriovSteps()...) // not before: the operator pauses the pool while it drains a node
	steps = append(steps, b.sccSteps()...)
	if check.Worst(b.findings) == check.Fail {
		return plan.Plan{}, b.findings
	}
	return plan.Plan{Title: "Take back what `railhead setup cluster` made", Steps: steps, Notes: b.notes}, b.findings
}

type rollback struct {
	s        cluster.State
	findings []check.Finding
	notes    []string
}

// made are the objects of a kind that setup made.
func (b *rollback) made(kind string) []cluster.Object {
	var objects []cluster.Object
	for _, o := range b.s.Objects {
		metadata, _ := o.Fields["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		if o.Kind == kind && labels[plan.LabelManagedBy] == plan.ManagedBy && labels[plan.LabelComponent] == ComponentSetup {
			objects = append(objects, o)
		}
	}
	return objects
}

func deletion(o cluster.Object) plan.Change {
	metadata := map[string]any{"name": o.Name}
	if o.Namespace != "" {
		metadata["namespace"] = o.Namespace
	}
	return plan.Change{
		Verb: plan.Delete,
		Why:  "setup cluster made it",
		Object: unstructured.Unstructured{Object: map[string]any{
			"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata,
		}},
	}
}

func deletions(objects []cluster.Object) []plan.Change {
	changes := make([]plan.Change, 0, len(objects))
	for _, o := range objects {
		changes = append(changes, deletion(o))
	}
	return changes
}

// sriovSteps delete the policies and wait until their devices are gone.
func (b *rollback) sriovSteps() []plan.Step {
	policies := b.made("SriovNetworkNodePolicy")
	if len(policies) == 0 {
		return nil
	}
	ours := func(p cluster.SriovPolicy) bool {
		return slices.ContainsFunc(
			policies, func(o cluster.Object) bool { return p.Name == o.Name && p.Namespace == o.Namespace },
		)
	}
	var names []string
	gone, stays := map[string][]string{}, map[string][]string{}
	for _, p := range b.s.SriovPolicies {
		for _, node := range nodesWith(b.s, p) {
			if !ours(p) {
				stays[node] = append(stays[node], p.ResourceName)
				continue
			}
			names = append(names, node)
			gone[node] = append(gone[node], p.ResourceName)
		}
	}
	for node, resources := range gone {
		gone[node] = slices.DeleteFunc(resources, func(r string) bool { return slices.Contains(stays[node], r) })
	}
	slices.Sort(names)
	names = slices.Compact(names)
	title := "Delete " + countedPolicies(len(policies))
	if len(names) > 0 {
		title += fmt.Sprintf(": %s %s drained", words.Count(len(names), "node"), verb(len(names)))
	}
	return []plan.Step{{
		ID: "sriov", Title: title, Changes: deletions(policies), Disruption: sriovDisruption(b.s, names),
		Done: sriovGone(names, gone), Watch: []cluster.Kind{cluster.SriovNodes, cluster.Nodes},
	}}
}

// rolloutSteps delete the MachineConfigs while the pools that have them are paused.
func (b *rollback) rolloutSteps() []plan.Step {
	configs := b.made("MachineConfig")
	held := b.held(configs)
	if len(held) == 0 {
		b.running()
		if len(configs) > 0 {
			return []plan.Step{
				{
					ID:      "machine-configs",
					Title:   "Delete " + words.Count(len(configs), "MachineConfig") + " that no pool selects",
					Changes: deletions(configs),
				},
			}
		}
		return nil
	}
	for _, h := range held {
		b.judge(h)
		if names := h.reboots(); len(names) > 0 {
			b.notes = append(b.notes, rebootNote(h, len(names), 0))
		}
	}
	pools := poolsInWords(holdNames(held))
	write := plan.Step{
		ID:      "machine-configs",
		Title:   "Wait until the configuration of " + pools + " is rendered",
		Changes: deletions(configs),
		Done:    TargetRendered(rollouts(held)...),
		Watch:   []cluster.Kind{cluster.Pools},
	}
	if len(configs) > 0 {
		write.Title = fmt.Sprintf(
			"Delete %s while %s %s paused", words.Count(len(configs), "MachineConfig"), pools, verb(len(held)),
		)
	}
	return append(pauseStep(held), write, resumeStep(held))
}

// running says that a way back which was begun before is not at its end.
func (b *rollback) running() {
	for _, p := range b.s.Pools {
		if nodes := b.s.NodesOf(p.Name); p.Rolling(nodes) {
			b.notes = append(b.notes, rollingNote(p, nodes))
		}
	}
}

// held are the pools that have the MachineConfigs, or that setup has in hand.
func (b *rollback) held(configs []cluster.Object) []hold {
	pools := slices.Clone(b.s.Pools)
	slices.SortFunc(pools, byName)
	var held []hold
	for _, p := range pools {
		h := hold{Pool: p, Rollout: clusterrules.Rollout{Pool: p.Name}, Nodes: b.s.NodesOf(p.Name)}
		for _, m := range plan.SelectedConfigs(p, b.s.MachineConfigs) {
			if slices.ContainsFunc(configs, func(o cluster.Object) bool { return o.Name == m.Name }) {
				h.Without = append(h.Without, m.Name)
			}
		}
		if h.Written = len(h.Without) > 0; !h.Written {
			h.From = p.Annotations[cluster.AnnotationFrom]
		}
		if h.Written || p.InSetup() {
			held = append(held, h)
		}
	}
	return held
}

// judge refuses a pool whose way back could not be followed. A degraded pool or a running rollout is what one rolls
// back from.
func (b *rollback) judge(h hold) {
	subject := check.Named(check.Pool, h.Name)
	if h.Paused && !h.Pool.InSetup() {
		b.findings = append(b.findings, check.Finding{
			Check: clusterrules.PoolNotPaused, Status: check.Fail, Subject: subject,
			Summary: fmt.Sprintf(
				"pool %s is paused, and not by Railhead: its nodes would keep the configuration%s", h.Name,
				clusterrules.SriovDrains(b.s, h.Nodes),
			),
			Evidence: []check.Evidence{
				{Source: "MachineConfigPool/" + h.Name + " spec.paused", Got: "true", Want: "false"},
			},
			Fix: &check.Fix{
				Text: "Find out who paused it and why; resume it when they agree.", Who: check.Admin,
				Commands: []string{
					fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`, h.Name),
				},
			},
		})
	}
	if c, bad := h.Pool.WhyDegraded(); bad {
		b.findings = append(b.findings, check.Finding{
			Check: clusterrules.PoolHealthy, Status: check.Warn, Subject: subject,
			Summary: fmt.Sprintf("pool %s is degraded (%s): %s", h.Name, c.Type, c.Why()),
			Evidence: []check.Evidence{
				{Source: "MachineConfigPool/" + h.Name + " condition " + c.Type, Got: c.Why(), Want: "False"},
			},
			Fix: &check.Fix{
				Text:     "If it stays so after the rollback, something else is to blame.",
				Commands: []string{"oc describe machineconfigpool " + h.Name},
				Who:      check.Admin,
			},
		})
	}
}

// sccSteps delete the SCC and its role, last: whoever uses it keeps running until then.
func (b *rollback) sccSteps() []plan.Step {
	objects := append(b.made("SecurityContextConstraints"), b.made("ClusterRole")...)
	if len(objects) == 0 {
		return nil
	}
	for _, o := range objects {
		if users := usersOf(b.s, o.Name); o.Kind == "SecurityContextConstraints" && len(users) > 0 {
			b.findings = append(b.findings, sccInUse(o.Name, users))
		}
	}
	return []plan.Step{
		{ID: "scc", Title: "Delete the security context constraint " + plan.SCCName, Changes: deletions(objects)},
	}
}

// sccInUse warns of the namespaces whose pods were admitted by an SCC that goes.
func sccInUse(scc string, users []cluster.SCCGrant) check.Finding {
	f := check.Finding{
		Check: SCCUnused, Status: check.Warn, Subject: check.Named(check.SCC, scc),
		Fix: &check.Fix{
			Text: "Running pods stay. New ones of these users are admitted by another SCC, or refused: delete the jobs and the bindings first if that matters.",
			Who:  check.Admin,
		},
	}
	var places []string
	for _, u := range users {
		place := cmp.Or(u.Namespace, "every namespace")
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: u.By + " in " + place,
			Got:    u.Subject + " may use it",
			Want:   "nobody",
		})
	}
	slices.Sort(places)
	f.Summary = fmt.Sprintf("SCC %s is still used in %s", scc, words.And(places))
	for _, place := range places {
		if place != "every namespace" {
			f.Fix.Commands = append(f.Fix.Commands, "oc -n "+place+" get rolebindings -o wide")
		}
	}
	return f
}
