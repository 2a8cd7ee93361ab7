package job

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// Values of --leaf: whether the pods run on nodes of one leaf switch.
const (
	LeafPrefer  = "prefer"
	LeafRequire = "require"
	LeafAny     = "any"
)

// leafLabel returns the label of the candidates that names their leaf switch; "" if they have none.
func (j *placement) leafLabel() string {
	for _, n := range j.candidates {
		if label := bench.LeafLabel(n.Labels, j.LeafLabel); n.Labels[label] != "" {
			return label
		}
	}
	return ""
}

// requireLeaf fails if no leaf switch has enough of the nodes.
func (j *placement) requireLeaf(free []cluster.Node) {
	label, nodes := j.leafLabel(), free
	if j.Leaf != LeafRequire || j.Nodes == 1 {
		return
	}
	if j.Queue != "" {
		nodes = j.candidates
	}
	of, most := map[string]int{}, "none"
	for _, n := range nodes {
		if leaf := n.Labels[label]; leaf != "" {
			if of[leaf]++; of[leaf] > of[most] {
				most = leaf
			}
		}
	}
	if of[most] >= j.Nodes {
		return
	}
	j.Fail(plan.FreeNodes, j.target().Ref(),
		fmt.Sprintf("no leaf switch has the %s that %s needs", words.Count(j.Nodes, "node"), j.Name),
		check.Observed("label "+cmp.Or(label, "of leaf switches"),
			fmt.Sprintf("%s: %d", most, of[most]), fmt.Sprint(j.Nodes)),
		check.ByUser("Request fewer nodes, name the label with --leaf-label, or let the pods only prefer one leaf.",
			j.target().CommandWith("--leaf prefer")))
}

// leafAffinity puts the pods behind one leaf switch, if the nodes have labels that name it.
func (j *placement) leafAffinity() *corev1.PodAffinity {
	label := j.leafLabel()
	if label == "" || j.Nodes == 1 || j.Leaf == LeafAny {
		return nil
	}
	term := corev1.PodAffinityTerm{
		TopologyKey:   label,
		LabelSelector: &metav1.LabelSelector{MatchLabels: j.selector()},
	}
	if j.Leaf == LeafRequire {
		return &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}
	}
	return &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 100, PodAffinityTerm: term},
	}}
}
