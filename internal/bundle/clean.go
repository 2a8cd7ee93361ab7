package bundle

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/workload"
)

// Clean keeps the parts of a bundle that may leave the cluster: only the labels, annotations, variables, objects and
// log lines listed here. It also removes credentials from free text. The verdict on a clean bundle is the same as that
// on the archive.
func Clean(b Bundle) Bundle {
	b.State = cleanState(b.State)
	b.Machines = each(b.Machines, func(m *rules.Machine) {
		m.Snapshot, m.Unreached = cleanSnapshot(m.Snapshot), cleanText(m.Unreached)
	})
	b.Logs = each(b.Logs, func(l *Log) { l.Text = cleanLog(l.Text) })
	if b.Bench != nil {
		clean := cleanBench(*b.Bench)
		b.Bench = &clean
	}
	return b
}

// cleanBench keeps numbers and removes credentials from the output of tools. The findings quote that output, so they
// are made anew from the clean result.
func cleanBench(r bench.Result) bench.Result {
	r.Failures, r.Skipped = each(r.Failures, redact), each(r.Skipped, redact)
	r.Machines = nil // the archive has them in files of their own
	r.CrossRails = each(r.CrossRails, func(c *bench.Crossing) { redact(&c.Why) })
	r.Loopbacks = each(r.Loopbacks, func(l *bench.OwnLoop) { redact(&l.Failed) })
	r.Ladders, r.AllReduces = nil, nil // doctor makes none
	r.Findings = benchrules.Judge(r)
	return r
}

// cleanSnapshot removes possible secrets from environment, command line and settings. All other parts of a snapshot are
// facts about devices, addresses and limits.
func cleanSnapshot(s host.Snapshot) host.Snapshot {
	s.Env, s.Launched = cleanEnv(s.Env), cleanEnv(s.Launched)
	if line, ok := s.Cmdline.Get(); ok {
		s.Cmdline = host.Know(kernelArguments(line))
	}
	s.NCCL.Config = slices.DeleteFunc(slices.Clone(s.NCCL.Config),
		func(v host.ConfigVar) bool { return secretName.MatchString(v.Name) })
	for i := range s.NCCL.Config {
		redact(&s.NCCL.Config[i].Value)
	}
	s.Problems = each(s.Problems, func(p *host.Problem) { redact(&p.Err) })
	if s.Earlier != nil {
		s.Earlier = s.Earlier.Counted()
	}
	return s
}

// cleanEnv drops variables with names of credentials, and removes credentials from the others. Package host/sysfs lists
// the variables that a snapshot may have.
func cleanEnv(all map[string]string) map[string]string {
	return filter(all, func(string) bool { return true })
}

// argumentPrefixes match the kernel arguments for DMA, memory and drivers.
var argumentPrefixes = []string{
	"iommu", "intel_iommu", "amd_iommu", "arm-smmu", "swiotlb", "pci=", "pcie_", "disable_acs",
	"hugepages", "default_hugepagesz", "numa", "isolcpus", "mlx", "ib_", "rdma", "irdma", "nvidia",
	"modprobe.blacklist", "module_blacklist", "init_on_alloc", "transparent_hugepage",
}

func kernelArguments(line string) string {
	tokens := slices.DeleteFunc(strings.Fields(line), func(token string) bool {
		return !slices.ContainsFunc(argumentPrefixes, func(p string) bool { return strings.HasPrefix(token, p) })
	})
	return cleanText(strings.Join(tokens, " "))
}

// each returns a copy of a list with every value changed.
func each[T any](list []T, change func(*T)) []T {
	changed := slices.Clone(list)
	for i := range changed {
		change(&changed[i])
	}
	return changed
}

// redact removes credentials from a text.
func redact(text *string) { *text = cleanText(*text) }

// cleanState lists the parts of a State that may leave the cluster.
func cleanState(s cluster.State) cluster.State {
	labels := selectedLabels(s)
	return cluster.State{
		SchemaVersion: s.SchemaVersion,
		Taken:         s.Taken,
		SomePods:      s.SomePods,
		Written:       s.Written,
		Read:          s.Read,
		Server: cluster.Server{
			URL:     cleanText(s.Server.URL),
			Version: s.Server.Version,
			Minor:   s.Server.Minor,
			Groups:  s.Server.Groups,
		},
		Nodes: each(s.Nodes, func(n *cluster.Node) {
			n.Labels = labels.of(n.Labels)
			redact(&n.NotReady)
			redact(&n.MachineConfig.Reason)
			n.Taints = each(n.Taints, func(t *cluster.Taint) { *t = cluster.Taint{Key: t.Key, Effect: t.Effect} })
		}),
		Pods:           each(s.Pods, labels.cleanPod),
		Pools:          each(s.Pools, cleanPool),
		MachineConfigs: each(s.MachineConfigs, labels.cleanMachineConfig),
		Networks: each(s.Networks, func(n *cluster.Network) {
			n.Config, n.Broken = cleanConfig(n.Config), cleanText(n.Broken)
		}),
		SriovNetworks:   each(s.SriovNetworks, func(n *cluster.SriovNetwork) { n.Spec = prune(n.Spec, sriovKeys) }),
		SriovPolicies:   s.SriovPolicies,
		SriovNodes:      each(s.SriovNodes, func(n *cluster.SriovNode) { redact(&n.SyncError) }),
		NvidiaResources: s.NvidiaResources,
		DRADevices:      s.DRADevices,
		DeviceClasses:   s.DeviceClasses,
		ResourceClaims: each(s.ResourceClaims, func(c *cluster.ResourceClaim) {
			c.Conditions = each(c.Conditions, func(c *cluster.DeviceCondition) { redact(&c.Message) })
		}),
		SCCs:      s.SCCs,
		SCCGrants: s.SCCGrants,
		Namespaces: each(s.Namespaces, func(n *cluster.Namespace) {
			n.Labels, n.Annotations = labels.of(n.Labels), annotations(n.Annotations)
		}),
		ServiceAccounts: s.ServiceAccounts,
		Quotas:          s.Quotas,
		Workloads: each(s.Workloads, func(w *cluster.Workload) {
			w.Templates = each(w.Templates, labels.cleanPod)
			w.Conditions = each(w.Conditions, func(c *cluster.Condition) { redact(&c.Message) })
		}),
		TrainJobs: s.TrainJobs,
		Events:    cleanEvents(s.Events),
		Objects:   each(s.Objects, labels.cleanObject),
		Problems:  each(s.Problems, func(p *cluster.Problem) { redact(&p.Err) }),
	}
}

func (k labelKeys) cleanPod(p *cluster.Pod) {
	p.Labels, p.Annotations = k.of(p.Labels), annotations(p.Annotations)
	redact(&p.Message)
	redact(&p.Unscheduled)
	p.Containers = each(p.Containers, func(c *cluster.Container) {
		c.Command = nil // it may have secrets
		if byRuntime(c) {
			redact(&c.Message)
			return
		}
		// the message may be the tail of the log (terminationMessagePolicy FallbackToLogsOnError)
		c.Message = cleanMessage(c.Message)
	})
}

// byRuntime reports whether the message of a container is of the kubelet or the container runtime: of one that waits
// for its image or to be created, or that could not be started (kubernetes pkg/kubelet/kuberuntime, containerd
// internal/cri, cri-o server).
func byRuntime(c *cluster.Container) bool {
	return c.Waiting != "" && c.Waiting != "CrashLoopBackOff" && c.ExitCode == nil ||
		slices.Contains([]string{"StartError", "ContainerCannotRun"}, c.Ended)
}

func cleanPool(p *cluster.Pool) {
	p.Annotations = annotations(p.Annotations)
	p.Conditions = each(p.Conditions, func(c *cluster.Condition) { redact(&c.Message) })
}

// cleanMachineConfig keeps the lines of files that set limits of containers.
func (k labelKeys) cleanMachineConfig(m *cluster.MachineConfig) {
	m.Labels = k.of(m.Labels)
	m.KernelArguments = strings.Fields(kernelArguments(strings.Join(m.KernelArguments, " ")))
	m.Files = each(m.Files, func(f *cluster.File) {
		content := keepLines(f.Content, len(f.Content), func(line string) bool {
			return strings.Contains(line, "ulimit") || strings.Contains(line, "memlock") ||
				strings.HasPrefix(line, "[crio")
		})
		f.Content, f.Unread, f.Compression = content, cleanText(f.Unread), cleanText(f.Compression)
	})
}

// eventReasons lists reasons of events by the kubelet, the scheduler, controllers and plugins about pods that do not
// start.
var eventReasons = []string{
	"AddedInterface", "AttachVolume", "BackOff", "Created", "CreatedSriovNetwork", "DrainDone",
	"EmptyPodSharedPoolError", "ErrImageNeverPull", "Evicted", "ExceededGracePeriod", "Failed",
	"FailedAttachVolume", "FailedBinding", "FailedCreate", "FailedCreatePod", "FailedCreatePodContainer",
	"FailedCreatePodSandBox", "FailedMapVolume", "FailedMount", "FailedPostStartHook",
	"FailedPrepareDynamicResources", "FailedResourceClaimCreation", "FailedScheduling", "FailedSync",
	"FailedToCreateHeadPod", "FailedToCreateWorkerPod", "HeadlessServiceCreationFailed", "JobCreationFailed",
	"ImagePullBackOff", "InspectFailed", "InvalidDiskCapacity", "Killing", "NetworkNotReady", "NoNetworkFound",
	"NodeNotReady", "OOMKilling", "OutOfmemory", "Pending", "Preempted", "Preempting", "ProvisioningFailed", "Pulled",
	"Pulling", "SMTAlignmentError", "SandboxChanged", "Scheduled", "Started", "SuccessfulCreate", "SystemOOM",
	"TaintManagerEviction", "TopologyAffinityError", "UnexpectedAdmissionError", "Unhealthy", "Unschedulable",
}

// cleanEvents drops events with other reasons. Of a warning it keeps the reason: without it a pod that it keeps from
// running would look healthy.
func cleanEvents(events []cluster.Event) []cluster.Event {
	known := func(e cluster.Event) bool { return slices.Contains(eventReasons, e.Reason) }
	kept := slices.DeleteFunc(slices.Clone(events),
		func(e cluster.Event) bool { return !known(e) && e.Type != "Warning" })
	for i := range kept {
		if !known(kept[i]) || kept[i].Reason == "Unhealthy" { // quotes the answer of a probe of the user
			kept[i].Message = ""
		}
		redact(&kept[i].Message)
	}
	return kept
}

// labelKeys is the set of label keys to keep.
type labelKeys map[string]bool

// labelDomains are the domains of labels that platforms set.
var labelDomains = []string{
	"kubernetes.io", "k8s.io", "openshift.io", "nvidia.com", "amd.com", "intel.com",
	"kubeflow.org", "x-k8s.io", "ray.io", "volcano.sh", "railhead.dev",
}

// selectedLabels adds the labels by which pools, policies and pods select nodes.
func selectedLabels(s cluster.State) labelKeys {
	keys := labelKeys{"controller-revision-hash": true, "job-name": true, "k8s-app": true, "app": true}
	for _, p := range s.Pools {
		for key := range p.NodeSelector {
			keys[key] = true
		}
		for _, e := range p.NodeExpressions {
			keys[e.Key] = true
		}
	}
	for _, p := range s.SriovPolicies {
		for key := range p.NodeSelector {
			keys[key] = true
		}
	}
	for _, p := range s.Pods {
		for key := range p.NodeSelector {
			keys[key] = true
		}
	}
	return keys
}

func (k labelKeys) of(labels map[string]string) map[string]string { return filter(labels, k.allows) }

func (k labelKeys) allows(key string) bool { return k[key] || inDomain(key, labelDomains) }

func inDomain(key string, domains []string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	return qualified && slices.ContainsFunc(domains, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// annotationKeys are the annotations about networks and rights of a pod.
var annotationKeys = []string{
	"k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/resourceName",
	"v1.multus-cni.io/default-network", "openshift.io/scc", "security.openshift.io/validated-scc-subject-type",
	"openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.supplemental-groups", workload.Injected,
}

func annotations(all map[string]string) map[string]string { return filter(all, allowsAnnotation) }

func allowsAnnotation(key string) bool {
	return slices.Contains(annotationKeys, key) || inDomain(key, []string{"railhead.dev"})
}

// filter keeps the entries with allowed keys. It returns nil if none is left, as reading a file does.
func filter(all map[string]string, allows func(key string) bool) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if allows(key) && !secretName.MatchString(key) {
			kept[key] = cleanText(value)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
