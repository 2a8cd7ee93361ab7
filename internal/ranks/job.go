package ranks

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// TrainContainer is the container of a job's pods that runs the training.
const TrainContainer = "train"

// Target is a pod of a job and the rank that runs in it.
type Target struct {
	Rank      int
	Pod       cluster.Pod
	Container string // empty: the pod's default
}

// Ref returns the pod.
func (t Target) Ref() kube.PodRef { return kube.PodRef{Namespace: t.Pod.Namespace, Name: t.Pod.Name} }

// String names the rank for people.
func (t Target) String() string {
	if t.Pod.Node == "" {
		return fmt.Sprintf("rank %d (pod %s)", t.Rank, t.Pod.Name)
	}
	return fmt.Sprintf("rank %d (pod %s on node %s)", t.Rank, t.Pod.Name, t.Pod.Node)
}

// Targets returns the pods of a job by rank, without pods that another pod of the same rank replaces.
func Targets(s cluster.State, name, namespace string) []Target {
	var all []Target
	pods := workload.PodsOf(s, name, namespace)
	for _, p := range pods {
		t := Target{Rank: workload.RankOf(p), Pod: p}
		if slices.ContainsFunc(p.Containers, func(c cluster.Container) bool { return c.Name == TrainContainer }) {
			t.Container = TrainContainer
		}
		replaced := p.Deleted && slices.ContainsFunc(pods, func(other cluster.Pod) bool {
			return other.Name != p.Name && !other.Deleted && workload.RankOf(other) == t.Rank
		})
		if !replaced {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Target) int { return cmp.Compare(a.Rank, b.Rank) })
	return all
}

// Workload is the object that deploy made for a job.
type Workload struct {
	Pods    int
	command []string // of the container that trains
}

// WorkloadOf returns the workload of a job; ok is false if it does not exist or could not be read.
func WorkloadOf(s cluster.State, name, namespace string) (w Workload, ok bool) {
	k, object, ok := workload.Find(s, name, namespace)
	if !ok {
		return w, false
	}
	w.Pods = k.Size(object.Fields)
	for _, template := range k.PodTemplates(object.Fields) {
		w.command = commandIn(template)
	}
	return w, true
}

func commandIn(template map[string]any) []string {
	containers, _ := workload.Field(template, "spec.containers").([]any)
	for _, item := range containers {
		container, _ := item.(map[string]any)
		if container["name"] != TrainContainer && len(containers) > 1 {
			continue
		}
		var words []string
		list, _ := container["command"].([]any)
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		return words
	}
	return nil
}

// Waits reports whether the pods only wait for a launch, in the shell loop of deploy or in a sleep of the user.
func (w Workload) Waits() bool {
	command := w.command
	if i := slices.Index(command, "--"); i >= 0 && len(command) > 1 && path.Base(command[0]) == "railhead-pod" {
		command = command[i+1:]
	}
	switch {
	case len(command) == 0:
		return false
	case path.Base(command[0]) == "sleep":
		return true
	}
	return len(command) == 3 && command[0] == "sh" && command[1] == "-c" &&
		strings.HasPrefix(command[2], `trap "exit 0" TERM`) && strings.Contains(command[2], "do sleep ")
}

var errOwnCommand = errors.New("the pods run a command of their own")

// ErrUnknownCommand means that the workload, which has the pods' command, could not be read.
var ErrUnknownCommand = errors.New("the command of the pods is not known")

// Busy returns an error if the pods of a job run a command of their own, or if that is not known.
func Busy(s cluster.State, name, ns string) error {
	w, known := WorkloadOf(s, name, ns)
	switch {
	case !known:
		reason := "the object that runs them was not found"
		if p := s.Problem(cluster.Objects); p != nil {
			reason = p.Err
		}
		return fmt.Errorf("%w, so the pods of %s may be training: %s; use --force to start the command anyway",
			ErrUnknownCommand, name, reason)
	case !w.Waits():
		return fmt.Errorf("%w (%s), which uses the same GPUs. Deploy the job without a command to launch into it, "+
			"see its output with 'railhead logs %s -n %s', or use --force",
			errOwnCommand, commandLine(w.command), name, ns)
	}
	return nil
}

// NotReady describes each pod that is not ready, of the n pods that a job should have.
func NotReady(s cluster.State, name, namespace string, n int) []string {
	ready := map[string]bool{}
	for _, p := range workload.PodsOf(s, name, namespace) {
		ready[p.Name] = p.Ready && !p.Deleted
	}
	var lines []string
	for _, item := range job.Done(name, namespace, n)(s).Items {
		if !ready[item.Name] {
			state, note := cmp.Or(item.State, "-"), cmp.Or(item.Note, "-")
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", item.Name, state, note))
		}
	}
	if len(lines) == 0 && len(ready) == 0 {
		lines = append(lines, "no pods")
	}
	return lines
}

// NoJobText says that there is no such job and which jobs exist.
func NoJobText(s cluster.State, name, ns string) string {
	jobs := job.Names(s, ns)
	text := fmt.Sprintf("there is no job %s in namespace %s", name, ns)
	switch near := words.Nearest(name, jobs); {
	case len(near) > 0:
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	case len(jobs) > 0:
		return text + "; its jobs are " + words.Few(jobs, 6)
	case s.Problem(cluster.Objects) != nil:
		return text + "; its jobs cannot be listed: " + s.Problem(cluster.Objects).Err
	}
	return text + fmt.Sprintf("; create it with 'railhead deploy %s -n %s'", name, ns)
}
