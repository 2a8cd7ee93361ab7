package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// jobStatus is the output of status.
type jobStatus struct {
	Job       string          `json:"job"`
	Namespace string          `json:"namespace"`
	Wanted    int             `json:"wanted"` // number of pods
	Pods      []podStatus     `json:"pods"`
	Run       *launch.Summary `json:"detachedRun,omitempty"`
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
		Use:   "status [KIND/]NAME",
		Short: "Show a job's pods, and why one is not running",
		Long: `status shows the pods of a job, their nodes, their rails and the security context constraint that
admitted them, and a detached run of launch. If a pod is not running, it shows the reason and the fix. The job may be
any workload of the namespace: a Deployment, a PyTorchJob, a TrainJob. KIND tells apart workloads of one name; it may
be short, as in sts/h-kim.

Exit status: 0 if all pods are ready or have succeeded; 1 if one is not; 3 if something that matters could not be
read.`,
		Example: `  railhead status h-kim -n train
  railhead status trainjob/llama -n train
  railhead status h-kim -n train -o json`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			kinds := []cluster.Kind{cluster.Pods, cluster.Events, cluster.Objects, cluster.Nodes, cluster.Networks}
			j, err := a.readJob(cmd.Context(), args[0], kinds...)
			if err != nil {
				return readError(err)
			}
			status := newJobStatus(j)
			status.Run = a.detachedRun(cmd.Context(), j.client, launch.Targets(j.Family))
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

func newJobStatus(j jobState) jobStatus {
	status := jobStatus{Job: j.ref.String(), Namespace: j.ns, Wanted: j.WantedPods(), Pods: []podStatus{}}
	for _, p := range j.Pods {
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
	if j.Deployed() || j.Kind == "" {
		status.Wanted = max(j.Size, len(j.Pods), 1)
	}
	if p := j.state.Problem(cluster.Objects); p != nil && j.Kind == "" {
		status.Findings = append(status.Findings, check.Finding{
			Check: clusterrules.ClusterReadable, Status: check.Unknown,
			Subject:  check.Ref{Kind: check.Job, Namespace: j.ns, Name: j.ref.Name},
			Summary:  "how many pods job " + j.ref.Name + " should have could not be read",
			Evidence: []check.Evidence{{Source: string(p.Kind), Got: p.Err}},
		})
	}
	status.Findings = append(status.Findings, j.findings()...)
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
	if j.Run != nil {
		a.say("%s", j.Run)
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
