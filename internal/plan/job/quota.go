package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// checkQuotas checks whether the quotas of the namespace have room for the job. Resources of the job's own pods count
// as free.
func checkQuotas(s cluster.State, job plan.Target, needs cluster.Resources, unset []string) (d plan.Draft) {
	if !s.Knows(cluster.Quotas) {
		d.Unknown(s, pods.QuotaExceeded, cluster.Quotas,
			"whether a quota of namespace "+job.Namespace+" prevents the job could not be read")
		return d
	}
	var warned []string
	held := cluster.Resources{}
	for _, p := range s.Pods {
		if workload.OfJob(p, job.Name, job.Namespace) && !p.Finished() {
			held.Add(quotaNames(p.Requests, p.Limits))
			held.Add(cluster.Resources{"pods": 1, "count/pods": 1})
		}
	}
	for _, q := range s.Quotas {
		if q.Namespace != job.Namespace {
			continue
		}
		if q.Scoped {
			d.Note("Quota %s applies to some pods only; it was not checked whether to these.", q.Name)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Hard)) {
			// kubernetes pkg/quota/v1/evaluator/core/pods.go isExtendedResourceNameForQuota
			device := strings.TrimPrefix(name, "limits.")
			if strings.Contains(device, "/") && needs["requests."+device] > 0 {
				d.Note("Quota %s has %s, which limits nothing: of devices, quotas count only requests.%s.", q.Name,
					name, device)
			}
			flag := name[strings.LastIndex(name, ".")+1:]
			if left := q.Hard[name] - q.Used[name] + held[name]; needs[name] > left {
				d.Report(quotaExceeded(q, name, needs[name], left))
			} else if slices.Contains(unset, name) && !slices.Contains(warned, flag) {
				d.Report(requestMissing(job, q, name, flag))
				warned = append(warned, flag)
			}
		}
	}
	return d
}

// quotaNeeds returns the amounts of the job that quotas count, and the names that its pods do not set.
func (j *request) quotaNeeds() (needs cluster.Resources, unset []string) {
	perPod := j.job.requests(j.job.rails)
	for _, name := range []string{"cpu", "memory"} {
		if perPod[name] == 0 {
			unset = append(unset, name, "requests."+name, "limits."+name)
		}
	}
	n := int64(j.job.Nodes)
	needs = cluster.Resources{"pods": n, "count/pods": n}
	for class, devices := range j.job.claim.Devices() { // Kubernetes docs, resource quotas: quota for DRA
		needs[class+".deviceclass.resource.k8s.io/devices"] = devices * n
		needs["requests.deviceclass.resource.kubernetes.io/"+class] = devices * n // from 1.34 on, counted alike
	}
	for name, amount := range quotaNames(perPod, perPod) {
		needs[name] = amount * n
	}
	d := j.job.delivery()
	for _, c := range append(d.Step(j.s, j.job.Namespace, nil).Changes, j.objects(d)...) {
		if _, exists := plan.LiveObject(j.s, c.Object); exists {
			continue
		}
		resource := plan.Resource(c.Object.GetKind())
		needs[resource]++ // older quotas: configmaps, services
		if group := c.Object.GroupVersionKind().Group; group != "" {
			resource += "." + group
		}
		needs["count/"+resource]++
	}
	return needs, unset
}

// quotaNames returns the names under which quotas count requests and limits of pods; limits of devices do not count
// (Kubernetes docs, resource quotas).
func quotaNames(requests, limits cluster.Resources) cluster.Resources {
	names := cluster.Resources{}
	for name, n := range requests {
		names["requests."+name] += n
		if !strings.Contains(name, "/") {
			names[name] += n
		}
	}
	for name, n := range limits {
		if !strings.Contains(name, "/") {
			names["limits."+name] += n
		}
	}
	return names
}

func quotaRef(q cluster.Quota) check.Ref {
	return check.Ref{Kind: check.Quota, Namespace: q.Namespace, Name: q.Name}
}

func quotaExceeded(q cluster.Quota, name string, needs, left int64) check.Finding {
	used, _, _ := strings.Cut(cluster.Quantity(name, q.Used[name]), " ")
	needed := cluster.Quantity(name, needs)
	return plan.Failure(pods.QuotaExceeded, quotaRef(q),
		fmt.Sprintf("quota %s of namespace %s has %s left, but the job needs %s", q.Name, q.Namespace,
			cluster.Quantity(name, left), needed),
		check.Observed("resourcequota/"+q.Name, used+" used of "+cluster.Quantity(name, q.Hard[name]), needed+" left"),
		check.ByUser("Request less, delete other objects that the quota counts, or ask an administrator to raise it.",
			"kubectl -n "+q.Namespace+" describe resourcequota "+q.Name))
}

// requestMissing warns of a quota that refuses pods without a request, unless a limit range sets it.
func requestMissing(job plan.Target, q cluster.Quota, name, flag string) check.Finding {
	return check.Finding{
		Check: RequiredResources, Status: check.Warn, Subject: quotaRef(q),
		Summary: fmt.Sprintf("quota %s counts %s, so pods without --%s are refused unless a limit range sets a default",
			q.Name, name, flag),
		About:    []check.Ref{check.Named(check.Resource, flag)},
		Evidence: check.Observed("resourcequota/"+q.Name, "counts "+name, "--"+flag),
		Fix:      check.ByUser("Set the request of each pod.", job.CommandWith("--cpu 32 --memory 256Gi")),
	}
}
