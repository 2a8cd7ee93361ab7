package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/podbinary"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// examine looks at everything that was asked about.
func (a *app) examine(ctx context.Context, asked bundle.Subject, f doctorFlags) (bundle.Bundle, error) {
	b := bundle.Bundle{Manifest: bundle.Manifest{Version: a.version, Taken: time.Now().UTC()}}
	client, err := a.connect(ctx)
	if err != nil {
		return b, undecided(err)
	}
	want, err := a.wanted(asked)
	if err != nil {
		return b, undecided(err)
	}
	if asked.Namespace = want.Namespace; asked.Namespace == "" && !asked.Cluster && len(asked.Nodes) == 0 {
		asked.Namespace = "default"
	}
	if b.State, err = client.Read(ctx, want); err != nil {
		return b, undecided(err)
	}
	pods, err := a.patients(b.State, &asked)
	if err != nil {
		return b, err
	}
	if b.Machines, err = a.visit(ctx, client, pods, f); err != nil {
		return b, err
	}
	if f.nodes {
		for _, p := range pods {
			if !slices.Contains(asked.Nodes, p.Node) && p.Node != "" {
				asked.Nodes = append(asked.Nodes, p.Node)
			}
		}
	}
	b.Manifest.Subject = asked
	if err := a.lookFurther(ctx, client, &b, pods, f); err != nil {
		return b, err
	}
	if f.logs {
		b.Logs = a.podLogs(ctx, client, pods, f)
	}
	return b, ctx.Err()
}

// undecided is an error for which nothing can be said.
func undecided(err error) error {
	var coded exitError
	if errors.As(err, &coded) {
		err = coded.err
	}
	return exitError{exitUndecided, err}
}

// wanted is what of the cluster matters to what was asked about.
func (a *app) wanted(asked bundle.Subject) (kube.Want, error) {
	want := kube.Want{Kinds: inventoryKinds}
	if asked.Cluster {
		return want, nil
	}
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return want, err
	}
	want.Kinds = slices.Concat(inventoryKinds, []cluster.Kind{cluster.Events, cluster.Objects, cluster.Namespaces, cluster.ServiceAccounts, cluster.TrainJobs})
	want.Namespace, want.Job, want.Everywhere = cmp.Or(asked.Namespace, ns), asked.Job, []cluster.Kind{cluster.Pods}
	want.Detail = asked.Job == ""
	return want, nil
}

// patients are the pods to look into: those that run. What is passed over it notes in what was asked.
func (a *app) patients(s cluster.State, asked *bundle.Subject) ([]cluster.Pod, error) {
	var pods []cluster.Pod
	switch {
	case asked.Cluster:
		return nil, nil
	case asked.Job != "":
		for _, t := range targets(s, asked.Job, asked.Namespace) {
			pods = append(pods, t.pod)
		}
		if _, there := workloadOf(s, asked.Job, asked.Namespace); len(pods) == 0 && !there && s.Knows(cluster.Objects) {
			return nil, exitError{exitUndecided, errors.New(noJobText(s, asked.Job, asked.Namespace))}
		}
	case len(asked.Pods) > 0:
		for _, name := range asked.Pods {
			i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Namespace == asked.Namespace && p.Name == name })
			if i < 0 {
				return nil, exitError{exitUndecided, fmt.Errorf("there is no pod %s in namespace %s", name, asked.Namespace)}
			}
			pods = append(pods, s.Pods[i])
		}
	case len(asked.Nodes) > 0:
		return nil, nil
	default:
		var passed []cluster.Pod
		if pods, passed = rules.Patients(s, asked.Namespace); len(pods) == 0 {
			a.say("No pod of namespace %s has rails: the cluster alone is looked at.", asked.Namespace)
		}
		for _, p := range passed {
			if runs(p) {
				asked.Passed = append(asked.Passed, p.Name)
			}
		}
	}
	return slices.DeleteFunc(pods, func(p cluster.Pod) bool { return !runs(p) }), nil
}

// runs reports whether there is something to look into.
func runs(p cluster.Pod) bool {
	return !p.Deleted && !p.Finished() && slices.ContainsFunc(p.Containers, func(c cluster.Container) bool { return !c.Init && c.Running })
}

// containerOf is the container to look into.
func containerOf(p cluster.Pod, chosen string) string {
	first := ""
	for _, c := range p.Containers {
		switch {
		case c.Init:
		case c.Name == cmp.Or(chosen, trainContainer):
			return c.Name
		case first == "" && c.Running:
			first = c.Name
		}
	}
	return cmp.Or(chosen, first)
}

// visit looks into pods, many at once, and shows how far it is.
func (a *app) visit(ctx context.Context, client *kube.Client, pods []cluster.Pod, f doctorFlags) ([]rules.Machine, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	visits := make([]kube.Visit, len(pods))
	at := map[kube.PodRef]cluster.Pod{}
	for i, p := range pods {
		ref := kube.PodRef{Namespace: p.Namespace, Name: p.Name}
		visits[i] = kube.Visit{Pod: ref, Container: containerOf(p, f.container)}
		at[ref] = p
	}
	progress := a.progress("pods", len(pods))
	machines := make([]rules.Machine, 0, len(pods))
	err := client.Snapshots(ctx, visits, kube.VisitOptions{Timeout: f.timeout, Program: programOf(f.probe.binaries)}, func(v kube.Visited) {
		m := rules.Machine{Name: "pod/" + v.Pod.String(), Node: at[v.Pod].Node, Group: rules.JobOf(at[v.Pod]), Snapshot: v.Snapshot}
		if v.Err != nil {
			m.Unreached = v.Err.Error()
		}
		machines = append(machines, m)
		progress(m)
	})
	if err != nil {
		a.say("Interrupted: %d of %s had answered", len(machines), count(len(pods), "pod"))
		return nil, err
	}
	slices.SortFunc(machines, func(a, b rules.Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines, nil
}

// progress shows how many of the machines have been looked at.
func (a *app) progress(what string, n int) func(rules.Machine) {
	live := &report.Live{W: a.streams.Err, TTY: a.streams.TTY, Width: a.streams.Width}
	frame := report.Frame{Text: fmt.Sprintf("Looking at %d %s", n, what), Bars: []report.Bar{{Name: what, Total: n}}}
	live.Show(frame)
	return func(m rules.Machine) {
		frame.Bars[0].Count++
		const shown = 5
		if m.Unreached != "" && len(frame.Parts) < shown {
			frame.Parts = append(frame.Parts, report.Part{Name: m.Name, Note: m.Unreached})
		}
		live.Show(frame)
	}
}

// programOf is railhead-pod for an architecture.
func programOf(files map[string]string) func(arch string) ([]byte, error) {
	return func(arch string) ([]byte, error) {
		all, err := programs(files)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if p.Arch == arch {
				return slices.Concat(p.Parts...), nil
			}
		}
		return podbinary.For(arch)
	}
}

// podLogs reads the logs of the pods, as far as they can be read; what of them may be kept is the archive's matter.
func (a *app) podLogs(ctx context.Context, client *kube.Client, pods []cluster.Pod, f doctorFlags) []bundle.Log {
	const tail, most = 50_000, 16 << 20
	all := make([]bundle.Log, len(pods))
	var g errgroup.Group
	g.SetLimit(podsAtOnce)
	for i, p := range pods {
		g.Go(func() error {
			name, container := "pod/"+p.Namespace+"/"+p.Name, containerOf(p, f.container)
			log, err := client.Logs(ctx, kube.PodRef{Namespace: p.Namespace, Name: p.Name}, kube.LogOptions{Container: container, Tail: tail})
			if err != nil {
				a.say("No log of %s: %v", name, err)
				return nil
			}
			defer log.Close()
			text, err := io.ReadAll(io.LimitReader(log, most))
			if err != nil {
				a.say("The log of %s broke off: %v", name, err)
			}
			all[i] = bundle.Log{Name: name, Container: container, Text: string(text)}
			return nil
		})
	}
	_ = g.Wait() // what went wrong was said
	return slices.DeleteFunc(all, func(l bundle.Log) bool { return l.Name == "" })
}

// completeDoctor completes jobs, and pods and nodes behind their kind.
func (a *app) completeDoctor(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	kind, _, behind := strings.Cut(typed, "/")
	if !behind {
		jobs, directive := a.completeJobs(cmd, args, typed)
		return append(jobs, "pod/", "node/"), directive | cobra.ShellCompDirectiveNoSpace
	}
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: ns}
	if kind == "node" {
		want.Kinds = []cluster.Kind{cluster.Nodes}
	}
	_, s, err := a.read(cmd.Context(), want)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, p := range s.Pods {
		names = append(names, "pod/"+p.Name)
	}
	for _, n := range s.Nodes {
		names = append(names, "node/"+n.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
