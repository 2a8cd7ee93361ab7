package clusterrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// startTime is the time after a change in which pods of a workload may be missing or not ready without a reason.
const startTime = 30 * time.Second

// missingPods explains why workloads that ask for GPUs or RDMA devices have failed, lack pods, or have pods that are
// not ready. found has what is wrong with single pods.
func missingPods(s cluster.State, o Options, found []check.Finding) []check.Finding {
	if ownPodsUnread(s) {
		return nil
	}
	var findings []check.Finding
	for _, f := range inQuestion(s, o) {
		if why, held := Suspended(s, o, f); held {
			findings = append(findings, why)
			continue
		}
		wanted := f.WantedPods()
		ready, unready := f.Count()
		if ready+unready < wanted {
			if why, known := notCreated(s, f); known {
				findings = append(findings, why)
				continue
			}
		}
		failed, ended := f.Failed()
		switch {
		case slices.ContainsFunc(found, about(f)):
		case ended:
			findings = append(findings, failedWorkload(f, failed))
		case ready+f.Succeeded() >= wanted:
		case s.Taken.Sub(f.Changed) < startTime && !f.Changed.IsZero():
			findings = append(findings, check.Finding{
				Check: pods.PodPending, Status: check.Skipped, Subject: jobRef(f),
				Summary: have(f) + " so far: it has just changed",
			})
		default:
			findings = append(findings, unexplained(f))
		}
	}
	return findings
}

// Incomplete explains why a job, or else the pods that the State has in detail, do not run.
func Incomplete(s cluster.State, o Options) []check.Finding {
	pending := pendingPods(s)
	return slices.Concat(missingPods(s, o, pending), pending)
}

// unexamined finds workloads whose pods do not run, where nothing that was found is a fault or unknown: what is in such
// pods was not examined, so their rails are not known to work. A workload that has just changed counts if it was named.
func unexamined(s cluster.State, o Options, found []check.Finding) []check.Finding {
	if ownPodsUnread(s) {
		return nil
	}
	var findings []check.Finding
	for _, f := range inQuestion(s, o) {
		wanted, running := f.WantedPods(), 0
		for _, p := range f.Pods {
			if !p.Deleted && (p.Ready || slices.ContainsFunc(p.Containers, runs)) {
				running++
			}
		}
		starting := s.Taken.Sub(f.Changed) < startTime && !f.Changed.IsZero() && o.Job.Name == ""
		told := slices.ContainsFunc(found, func(known check.Finding) bool {
			serious := known.Status == check.Fail || known.Status == check.Unknown
			return serious && (known.Subject == jobRef(f) || about(f)(known))
		})
		if told || starting || running+f.Succeeded() >= wanted {
			continue
		}
		findings = append(findings, check.Finding{
			Check: pods.PodPending, Status: check.Unknown, Subject: jobRef(f),
			Summary: fmt.Sprintf("%s %s has %d of %s running: what does not run was not examined",
				f.Kind, f.Name, running, words.Count(wanted, "pod")),
			Evidence: check.Observed("pods of "+f.Kind+" "+f.Name+" that run", fmt.Sprint(running), fmt.Sprint(wanted)),
			Fix:      check.ByUser("Wait until they run, and diagnose them again.", describe(f)),
		})
	}
	return findings
}

// runs reports whether a container that trains, or one beside it, runs.
func runs(c cluster.Container) bool { return !c.Init && c.Running }

// about reports whether a finding is about a pod of a workload.
func about(f workload.Family) func(check.Finding) bool {
	return func(found check.Finding) bool {
		return slices.ContainsFunc(f.Pods, func(p cluster.Pod) bool {
			return found.Concerns(check.PodRef(p.Namespace, p.Name))
		})
	}
}

// inQuestion returns the workloads that a diagnosis is about: the named workload, or all workloads of a namespace that
// ask for GPUs or RDMA devices, or that Railhead deployed.
func inQuestion(s cluster.State, o Options) []workload.Family {
	offers := s.RDMAOffers()
	asks := func(p cluster.Pod) bool {
		unread := len(p.Containers) == 0
		ours := p.Labels[workload.LabelComponent] == workload.ComponentJob
		return unread || ours || p.Requests.GPUs() > 0 || requestsRDMA(p, offers)
	}
	if o.Job.Name != "" {
		f, err := workload.Lookup(s, o.Job, o.Namespace)
		if err != nil {
			return nil
		}
		return []workload.Family{f}
	}
	return slices.DeleteFunc(workload.Families(s), func(f workload.Family) bool {
		templates := f.PodTemplates()
		unread := len(templates) == 0
		return o.Whole || f.Namespace != o.Namespace || !unread && !slices.ContainsFunc(templates, asks)
	})
}

// notCreated explains why controllers do not create pods, from their events and conditions.
func notCreated(s cluster.State, f workload.Family) (check.Finding, bool) {
	pod := podToCreate(f)
	o, known := pods.Explain(pod, f.Events(s), s)
	for _, w := range f.Members() {
		for _, c := range w.Conditions {
			if known || c.Type != "ReplicaFailure" { // k8s.io/api apps/v1; an event lasts an hour
				continue
			}
			name := w.Kind + "/" + w.Name
			o, known = pods.Explain(pod, []cluster.Event{{Object: name, Reason: c.Reason, Message: c.Message}}, s)
			for i := range min(1, len(o.Evidence)) {
				o.Evidence[i].Source = "condition ReplicaFailure of " + name
			}
		}
	}
	o.Subject = jobRef(f)
	return o.Finding, known
}

func jobRef(f workload.Family) check.Ref {
	return check.Ref{Kind: check.Job, Namespace: f.Namespace, Name: f.Name}
}

// podToCreate returns a stand-in for a pod that does not exist.
func podToCreate(f workload.Family) cluster.Pod {
	var p cluster.Pod
	if templates := f.PodTemplates(); len(templates) > 0 {
		p = templates[0]
	}
	p.Namespace, p.Owner, p.Name = f.Namespace, f.Kind+"/"+f.Name, fmt.Sprintf("a pod of %s %s", f.Kind, f.Name)
	if workload.Numbered(p) { // pods have the names of those before them
		p.Name = f.Name + "-0"
	}
	return p
}

// unexplained reports pods that are missing or not ready while no event and no status says why. Pods on a node may only
// be starting.
func unexplained(f workload.Family) check.Finding {
	wanted, status := f.WantedPods(), check.Warn
	var states []string
	for _, p := range f.Pods {
		switch {
		case p.Deleted:
			states = append(states, p.Name+" is being deleted")
		case !p.Ready:
			states = append(states, p.Name+" is "+cmp.Or(p.Phase, "not known"))
		}
		if p.Node == "" {
			status = check.Unknown
		}
	}
	if len(f.Pods) < wanted {
		status = check.Unknown
	}
	return check.Finding{
		Check: pods.PodPending, Status: status, Subject: jobRef(f),
		Summary: have(f) + ", for an unknown reason",
		Evidence: check.Observed("pods of "+f.Kind+" "+f.Name,
			cmp.Or(words.Few(states, 4), fmt.Sprint(len(f.Pods))), fmt.Sprint(wanted)),
		Fix: check.ByUser("Read the events of its controller.", describe(f)),
	}
}

// have says how many pods of a workload are ready.
func have(f workload.Family) string {
	ready, _ := f.Count()
	return fmt.Sprintf("%s %s has %d of %s ready", f.Kind, f.Name, ready, words.Count(f.WantedPods(), "pod"))
}

// failedWorkload reports a workload that has failed, and whose pods show no fault.
func failedWorkload(f workload.Family, c cluster.Condition) check.Finding {
	return check.Finding{
		Check: pods.PodPending, Status: check.Fail, Subject: jobRef(f),
		Summary:  fmt.Sprintf("%s %s has failed: %s", f.Kind, f.Name, words.Clip(c.Reason+": "+c.Message, 160)),
		Evidence: check.Observed("condition Failed", c.Reason, "none"),
		Fix:      check.ByUser("Read its events and the logs of its pods.", describe(f)),
	}
}

func describe(f workload.Family) string {
	return fmt.Sprintf("kubectl -n %s describe %s %s", f.Namespace, strings.ToLower(f.Kind), f.Name)
}
