package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// jobStatus is what status prints, as one value for every format.
type jobStatus struct {
	Job       string          `json:"job"`
	Namespace string          `json:"namespace"`
	Wanted    int             `json:"wanted"` // pods that its controller is to make
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
	SCC      string `json:"scc,omitempty"`      // by which it was admitted
	Restarts int    `json:"restarts"`
}

func (a *app) newStatus() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a job's pods, and why one does not run",
		Long: `status shows the pods of a job, where they run, their rails and the security context constraint that admitted them. Of a
pod that does not run it says why, and what to do.

Exit status: 0 when all pods are ready; 1 when one is not; 3 when something that matters could not be read.`,
		Example: `  railhead status h-kim -n train
  railhead status h-kim -n train -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, _, err := a.flags.Namespace()
			if err != nil {
				return fault(err)
			}
			want := kube.Want{
				Kinds:     []cluster.Kind{cluster.Pods, cluster.Events, cluster.Objects, cluster.Nodes, cluster.Networks},
				Namespace: ns, Job: args[0],
			}
			_, s, err := a.read(cmd.Context(), want)
			if err != nil {
				return err
			}
			if len(s.Objects) == 0 && s.Knows(cluster.Objects) && len(plan.JobPods(s, args[0], ns)) == 0 {
				return fault(fmt.Errorf("there is no job %s in namespace %s: 'railhead deploy %s -n %s' makes it", args[0], ns, args[0], ns))
			}
			status := takeStatus(s, args[0], ns)
			if format != "table" {
				err = report.Encode(a.streams.Out, format, status)
			} else {
				err = status.write(a)
			}
			if err != nil {
				return err
			}
			return status.verdict()
		},
	}
	choiceFlag(cmd, &format, "output", "o", "form of the output", "table", "json", "yaml")
	return cmd
}

func takeStatus(s cluster.State, job, namespace string) jobStatus {
	status := jobStatus{Job: job, Namespace: namespace, Pods: []podStatus{}}
	for _, p := range plan.JobPods(s, job, namespace) {
		row := podStatus{
			Name: p.Name, State: p.Phase, Ready: p.Ready, Node: p.Node, IP: p.IP,
			Networks: p.Annotations["k8s.v1.cni.cncf.io/networks"], SCC: p.Annotations["openshift.io/scc"],
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
	status.Wanted = max(plan.JobSize(s, job, namespace), len(status.Pods), 1)
	switch progress := plan.JobDone(job, namespace, status.Wanted)(s); {
	case progress.Stuck != nil:
		status.Findings = append(status.Findings, progress.Stuck.Finding)
	case progress.Doubt != nil:
		status.Findings = append(status.Findings, *progress.Doubt)
	}
	return status
}

func (j jobStatus) write(a *app) error {
	t := report.Table{Columns: []string{"POD", "STATE", "READY", "RESTARTS", "NODE", "IP", "RAILS", "SCC"}}
	for _, p := range j.Pods {
		t.Rows = append(t.Rows, []string{p.Name, p.State, fmt.Sprint(p.Ready), fmt.Sprint(p.Restarts), p.Node, p.IP, p.Networks, p.SCC})
	}
	if len(t.Rows) > 0 {
		if err := t.Write(a.streams.Out); err != nil {
			return err
		}
	}
	if len(j.Pods) < j.Wanted {
		a.say("Job %s has %d of %s.", j.Job, len(j.Pods), count(j.Wanted, "pod"))
	}
	a.findings(j.Findings...)
	return nil
}

func (j jobStatus) verdict() error {
	if err := verdict(j.Findings); err != nil {
		return err
	}
	for _, p := range j.Pods {
		if !p.Ready {
			return exitError{code: exitFault}
		}
	}
	if len(j.Pods) < j.Wanted {
		return exitError{code: exitFault}
	}
	return nil
}
