package launch

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

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

// Targets returns the pods of a workload by rank, without pods that another pod of the same rank replaces.
func Targets(f workload.Family) []Target {
	var all []Target
	numbers := f.Ranks()
	for i, p := range f.Pods {
		replaced := false
		for k, other := range f.Pods {
			replaced = replaced || p.Deleted && !other.Deleted && numbers[k] == numbers[i]
		}
		if !replaced {
			all = append(all, Target{Rank: numbers[i], Pod: p, Container: workload.Trainer(p.Containers)})
		}
	}
	slices.SortStableFunc(all, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Pod.Name, b.Pod.Name))
	})
	return all
}

// command returns the command of the container of a target.
func (t Target) command() []string {
	for _, c := range t.Pod.Containers {
		if c.Name == t.Container {
			return c.Command
		}
	}
	return nil
}

// idle matches shell commands that only wait: the command of deploy, and commands of users.
var idle = regexp.MustCompile(`^(trap "exit 0" TERM( INT)?; )?(exec )?` +
	`(sleep (infinity|inf|\d+[smhd]?)|tail -f /dev/null|while (true|:); ?do sleep \w+( & wait( \$!)?)?; ?done);?$`)

// Waits reports whether the pod only waits for a launch.
func (t Target) Waits() bool {
	command := t.command()
	if i := slices.Index(command, "--"); i >= 0 && path.Base(command[0]) == "railhead-pod" {
		command = command[i+1:]
	}
	if len(command) == 3 && command[1] == "-c" {
		return idle.MatchString(strings.TrimSpace(command[2]))
	}
	if len(command) > 0 {
		command = append([]string{path.Base(command[0])}, command[1:]...)
	}
	return idle.MatchString(strings.Join(command, " "))
}

var errOwnCommand = errors.New("the pods run a command of their own")

// Busy returns an error if pods of a job run a command of their own.
func Busy(pods []Target, job, ns string) error {
	for _, t := range pods {
		if t.Waits() {
			continue
		}
		command := "that of their image"
		if own := t.command(); len(own) > 0 {
			command = commandLine(own)
		}
		return fmt.Errorf("%w (%s), which uses the same GPUs. Deploy the job without a command to launch into it, "+
			"see its output with 'railhead logs %s -n %s', or use --force", errOwnCommand, command, job, ns)
	}
	return nil
}

// NotReady describes each pod that is not ready, of those that a job should have and that train.
func NotReady(s cluster.State, f workload.Family) []string {
	if f.Deployed() || f.Kind == "" {
		return notReady(job.Done(f.Name, f.Namespace, f.Size)(s).Items, f.Pods)
	}
	var items []plan.Item
	missing := f.WantedPods()
	for _, p := range f.Pods {
		if !p.Deleted {
			missing--
		}
		if f.Trains(p) {
			items = append(items, job.PodItem(p))
		}
	}
	if missing > 0 || len(f.Pods) == 0 {
		items = append(items, plan.Item{Name: words.Count(max(1, missing), "pod") + " missing", State: plan.Waiting})
	}
	return notReady(items, f.Pods)
}

func notReady(items []plan.Item, pods []cluster.Pod) []string {
	var lines []string
	for _, item := range items {
		ready := func(p cluster.Pod) bool { return p.Name == item.Name && p.Ready && !p.Deleted }
		if !slices.ContainsFunc(pods, ready) {
			state, note := cmp.Or(item.State, "-"), cmp.Or(item.Note, "-")
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", item.Name, state, note))
		}
	}
	return lines
}

// Jobs returns the jobs of a namespace that railhead deployed, and the other workloads as KIND/NAME.
func Jobs(s cluster.State, ns string) []string {
	jobs := job.Names(s, ns)
	for _, f := range workload.Families(s) {
		if f.Namespace == ns && f.Kind != "Pod" && !f.Deployed() {
			jobs = append(jobs, workload.RefOf(f.Workload).String())
		}
	}
	return jobs
}

// NoJobText says that there is no such job and which jobs exist.
func NoJobText(s cluster.State, ref workload.Ref, ns string) string {
	jobs := Jobs(s, ns)
	what := "job " + ref.Name
	if ref.Kind != "" {
		what = ref.String()
	}
	text := fmt.Sprintf("there is no %s in namespace %s", what, ns)
	if !ref.Known() {
		return text + ": " + ref.Unknown()
	}
	switch near := words.Nearest(ref.String(), jobs); {
	case len(near) > 0:
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	case len(jobs) > 0:
		return text + "; its jobs are " + words.Few(jobs, 6)
	case s.Problem(cluster.Objects) != nil:
		return text + "; its jobs cannot be listed: " + s.Problem(cluster.Objects).Err
	}
	return text + fmt.Sprintf("; create it with 'railhead deploy %s -n %s'", ref.Name, ns)
}
