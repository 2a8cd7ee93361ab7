package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// Rollback is the plan that takes back exactly what `setup cluster` made, in one rollout. Pools that a broken run left paused are
// resumed. With a finding that is Fail nothing may be written.
func Rollback(s cluster.State) (Plan, []check.Finding) {
	kinds := []cluster.Kind{cluster.Objects}
	if s.Server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.Nodes, cluster.Pools, cluster.MachineConfigs)
	}
	b := &rollback{s: s}
	if len(b.made("SriovNetworkNodePolicy")) > 0 {
		kinds = append(kinds, cluster.Nodes, cluster.SriovPolicies, cluster.SriovNodes)
	}
	if b.findings = unreadable(s, kinds...); len(b.findings) > 0 {
		return Plan{}, b.findings
	}
	steps := b.rolloutSteps()
	steps = append(steps, b.sriovSteps()...) // not before: the operator pauses the pool while it drains a node
	steps = append(steps, b.sccSteps()...)
	if check.Worst(b.findings) == check.Fail {
		return Plan{}, b.findings
	}
	return Plan{Title: "Take back what `railhead setup cluster` made", Steps: steps, Notes: b.notes}, b.findings
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
		if o.Kind == kind && labels[LabelManagedBy] == ManagedBy && labels[LabelComponent] == ComponentSetup {
			objects = append(objects, o)
		}
	}
	return objects
}

func deletion(o cluster.Object) Change {
	metadata := map[string]any{"name": o.Name}
	if o.Namespace != "" {
		metadata["namespace"] = o.Namespace
	}
	return Change{Verb: Delete, Why: "setup cluster made it", Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": metadata,
	}}}
}

func deletions(objects []cluster.Object) []Change {
	changes := make([]Change, 0, len(objects))
	for _, o := range objects {
		changes = append(changes, deletion(o))
	}
	return changes
}

// sriovSteps delete the policies and wait until their devices are gone.
func (b *rollback) sriovSteps() []Step {
	policies := b.made("SriovNetworkNodePolicy")
	if len(policies) == 0 {
		return nil
	}
	ours := func(p cluster.SriovPolicy) bool {
		return slices.ContainsFunc(policies, func(o cluster.Object) bool { return p.Name == o.Name && p.Namespace == o.Namespace })
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
		title += fmt.Sprintf(": %s %s drained", counted(len(names), "node"), verb(len(names)))
	}
	return []Step{{
		ID: "sriov", Title: title, Changes: deletions(policies), Disruption: sriovDisruption(b.s, names),
		Done: sriovGone(names, gone), Watch: []cluster.Kind{cluster.SriovNodes, cluster.Nodes},
	}}
}

// rolloutSteps delete the MachineConfigs while the pools that have them are paused.
func (b *rollback) rolloutSteps() []Step {
	configs := b.made("MachineConfig")
	held := b.held(configs)
	if len(held) == 0 {
		b.running()
		if len(configs) > 0 {
			return []Step{{ID: "machine-configs", Title: "Delete " + counted(len(configs), "MachineConfig") + " that no pool selects", Changes: deletions(configs)}}
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
	write := Step{
		ID: "machine-configs", Title: "Wait until the configuration of " + pools + " is rendered", Changes: deletions(configs),
		Done: TargetRendered(rollouts(held)...), Watch: []cluster.Kind{cluster.Pools},
	}
	if len(configs) > 0 {
		write.Title = fmt.Sprintf("Delete %s while %s %s paused", counted(len(configs), "MachineConfig"), pools, verb(len(held)))
	}
	return append(pauseStep(held), write, resumeStep(held))
}

// running says that a way back which was begun before is not at its end.
func (b *rollback) running() {
	for _, p := range b.s.Pools {
		if nodes := nodesOf(b.s, p.Name); rolling(p, nodes) {
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
		h := hold{Pool: p, Rollout: Rollout{Pool: p.Name}, Nodes: nodesOf(b.s, p.Name)}
		for _, m := range selectedConfigs(p, b.s.MachineConfigs) {
			if slices.ContainsFunc(configs, func(o cluster.Object) bool { return o.Name == m.Name }) {
				h.Without = append(h.Without, m.Name)
			}
		}
		if h.Written = len(h.Without) > 0; !h.Written {
			h.From = p.Annotations[AnnotationFrom]
		}
		if h.Written || inSetup(p) {
			held = append(held, h)
		}
	}
	return held
}

// judge refuses a pool whose way back could not be followed. A degraded pool or a running rollout is what one rolls back from.
func (b *rollback) judge(h hold) {
	subject := check.Subject("pool/" + h.Name)
	if h.Paused && !inSetup(h.Pool) {
		b.findings = append(b.findings, check.Finding{
			Check: PoolNotPaused, Status: check.Fail, Subject: subject,
			Summary:  fmt.Sprintf("pool %s is paused, and not by Railhead: its nodes would keep the configuration%s", h.Name, sriovDrains(b.s, h.Nodes)),
			Evidence: []check.Evidence{{Source: "MachineConfigPool/" + h.Name + " spec.paused", Got: "true", Want: "false"}},
			Fix: &check.Fix{
				Text: "Find out who paused it and why; resume it when they agree.", Who: check.Admin,
				Commands: []string{fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`, h.Name)},
			},
		})
	}
	if c, bad := degraded(h.Pool); bad {
		b.findings = append(b.findings, check.Finding{
			Check: PoolHealthy, Status: check.Warn, Subject: subject,
			Summary:  fmt.Sprintf("pool %s is degraded (%s): %s", h.Name, c.Type, sayCondition(c)),
			Evidence: []check.Evidence{{Source: "MachineConfigPool/" + h.Name + " condition " + c.Type, Got: sayCondition(c), Want: "False"}},
			Fix:      &check.Fix{Text: "If it stays so after the rollback, something else is to blame.", Commands: []string{"oc describe machineconfigpool " + h.Name}, Who: check.Admin},
		})
	}
}

// sccSteps delete the SCC and its role, last: whoever uses it keeps running until then.
func (b *rollback) sccSteps() []Step {
	objects := append(b.made("SecurityContextConstraints"), b.made("ClusterRole")...)
	if len(objects) == 0 {
		return nil
	}
	for _, o := range objects {
		if users := usersOf(b.s, o.Name); o.Kind == "SecurityContextConstraints" && len(users) > 0 {
			b.findings = append(b.findings, sccInUse(o.Name, users))
		}
	}
	return []Step{{ID: "scc", Title: "Delete the security context constraint " + SCCName, Changes: deletions(objects)}}
}

// sccInUse warns of the namespaces whose pods were admitted by an SCC that goes.
func sccInUse(scc string, users []cluster.SCCGrant) check.Finding {
	f := check.Finding{
		Check: SCCUnused, Status: check.Warn, Subject: check.Subject("scc/" + scc),
		Fix: &check.Fix{
			Text: "Running pods stay. New ones of these users are admitted by another SCC, or refused: delete the jobs and the bindings first if that matters.",
			Who:  check.Admin,
		},
	}
	var places []string
	for _, u := range users {
		place := orDefault(u.Namespace, "every namespace")
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
		f.Evidence = append(f.Evidence, check.Evidence{Source: u.By + " in " + place, Got: u.Subject + " may use it", Want: "nobody"})
	}
	slices.Sort(places)
	f.Summary = fmt.Sprintf("SCC %s is still used in %s", scc, inWords(places))
	for _, place := range places {
		if place != "every namespace" {
			f.Fix.Commands = append(f.Fix.Commands, "oc -n "+place+" get rolebindings -o wide")
		}
	}
	return f
}
