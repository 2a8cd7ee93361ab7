package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// quotas judges whether the namespace's quotas have room for the job. What the job's own pods hold already counts as room.
func (j *job) quotas() {
	if !j.s.Knows(cluster.Quotas) {
		j.unknown(cluster.QuotaExceeded, cluster.Quotas, "whether a quota of namespace "+j.o.Namespace+" stands against the job could not be read")
		return
	}
	asks, unsaid := j.asks()
	held := cluster.Resources{}
	for _, p := range j.s.Pods {
		if j.owns(p) && !p.Finished() {
			held.Add(quotaNames(p.Requests, p.Limits))
			held.Add(cluster.Resources{"pods": 1, "count/pods": 1})
		}
	}
	for _, q := range j.s.Quotas {
		if q.Namespace != j.o.Namespace {
			continue
		}
		if q.Scoped {
			j.note("Quota %s holds for some pods only; whether for these is not judged.", q.Name)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Hard)) {
			if left := q.Hard[name] - q.Used[name] + held[name]; asks[name] > left {
				j.overQuota(q, name, asks[name], left)
			} else if slices.Contains(unsaid, name) {
				j.unsaid(q, name)
			}
		}
	}
}

// asks is what the job asks of quotas, and the names that a quota would want its pods to say and that they do not.
func (j *job) asks() (asks cluster.Resources, unsaid []string) {
	perPod := j.wants(j.rails)
	for name, amount := range installResources() {
		q := resource.MustParse(amount.(string))
		n := q.Value()
		if name == "cpu" {
			n = q.MilliValue()
		}
		if _, said := perPod[name]; !said {
			unsaid = append(unsaid, name, "requests."+name, "limits."+name)
			continue
		}
		perPod[name] = max(perPod[name], n) // of containers that run one after the other the larger counts
	}
	limits := maps.Clone(perPod)
	n := int64(j.o.Nodes)
	asks = cluster.Resources{"pods": n, "count/pods": n}
	for name, amount := range quotaNames(perPod, limits) {
		asks[name] = amount * n
	}
	for _, kind := range j.newObjects() {
		asks["count/"+kind]++
		asks[strings.TrimSuffix(kind, ".apps")]++ // older quotas: configmaps, services
	}
	return asks, unsaid
}

// newObjects are the resources of what would be written and is not there.
func (j *job) newObjects() []string {
	d := j.delivery()
	var kinds []string
	for _, o := range d.configMaps(j.o.Namespace) {
		if _, there := liveObject(j.s, o); !there {
			kinds = append(kinds, "configmaps")
		}
	}
	for _, c := range j.objects(d) {
		if _, there := liveObject(j.s, c.Object); there {
			continue
		}
		kind := Resource(c.Object.GetKind())
		if group := c.Object.GroupVersionKind().Group; group != "" {
			kind += "." + group
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// quotaNames are the names under which quotas count what pods request and limit (Kubernetes docs, resource quotas). Of
// devices only requests are counted.
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

func (j *job) overQuota(q cluster.Quota, name string, asks, left int64) {
	j.fail(cluster.QuotaExceeded, "quota/"+q.Namespace+"/"+q.Name, fmt.Sprintf("quota %s of namespace %s has %s left, and the job asks for %s", q.Name, q.Namespace, cluster.Quantity(name, left), cluster.Quantity(name, asks)),
		check.Evidence{Source: "resourcequota/" + q.Name, Got: fmt.Sprintf("%s used of %s", amount(name, q.Used[name]), cluster.Quantity(name, q.Hard[name])), Want: cluster.Quantity(name, asks) + " left"},
		check.Fix{Text: "Ask for less, end what holds the rest, or let an administrator raise the quota.", Who: check.User, Commands: []string{"kubectl -n " + q.Namespace + " describe resourcequota " + q.Name}})
}

func amount(name string, n int64) string {
	text, _, _ := strings.Cut(cluster.Quantity(name, n), " ")
	return text
}

// unsaid warns of a quota that refuses pods which do not say how much they want. A limit range may say it for them.
func (j *job) unsaid(q cluster.Quota, name string) {
	base := name[strings.LastIndex(name, ".")+1:]
	if slices.ContainsFunc(j.findings, func(f check.Finding) bool {
		return f.Check == RequiredResources && strings.Contains(f.Summary, "--"+base)
	}) {
		return
	}
	j.say(check.Finding{
		Check: RequiredResources, Status: check.Warn, Subject: check.Subject("quota/" + q.Namespace + "/" + q.Name),
		Summary:  fmt.Sprintf("quota %s counts %s: pods that say none (--%s) are refused, unless a limit range says it for them", q.Name, name, base),
		Evidence: []check.Evidence{{Source: "resourcequota/" + q.Name, Got: "counts " + name, Want: "--" + base}},
		Fix:      &check.Fix{Text: "Say how much each pod needs.", Who: check.User, Commands: []string{j.deploy("--cpu 32 --memory 256Gi")}},
	})
}
