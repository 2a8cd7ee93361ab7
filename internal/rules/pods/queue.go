package pods

import "github.com/railhead/railhead/internal/check"

var (
	workloads   = "kubectl -n {namespace} get workloads.kueue.x-k8s.io -o wide"
	localQueues = "kubectl -n {namespace} get localqueues.kueue.x-k8s.io"
)

// queued are the kinds of messages of job queues and gang schedulers: Kueue (pkg/scheduler, flavorassigner, cache/tas)
// and Volcano (pkg/scheduler/api/job_info.go), and the API server's about scheduling gates (pkg/registry/core/pod).
var queued = []kind{
	{
		words:   anyOf(`((?:Local|Cluster)Queue \S+) (?:doesn't exist|not found|is inactive|is stopped)`),
		summary: "the queue of {pod} admits nothing: {quote}",
		fix: check.ByUser("Name an existing queue in the label kueue.x-k8s.io/queue-name, or ask an administrator to "+
			"activate it.", localQueues),
		example: `ClusterQueue gpus is inactive`,
	},
	{
		words:   anyOf(`resource (\S+) unavailable in ClusterQueue`),
		summary: "the queue of {pod} can never admit it: its ClusterQueue has no quota for {1}",
		fix: check.ByAdmin("Add {1}, and the resources of the other rails, to coveredResources of the ClusterQueue, "+
			"with a quota, or to excludeResourcePrefixes of Kueue's configuration.",
			"kubectl get clusterqueues.kueue.x-k8s.io -o yaml"),
		example: `couldn't assign flavors to pod set main: resource openshift.io/rail0 unavailable in ClusterQueue`,
	},
	{
		words:   anyOf(`insufficient quota for (\S+) in flavor .*> maximum capacity`),
		summary: "the queue of {pod} can never admit it: {quote}",
		fix: check.ByUser("Request less than the queue's whole quota, or ask an administrator to raise it.",
			workloads, localQueues),
		example: `couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, ` +
			`request > maximum capacity (24 > 16)`,
	},
	{
		words: anyOf(`insufficient (?:unused )?quota (?:in cohort )?for (\S+) `, `couldn't assign flavors to pod set`,
			`Workload didn't fit`, `admission checks?\b`, `borrowing limit for \S+ in flavor`, `queue resource `+
				`quota insufficient`),
		summary: "the queue of {pod} has not admitted it: {quote}",
		fix: check.ByUser("Wait until jobs of the same queue end, or request less.",
			workloads, localQueues),
		example: `couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor ` +
			`h100, 8 more needed`,
		waits: true,
	},
	{
		words:   anyOf(`pod group is not ready`, `tasks in gang unschedulable`, `minAvailable`),
		summary: "the scheduler places all pods of the group at once, and not all of them fit: {quote}",
		fix:     check.ByUser("Wait, or request fewer pods.", "kubectl -n {namespace} describe podgroups"),
		example: `3/2 tasks in gang unschedulable: pod group is not ready, 3 Pending, 2 minAvailable`,
		waits:   true,
	},
	{
		words:   anyOf(`non-empty scheduling gates`, `SchedulingGated`, `kueue\.x-k8s\.io/admission`),
		summary: "a queue or another controller has not yet let {pod} be scheduled: it has a scheduling gate",
		fix: check.ByUser("The gate names the controller; kueue.x-k8s.io/admission is Kueue's, whose workload says "+
			"why it waits.", "kubectl -n {namespace} get pod {pod} -o jsonpath='{.spec.schedulingGates}'", workloads),
		example: `Scheduling is blocked due to non-empty scheduling gates`,
		waits:   true,
	},
}

// notAdmitted explains that a queue holds the pod.
func notAdmitted(t target, sym symptom) check.Finding {
	const label = "kueue.x-k8s.io/queue-name"
	f := answer(QueueAdmission, queued)(t, sym)
	if queue := t.pod.Labels[label]; queue != "" {
		f.Evidence = []check.Evidence{{Source: "label " + label, Got: queue}}
	}
	return f
}
