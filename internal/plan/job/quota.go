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
)

// quotas judges whether the namespace's quotas have room for the job. Resources that the job's own pods hold count as
// room.
func (j *job) quotas() {
	if !j.s.Knows(cluster.Quotas) {
		j.unknown(
			pods.QuotaExceeded, cluster.Quotas,
			"whether a quota of namespace "+j.o.Namespace+" stands against the job could not be read",
		)
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

// asks has the job's requests that quotas count, and the names that a quota requires but its pods do not state.
func (j *job) asks() (asks cluster.Resources, unsaid []string) {
	perPod := j.wants(j.rails)
	for resourceName, q := range installResources() {
		name, n := string(resourceName), q.Value()
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

// newObjects counts the objects that would be created.
func (j *job) newObjects() []string {
	d := j.delivery()
	var kinds []string
	for _, o := range d.configMaps(j.o.Namespace) {
		if _, there := plan.LiveObject(j.s, o); !there {
			kinds = append(kinds, "configmaps")
		}
	}
	for _, c := range j.objects(d) {
		if _, there := plan.LiveObject(j.s, c.Object); there {
			continue
		}
		kind := plan.Resource(c.Object.GetKind())
		if group := c.Object.GroupVersionKind().Group; group != "" {
			kind += "." + group
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// quotaNames are the names under which quotas count requests and limits of pods (Kubernetes docs, resource quotas). Of
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
	j.fail(pods.QuotaExceeded, check.Ref{
		Kind:      check.Quota,
		Namespace: q.Namespace,
		Name:      q.Name,
	}, fmt.Sprintf(
		"quota %s of namespace %s has %s left, and the job asks for %s", q.Name, q.Namespace,
		cluster.Quantity(name, left), cluster.Quantity(name, asks),
	),
		check.Evidence{
			Source: "resourcequota/" + q.Name,
			Got:    fmt.Sprintf("%s used of %s", amount(name, q.Used[name]), cluster.Quantity(name, q.Hard[name])),
			Want:   cluster.Quantity(name, asks) + " left",
		},
		check.Fix{
			Text:     "Ask for less, end what holds the rest, or let an administrator raise the quota.",
			Who:      check.User,
			Commands: []string{"kubectl -n " + q.Namespace + " describe resourcequota " + q.Name},
		})
}

func amount(name string, n int64) string {
	text, _, _ := strings.Cut(cluster.Quantity(name, n), " ")
	return text
}

// unsaid warns of a quota that refuses pods which do not say how much they want. A limit range may say it for them.
func (j *job) unsaid(q cluster.Quota, name string) {
	base := name[strings.LastIndex(name, ".")+1:]
	flag := check.Named(check.Resource, base)
	if slices.ContainsFunc(
		j.findings, func(f check.Finding) bool { return f.Check == RequiredResources && f.Concerns(flag) },
	) {
		return
	}
	j.say(check.Finding{
		Check: RequiredResources, Status: check.Warn, About: []check.Ref{flag},
		Subject: check.Ref{Kind: check.Quota, Namespace: q.Namespace, Name: q.Name},
		Summary: fmt.Sprintf(
			"quota %s counts %s: pods that say none (--%s) are refused, unless a limit range says it for them",
			q.Name, name, base,
		),
		Evidence: []check.Evidence{{Source: "resourcequota/" + q.Name, Got: "counts " + name, Want: "--" + base}},
		Fix: &check.Fix{
			Text:     "Say how much each pod needs.",
			Who:      check.User,
			Commands: []string{j.deploy("--cpu 32 --memory 256Gi")},
		},
	})
}
