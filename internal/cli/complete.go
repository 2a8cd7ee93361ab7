package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
)

// complete returns the names that parts of the cluster have.
func (a *app) complete(
	cmd *cobra.Command, names func(s cluster.State, ns string) []string, kinds ...cluster.Kind,
) ([]string, cobra.ShellCompDirective) {
	ns, _, err := a.flags.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	_, s, err := a.read(cmd.Context(), kube.Want{Kinds: kinds, Namespace: ns})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names(s, ns), cobra.ShellCompDirectiveNoFileComp
}

// completeJobs completes the name of a job, or KIND/NAME of a workload that railhead did not deploy.
func (a *app) completeJobs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(cmd, launch.Jobs, cluster.Objects, cluster.Workloads)
}

// completeReport completes files, and the names of jobs.
func (a *app) completeReport(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.completeJobs(cmd, args, typed)
	return names, cobra.ShellCompDirectiveDefault
}

// completeDoctor completes the names of jobs, and after pod/ and node/ the names of pods and nodes.
func (a *app) completeDoctor(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	prefix, _, _ := strings.Cut(typed, "/")
	kind, namesOf := cluster.Pods, podNames
	switch prefix {
	case "pod":
	case "node":
		kind, namesOf = cluster.Nodes, nodeNames
	default:
		jobs, directive := a.completeJobs(cmd, args, typed)
		return append(jobs, "pod/", "node/"), directive | cobra.ShellCompDirectiveNoSpace
	}
	names, directive := a.complete(cmd, namesOf, kind)
	for i, name := range names {
		names[i] = prefix + "/" + name
	}
	return names, directive
}

// completeFlag completes a flag with names that a part of the cluster has.
func (a *app) completeFlag(
	cmd *cobra.Command, flag string, kind cluster.Kind, names func(s cluster.State, ns string) []string,
) {
	complete := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.complete(cmd, names, kind)
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, complete) // the flag exists
}

func podNames(s cluster.State, _ string) (names []string) {
	for _, p := range s.Pods {
		names = append(names, p.Name)
	}
	return names
}

func nodeNames(s cluster.State, _ string) (names []string) {
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	return names
}

func poolNames(s cluster.State, _ string) (names []string) {
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	return names
}
