package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/report"
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
admitted them. If a pod is not running, it shows the reason and the fix.

Exit status: 0 if all pods are ready; 1 if one is not; 3 if something that matters could not be read.`,
		Example: `  railhead status h-kim -n train
  railhead status h-kim -n train -o json`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := a.readJob(cmd.Context(), args[0],
				cluster.Pods, cluster.Events, cluster.Objects, cluster.Nodes, cluster.Networks)
			if err != nil {
				return unknown(err)
			}
			s, ns := j.state, j.ns
			if len(s.Objects) == 0 && s.Knows(cluster.Objects) && len(workload.PodsOf(s, args[0], ns)) == 0 {
				return exit.Failed(fmt.Errorf("there is no job %s in namespace %s; "+
					"create it with 'railhead deploy %[1]s -n %[2]s'", args[0], ns))
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
	status.Wanted = max(workload.SizeOf(s, name, namespace), len(status.Pods), 1)
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
	if err := verdict(j.Findings); err != nil {
		return err
	}
	notReady := func(p podStatus) bool { return !p.Ready }
	if len(j.Pods) < j.Wanted || slices.ContainsFunc(j.Pods, notReady) {
		return exit.Error{Code: exit.Fault}
	}
	return nil
}
