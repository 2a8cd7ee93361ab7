package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/ranks"
	"github.com/railhead/railhead/internal/report"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// jobStatus is the output of status.
type jobStatus struct {
	Job       string          `json:"job"`
	Namespace string          `json:"namespace"`
	Wanted    int             `json:"wanted"` // number of pods
	Pods      []podStatus     `json:"pods"`
	Findings  []check.Finding `json:"findings,omitempty"`
}

type podStatus struct {
	Name     string `json:"name"`
	State    string `json:"state"`
	Ready    bool   `json:"ready"`
	Node     string `json:"node,omitempty"`
	IP       string `json:"ip,omitempty"`
	Networks string `json:"networks,omitempty"` // annotation k8s.v1.cni.cncf.io/networks
	SCC      string `json:"scc,omitempty"`      // that admitted the pod
	Restarts int    `json:"restarts"`
}

func newStatus(a *app) *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a job's pods, and why one is not running",
		Long: `status shows the pods of a job, their nodes, their rails and the security context constraint that
admitted them. If a pod is not running, it shows the reason and the fix. The job may be any workload of the namespace:
a Deployment, a Job, a PyTorchJob.

Exit status: 0 if all pods are ready or have succeeded; 1 if one is not; 3 if something that matters could not be
read.`,
		Example: `  railhead status h-kim -n train
  railhead status h-kim -n train -o json`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := []cluster.Kind{cluster.Pods, cluster.Events, cluster.Objects, cluster.Nodes, cluster.Networks}
			j, err := a.readJob(cmd.Context(), args[0], kinds...)
			if err != nil {
				return unknown(err)
			}
			if _, err := j.pods(); err != nil {
				return err
			}
			s, ns := j.state, j.ns
			if _, _, exists := workload.Find(s, args[0], ns); !exists && len(workload.PodsOf(s, args[0], ns)) == 0 {
				if s, err = j.readOther(cmd.Context(), kinds...); err != nil {
					return err
				}
			}
			status := newJobStatus(s, args[0], ns)
			text := func(out io.Writer, _ bool) error { return status.write(out, a) }
			if err := a.print(format, status, text); err != nil {
				return err
			}
			return status.verdict()
		},
	}
	outputFlag(cmd, &format, "table", "json", "yaml")
	return cmd
}

// readOther reads a workload that railhead did not deploy.
func (j jobState) readOther(ctx context.Context, kinds ...cluster.Kind) (cluster.State, error) {
	want := kube.Want{Kinds: append(kinds, cluster.Workloads), Namespace: j.ns, Detail: true}
	s, err := j.client.Read(ctx, want)
	if err != nil {
		return s, unknown(err)
	}
	f, exists := workload.FamilyOf(s, j.name, j.ns)
	for _, list := range []cluster.Kind{cluster.Objects, cluster.Workloads} {
		if p := s.Problem(list); p != nil && !exists {
			return s, unknown(fmt.Errorf("whether there is a job %s could not be read: %s", j.name, p.Err))
		}
	}
	if !exists {
		return s, exit.Failed(errors.New(ranks.NoJobText(s, j.name, j.ns)))
	}
	return f.Only(s), nil
}

func newJobStatus(s cluster.State, name, namespace string) jobStatus {
	status := jobStatus{Job: name, Namespace: namespace, Pods: []podStatus{}}
	for _, p := range workload.PodsOf(s, name, namespace) {
		row := podStatus{
			Name:     p.Name,
			State:    p.Phase,
			Ready:    p.Ready,
			Node:     p.Node,
			IP:       p.IP,
			Networks: p.Annotations["k8s.v1.cni.cncf.io/networks"],
			SCC:      p.Annotations["openshift.io/scc"],
		}
		for _, c := range p.Containers {
			row.Restarts += c.Restarts
			if c.Waiting != "" {
				row.State = c.Waiting
			}
		}
		if p.Deleted {
			row.State = "Terminating"
		}
		status.Pods = append(status.Pods, row)
	}
	if f, exists := workload.FamilyOf(s, name, namespace); exists && !f.Deployed() {
		status.Wanted = f.WantedPods()
		status.Findings = clusterrules.Incomplete(s, clusterrules.Options{Namespace: namespace, Job: name})
		return status
	}
	size := workload.SizeOf(s, name, namespace)
	if p := s.Problem(cluster.Objects); p != nil && size == 0 {
		status.Findings = append(status.Findings, check.Finding{
			Check: clusterrules.ClusterReadable, Status: check.Unknown,
			Subject:  check.Ref{Kind: check.Job, Namespace: namespace, Name: name},
			Summary:  "how many pods job " + name + " should have could not be read",
			Evidence: []check.Evidence{{Source: string(p.Kind), Got: p.Err}},
		})
	}
	status.Wanted = max(size, len(status.Pods), 1)
	switch progress := job.Done(name, namespace, status.Wanted)(s); {
	case progress.Stuck != nil:
		status.Findings = append(status.Findings, progress.Stuck.Finding)
	case progress.Doubt != nil:
		status.Findings = append(status.Findings, *progress.Doubt)
	}
	return status
}

func (j jobStatus) write(out io.Writer, a *app) error {
	t := report.Table{Columns: []string{"POD", "STATE", "READY", "RESTARTS", "NODE", "IP", "RAILS", "SCC"}}
	for _, p := range j.Pods {
		t.Rows = append(t.Rows, []string{
			p.Name, p.State, fmt.Sprint(p.Ready), fmt.Sprint(p.Restarts), p.Node, p.IP, p.Networks, p.SCC,
		})
	}
	if len(t.Rows) > 0 {
		if err := t.Write(out); err != nil {
			return err
		}
	}
	if len(j.Pods) < j.Wanted {
		a.say("Job %s has %d of %s.", j.Job, len(j.Pods), words.Count(j.Wanted, "pod"))
	}
	a.showFindings(j.Findings...)
	return nil
}

func (j jobStatus) verdict() error {
	notReady := func(p podStatus) bool { return !p.Ready && p.State != "Succeeded" }
	if len(j.Pods) < j.Wanted || slices.ContainsFunc(j.Pods, notReady) {
		return exit.Error{Code: exit.Fault}
	}
	return verdict(j.Findings)
}
