package e2e_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/words"
)

// moreNodes adds two GPU nodes, because the largest examples have four pods with all rails of a node. It returns the
// names of all workers.
func moreNodes(t *testing.T) (workers []string) {
	t.Helper()
	c := openShift.Client()
	for _, name := range []string{"gpu-2", "gpu-3"} {
		like := get(t, c, &corev1.Node{ObjectMeta: meta("", "gpu-0")})
		n := &corev1.Node{ObjectMeta: meta("", name), Spec: corev1.NodeSpec{Taints: like.Spec.Taints}, Status: like.Status}
		n.Labels, n.Annotations = maps.Clone(like.Labels), maps.Clone(like.Annotations)
		n.Labels["kubernetes.io/hostname"] = name
		create(t, c, n)
		remove(t, c, n)
	}
	var all corev1.NodeList
	if err := c.List(t.Context(), &all, client.HasLabels{"node-role.kubernetes.io/worker"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range all.Items {
		workers = append(workers, n.Name)
	}
	return workers
}

// isReached wants logs and launch to reach the containers that train, by rank. The kubelet answers for them.
func (s workloadStory) isReached(t *testing.T, u user, ns string, pods []corev1.Pod) {
	t.Helper()
	ready(t, ns)
	var logs, launched strings.Builder
	n := len(s.pods) - s.helpers
	for rank := range s.pods {
		p := s.podOf(t, pods, rank)
		where := p.Name + " " + p.Spec.Containers[max(s.trains(p), 0)].Name
		fmt.Fprintf(&logs, "[%d] %s\n", rank, where)
		if rank < n {
			fmt.Fprintf(&launched, "[%d] %d of %d in %s\n", rank, rank, n, where)
		}
	}
	u.does(t, "logs", s.name, "-n", ns).equals(t, logs.String())
	verb := []string{"launch", s.name, "-n", ns}
	command := []string{"--", "sh", "-c", "echo $NODE_RANK of $NNODES in $HOSTNAME $CONTAINER"}
	u.ends(t, 1, slices.Concat(verb, command)...).silent(t).says(t, "the pods run a command of their own", "--force")
	forced := slices.Concat(verb, []string{"--force"}, command)
	if s.without > s.helpers { // inject was told to leave out a container in which launch starts the command
		u.ends(t, 1, forced...).silent(t).says(t, "nothing was started: rank 0 (pod ", launch.PodProgram+" is missing")
		return
	}
	r := u.does(t, forced...)
	r.out = sorted(r.out)
	r.equals(t, launched.String())
}

// ready waits until the pods of a namespace are ready.
func ready(t *testing.T, ns string) {
	t.Helper()
	eventually(t, "the pods are ready", func() error {
		for _, p := range podsIn(t, ns) {
			if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("%s is not: %+v", p.Name, p.Status.Conditions)
			}
		}
		return nil
	})
}

// podOf returns the pod of a rank: of several whose names match its pattern, that with the rank's place among them.
func (s workloadStory) podOf(t *testing.T, pods []corev1.Pod, rank int) corev1.Pod {
	t.Helper()
	matching := slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		ok, err := path.Match(s.pods[rank], p.Name)
		return !ok || err != nil
	})
	slices.SortFunc(matching, func(a, b corev1.Pod) int { return words.Natural(a.Name, b.Name) })
	switch {
	case len(matching) == 1:
		return matching[0]
	case rank < len(matching):
		return matching[rank]
	}
	t.Fatalf("%s has no pod %s", s.name, s.pods[rank])
	return corev1.Pod{}
}

// sorted sorts lines.
func sorted(text string) string { return strings.Join(slices.Sorted(strings.Lines(text)), "") }

// equals wants the command to have written a text to stdout, and no more.
func (r result) equals(t *testing.T, want string) {
	t.Helper()
	if d := cmp.Diff(want, r.out); d != "" {
		t.Errorf("stdout (-want +got):\n%s", d)
	}
}
