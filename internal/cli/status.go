package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ns, _, err := a.flags.Namespace()
			if err != nil {
				return unknown(err)
			}
			want := kube.Want{
				Kinds: []cluster.Kind{
					cluster.Pods, cluster.Events, cluster.Objects, cluster.Nodes, cluster.Networks,
				},
				Namespace: ns, Job: args[0],
			}
			_, s, err := a.read(cmd.Context(), want)
			if err != nil {
				return unknown(err)
			}
			if len(s.Objects) == 0 && s.Knows(cluster.Objects) && len(workload.PodsOf(s, args[0], ns)) == 0 {
				return exit.Failed(fmt.Errorf("there is no job %s in namespace %s; "+
					"create it with 'railhead deploy %s -n %s'", args[0], ns, args[0], ns))
			}
			status := newJobStatus(s, args[0], ns)
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

func newJobStatus(s cluster.State, name, namespace string) jobStatus {
	status := jobStatus{Job: name, Namespace: namespace, Pods: []podStatus{}}
	for _, p := range workload.PodsOf(s, name, namespace) {
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
	status.Wanted = max(workload.SizeOf(s, name, namespace), len(status.Pods), 1)
	switch progress := job.Done(name, namespace, status.Wanted)(s); {
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
		t.Rows = append(t.Rows, []string{
			p.Name, p.State, fmt.Sprint(p.Ready), fmt.Sprint(p.Restarts), p.Node, p.IP, p.Networks, p.SCC,
		})
	}
	if len(t.Rows) > 0 {
		if err := t.Write(a.streams.Out); err != nil {
			return err
		}
	}
	if len(j.Pods) < j.Wanted {
		a.say("Job %s has %d of %s.", j.Job, len(j.Pods), words.Count(j.Wanted, "pod"))
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
			return exit.Error{Code: exit.Fault}
		}
	}
	if len(j.Pods) < j.Wanted {
		return exit.Error{Code: exit.Fault}
	}
	return nil
}
