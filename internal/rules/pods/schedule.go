package pods

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The messages of the scheduler (kubernetes v1.36 pkg/scheduler/framework/types.go FitError, plugins/*/ErrReason*) and
// of the kubelet, which checks the same again (pkg/kubelet/lifecycle/predicate.go).
var (
	insufficient = anyCase(`\binsufficient (cpu|memory|pods|ephemeral-storage|hugepages-\w+|` +
		`[A-Za-z0-9._-]+/[A-Za-z0-9._-]*[A-Za-z0-9])`)
	outOf      = anyOf(`Node didn't have enough resource: ([^\s,]+), requested: (\d+)`)
	nodeReason = anyOf(`(\d+) (node\(s\) (?:[^,.{]|\{[^}]*\}|\.\d)+|Too many pods)`)
	unfitNode  = anyOf(
		`taint`,
		`unschedulable`,
		`affinity`,
		`selector`,
		`topology spread`,
		`requested node name`,
		`node\(s\) were not ready`,
		`Too many pods`,
		`required features`,
	)
	cordoned      = anyOf(`unschedulable`, `not ready`)
	oneEach       = anyOf(`anti-affinity`, `topology spread`)
	besideOthers  = anyOf(`pod affinity rules`)
	fullNode      = anyOf(`Too many pods`)
	unboundVolume = anyCase(
		`unbound immediate PersistentVolumeClaim`,
		`persistentvolumeclaim "[^"]*" (not found|is being deleted|bound to non-existent)`,
		`available persistent volumes to bind`,
		`bound to non-existent pv`,
		`binding volumes: `,
		`enough free storage`,
	)
	unfitVolume = anyCase(
		`volume node affinity conflict`,
		`PersistentVolume's node affinity`,
		`available volume zone`,
		`max volume count`,
		`ReadWriteOncePod`,
		`had no available disk`,
	)
	// passingTaint matches a taint of a node that is not ready, cordoned or short of something (k8s.io/api/core/v1
	// well_known_taints.go); unnamedTaint is all that newer schedulers report of any (kubernetes v1.36
	// pkg/scheduler/framework/plugins/tainttoleration).
	passingTaint = anyOf(`untolerated taint(?:\(s\))? \{node\.(?:cloudprovider\.)?kubernetes\.io/`)
	unnamedTaint = anyOf(`untolerated taint\(s\)(?: *[,.]|$)`)
	takenPort    = anyOf(`have free ports`)
)

// unscheduled explains the report of the scheduler, or of the kubelet in its place, about the nodes.
func unscheduled(t target, sym symptom) check.Finding {
	text := beforePreemption(sym)
	var short []string
	for _, form := range []*regexp.Regexp{insufficient, outOf} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			short = append(short, m[1])
		}
	}
	switch {
	case len(short) > 0:
		slices.Sort(short)
		return t.shortOf(slices.Compact(short), text)
	case takenPort.MatchString(text):
		return failure(HostPort, t.name()+" requests a host port that is taken on every node that fits",
			check.ByUser("Remove hostPort: pods of a job reach each other on their own addresses."))
	}
	return t.unfit(text)
}

// beforePreemption cuts the part about other pods that could be evicted, which does not say what is missing.
func beforePreemption(s symptom) string {
	text, _, _ := strings.Cut(s.text, "preemption:")
	return text
}

// noNodeFits reports whether a symptom is such a report.
func noNodeFits(s symptom) bool {
	text := beforePreemption(s)
	return inText(insufficient, outOf, takenPort, unfitNode)(symptom{text: text}) && !celError.MatchString(text)
}

// nodeReasons returns the scheduler's reasons with the numbers of nodes.
func nodeReasons(text string) []string {
	var reasons []string
	for _, m := range nodeReason.FindAllStringSubmatch(text, -1) {
		reasons = append(reasons, m[1]+" "+strings.TrimSpace(m[2]))
	}
	return reasons
}

// unfit explains that nodes do not fit the pod for other reasons than resources.
func (t target) unfit(text string) check.Finding {
	reasons := cmp.Or(strings.Join(nodeReasons(text), ", "), quote(text))
	if f, found := pinned(t, reasons); found {
		return f
	}
	f := t.noNode("no node fits "+t.name()+": "+reasons, text)
	const most = 8
	for _, n := range t.s.Nodes {
		why, ok := n.Schedulable()
		if ok {
			continue
		}
		f.About = append(f.About, check.NodeRef(n.Name))
		if len(f.Evidence) < most {
			f.Evidence = append(f.Evidence, check.Evidence{Source: "node/" + n.Name, Got: why})
		}
	}
	return f
}

// noNode returns a finding with the fix for the scheduler's reasons other than resources.
func (t target) noNode(summary, text string) check.Finding {
	f := failure(NodeSelection, summary, check.ByUser("", "railhead inventory"))
	switch {
	case cordoned.MatchString(text) || passingTaint.MatchString(text):
		f.Status, f.Fix.Text = check.Warn, waitForNodes
	case oneEach.MatchString(text):
		f.Fix.Text = "Each pod of a job needs a node of its own, and too few nodes fit: request fewer nodes."
	case besideOthers.MatchString(text):
		f.Fix.Text = "Its affinity requires a node with certain other pods: remove podAffinity, or place those pods."
	case tainted.MatchString(text):
		f.Fix.Text = "Tolerate the taint with --toleration if the job may use those nodes."
	case fullNode.MatchString(text):
		f.Status, f.Fix.Text = check.Warn, "The nodes have reached their limit of pods: wait until some end."
	default:
		f.Fix.Text = "Correct --node-selector: no node has these labels."
		if len(t.pod.NodeSelector) > 0 { // nodes have them: see pinned
			f.Fix.Text = "Nodes have the labels of its nodeSelector " + labels(t.pod.NodeSelector) + ": its node " +
				"affinity, or another reason above, excludes them."
		}
	}
	return f
}

const waitForNodes = "Nodes are cordoned or not ready: wait, or let an administrator uncordon them."
