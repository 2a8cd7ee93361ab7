package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

// trainContainer is the container in which the pods of a job train.
const trainContainer = "train"

// target is a pod of a job and the rank that runs in it.
type target struct {
	rank      int
	pod       cluster.Pod
	container string // "": the pod's default
}

func (t target) ref() kube.PodRef { return kube.PodRef{Namespace: t.pod.Namespace, Name: t.pod.Name} }

// String names the rank for people.
func (t target) String() string {
	if t.pod.Node == "" {
		return fmt.Sprintf("rank %d (pod %s)", t.rank, t.pod.Name)
	}
	return fmt.Sprintf("rank %d (pod %s on node %s)", t.rank, t.pod.Name, t.pod.Node)
}

// targets are the pods of a job by rank. Of a rank whose pod is being replaced only the one that stays is there.
func targets(s cluster.State, name, namespace string) []target {
	var all []target
	pods := plan.JobPods(s, name, namespace)
	for _, p := range pods {
		t := target{rank: rankOf(p), pod: p}
		if slices.ContainsFunc(p.Containers, func(c cluster.Container) bool { return c.Name == trainContainer }) {
			t.container = trainContainer
		}
		replaced := p.Deleted && slices.ContainsFunc(pods, func(other cluster.Pod) bool {
			return other.Name != p.Name && !other.Deleted && rankOf(other) == t.rank
		})
		if !replaced {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b target) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// rankOf is the number that a pod's controller gave it: a StatefulSet by a label (Kubernetes 1.28) and in the pod's name,
// an indexed Job by an annotation.
func rankOf(p cluster.Pod) int {
	for _, text := range []string{
		p.Annotations["batch.kubernetes.io/job-completion-index"],
		p.Labels["batch.kubernetes.io/job-completion-index"],
		p.Labels["apps.kubernetes.io/pod-index"],
		p.Name[strings.LastIndex(p.Name, "-")+1:],
	} {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			return n
		}
	}
	return 0
}

// workload is what runs a job's pods, as railhead wrote it.
type workload struct {
	pods    int
	command []string // of the container that trains
}

// workloadOf finds it; ok is false when it is not there, or could not be read.
func workloadOf(s cluster.State, name, namespace string) (w workload, ok bool) {
	for _, o := range s.Objects {
		labels, _ := field(o.Fields, "metadata", "labels").(map[string]any)
		if o.Namespace != namespace || labels[plan.LabelInstance] != name || labels[plan.LabelComponent] != plan.ComponentJob {
			continue
		}
		switch o.Kind {
		case "StatefulSet":
			return workload{wholeOr1(field(o.Fields, "spec", "replicas")), commandOf(field(o.Fields, "spec", "template"))}, true
		case "JobSet":
			jobs, _ := field(o.Fields, "spec", "replicatedJobs").([]any)
			for _, job := range jobs {
				w.pods += wholeOr1(field(job, "replicas")) * wholeOr1(field(job, "template", "spec", "parallelism"))
				w.command = commandOf(field(job, "template", "spec", "template"))
			}
			return w, true
		}
	}
	return w, false
}

// field follows keys into maps; nil when one is not there.
func field(value any, keys ...string) any {
	for _, key := range keys {
		m, _ := value.(map[string]any)
		value = m[key]
	}
	return value
}

// wholeOr1 is a number of an object; these are 1 where nothing is said (apps/v1, jobset.x-k8s.io/v1alpha2).
func wholeOr1(value any) int {
	switch n := value.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 1
}

func commandOf(template any) []string {
	containers, _ := field(template, "spec", "containers").([]any)
	for _, c := range containers {
		if name := field(c, "name"); name != trainContainer && len(containers) > 1 {
			continue
		}
		var words []string
		list, _ := field(c, "command").([]any)
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		return words
	}
	return nil
}

// waits reports whether the pods only wait for a launch: by the shell that deploy gives to pods without a command, or by a
// sleep of the user's own.
func (w workload) waits() bool {
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

// errOwnCommand refuses a second training on the GPUs of a first.
var errOwnCommand = errors.New("the pods run a command of their own")

// jobToLaunch returns the job when all its pods are ready and free; else it says which are not, and why.
func (a *app) jobToLaunch(ctx context.Context, name string, force bool) (*kube.Client, []target, error) {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, nil, fault(err)
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods, cluster.Objects}, Namespace: ns, Job: name}
	client, s, err := a.read(ctx, want)
	if err != nil {
		return nil, nil, err
	}
	if p := s.Problem(cluster.Pods); p != nil {
		return nil, nil, exitError{exitUnknown, fmt.Errorf("the pods of %s cannot be read: %s", name, p.Err)}
	}
	all := targets(s, name, ns)
	w, known := workloadOf(s, name, ns)
	if len(all) == 0 && !known {
		return nil, nil, a.noSuchJob(ctx, client, name, ns)
	}
	if len(notReady(s, name, ns, w.pods)) > 0 {
		return nil, nil, a.explainNotReady(ctx, client, name, ns, w.pods)
	}
	if err := busy(s, name, ns); err != nil && !force {
		return nil, nil, err
	}
	return client, all, nil
}

// busy says that the pods of a job train already, or that it is not known; nil when they wait for a launch.
func busy(s cluster.State, name, ns string) error {
	w, known := workloadOf(s, name, ns)
	switch {
	case !known:
		reason := "its StatefulSet or JobSet is not there"
		if p := s.Problem(cluster.Objects); p != nil {
			reason = p.Err
		}
		return exitError{exitUnknown, fmt.Errorf("whether the pods of %s train already is not known: %s; --force starts the command all the same", name, reason)}
	case !w.waits():
		return fault(fmt.Errorf("%w (%s): a second training on the same GPUs would hurt both. Deploy the job without a command to launch into it, see its output with 'railhead logs %s -n %s', or say --force",
			errOwnCommand, spokenCommand(w.command), name, ns))
	}
	return nil
}

// notReady says of each pod of a job that is not ready how it is; n are wanted.
func notReady(s cluster.State, name, namespace string, n int) []string {
	ready := map[string]bool{}
	for _, p := range plan.JobPods(s, name, namespace) {
		ready[p.Name] = p.Ready && !p.Deleted
	}
	var lines []string
	for _, item := range plan.JobDone(name, namespace, n)(s).Items {
		if !ready[item.Name] {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", item.Name, orDash(item.State), orDash(item.Note)))
		}
	}
	if len(lines) == 0 && len(ready) == 0 {
		lines = append(lines, "there is no pod")
	}
	return lines
}

// explainNotReady reads what explains a pod that does not run.
func (a *app) explainNotReady(ctx context.Context, client *kube.Client, name, ns string, n int) error {
	s, err := client.Read(ctx, kube.Want{
		Kinds: []cluster.Kind{cluster.Pods, cluster.Events, cluster.Nodes, cluster.Networks}, Namespace: ns, Job: name,
	})
	if err != nil {
		return fault(err)
	}
	if stuck := plan.JobDone(name, ns, n)(s).Stuck; stuck != nil {
		a.findings(stuck.Finding)
	}
	return fault(fmt.Errorf("nothing was started: not all pods of %s are ready\n  %s\nFollow them with: railhead status %s -n %s",
		name, strings.Join(notReady(s, name, ns, n), "\n  "), name, ns))
}

// noSuchJob says which jobs there are instead.
func (a *app) noSuchJob(ctx context.Context, client *kube.Client, name, ns string) error {
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: ns})
	if err != nil {
		return fault(err)
	}
	return fault(errors.New(noJobText(s, name, ns)))
}

func noJobText(s cluster.State, name, ns string) string {
	jobs := plan.Jobs(s, ns)
	text := fmt.Sprintf("there is no job %s in namespace %s", name, ns)
	switch near := cluster.Nearest(name, jobs); {
	case len(near) > 0:
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	case len(jobs) > 0:
		return text + "; there are " + shorten(jobs)
	case s.Problem(cluster.Objects) != nil:
		return text + "; which there are cannot be read: " + s.Problem(cluster.Objects).Err
	}
	return text + fmt.Sprintf(", and no other: 'railhead deploy %s -n %s' makes it", name, ns)
}
