package bundle

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
	benchrules "github.com/railhead/railhead/internal/rules/bench"
)

// Clean keeps the parts of a bundle that may leave the cluster: only the labels, annotations, variables, objects and
// log lines listed here. It also removes credentials from free text. The verdict on a clean bundle is the same as that
// on the archive.
func Clean(b Bundle) Bundle {
	b.State = cleanState(b.State)
	machines := make([]rules.Machine, len(b.Machines))
	for i, m := range b.Machines {
		machines[i] = rules.Machine{
			Ref:       m.Ref,
			Node:      m.Node,
			Group:     m.Group,
			Snapshot:  cleanSnapshot(m.Snapshot),
			Unreached: cleanText(m.Unreached),
		}
	}
	b.Machines = machines
	kept := make([]Log, len(b.Logs))
	for i, l := range b.Logs {
		kept[i] = Log{Name: l.Name, Container: l.Container, Text: cleanLog(l.Text)}
	}
	b.Logs = kept
	if b.Bench != nil {
		clean := cleanBench(*b.Bench)
		b.Bench = &clean
	}
	return b
}

// cleanBench keeps numbers and removes credentials from the output of tools. It judges the result again; the archive
// has the machines in files of their own.
func cleanBench(r bench.Result) bench.Result {
	r.Failures, r.Skipped, r.Machines = each(r.Failures, cleanText), each(r.Skipped, cleanText), nil
	r.CrossRails = each(r.CrossRails, func(c bench.Crossing) bench.Crossing {
		c.Why = cleanText(c.Why)
		return c
	})
	r.Loopbacks = each(r.Loopbacks, func(l bench.OwnLoop) bench.OwnLoop {
		l.Failed = cleanText(l.Failed)
		return l
	})
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
	s.NCCL.Config = slices.Clone(s.NCCL.Config)
	s.NCCL.Config = slices.DeleteFunc(s.NCCL.Config,
		func(v host.ConfigVar) bool { return secretName.MatchString(v.Name) })
	for i := range s.NCCL.Config {
		s.NCCL.Config[i].Value = cleanText(s.NCCL.Config[i].Value)
	}
	s.Problems = each(s.Problems, func(p host.Problem) host.Problem {
		p.Err = cleanText(p.Err)
		return p
	})
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

// each returns a list with every value changed; nil stays nil.
func each[T any](list []T, change func(T) T) []T {
	if list == nil {
		return nil
	}
	changed := make([]T, len(list))
	for i, v := range list {
		changed[i] = change(v)
	}
	return changed
}

// cleanState lists the parts of a State that may leave the cluster.
func cleanState(s cluster.State) cluster.State {
	labels := selectedLabels(s)
	return cluster.State{
		SchemaVersion: s.SchemaVersion,
		Taken:         s.Taken,
		Written:       s.Written,
		Read:          s.Read,
		Server: cluster.Server{
			URL:     cleanText(s.Server.URL),
			Version: s.Server.Version,
			Minor:   s.Server.Minor,
			Groups:  s.Server.Groups,
		},
		Nodes: each(s.Nodes, func(n cluster.Node) cluster.Node {
			n.Labels = labels.of(n.Labels)
			n.NotReady, n.MachineConfig.Reason = cleanText(n.NotReady), cleanText(n.MachineConfig.Reason)
			n.Taints = each(n.Taints, func(t cluster.Taint) cluster.Taint {
				return cluster.Taint{Key: t.Key, Effect: t.Effect}
			})
			return n
		}),
		Pods:  each(s.Pods, func(p cluster.Pod) cluster.Pod { return cleanPod(p, labels) }),
		Pools: each(s.Pools, cleanPool),
		MachineConfigs: each(s.MachineConfigs,
			func(m cluster.MachineConfig) cluster.MachineConfig { return cleanMachineConfig(m, labels) }),
		Networks: each(s.Networks, func(n cluster.Network) cluster.Network {
			n.Config, n.Broken = cleanConfig(n.Config), cleanText(n.Broken)
			return n
		}),
		SriovNetworks: each(s.SriovNetworks, func(n cluster.SriovNetwork) cluster.SriovNetwork {
			n.Spec = prune(n.Spec, sriovKeys)
			return n
		}),
		SriovPolicies: s.SriovPolicies,
		SriovNodes: each(s.SriovNodes, func(n cluster.SriovNode) cluster.SriovNode {
			n.SyncError = cleanText(n.SyncError)
			return n
		}),
		DRADevices: s.DRADevices,
		SCCs:       s.SCCs,
		SCCGrants:  s.SCCGrants,
		Namespaces: each(s.Namespaces, func(n cluster.Namespace) cluster.Namespace {
			n.Labels, n.Annotations = labels.of(n.Labels), annotations(n.Annotations)
			return n
		}),
		ServiceAccounts: s.ServiceAccounts,
		Quotas:          s.Quotas,
		TrainJobs:       s.TrainJobs,
		Events: slices.DeleteFunc(each(s.Events, cleanEvent),
			func(e cluster.Event) bool { return e.Reason == "" }),
		Objects: each(s.Objects, func(o cluster.Object) cluster.Object { return cleanObject(o, labels) }),
		Problems: each(s.Problems, func(p cluster.Problem) cluster.Problem {
			p.Err = cleanText(p.Err)
			return p
		}),
	}
}

func cleanPod(p cluster.Pod, labels labelKeys) cluster.Pod {
	p.Labels, p.Annotations = labels.of(p.Labels), annotations(p.Annotations)
	p.Message, p.Unscheduled = cleanText(p.Message), cleanText(p.Unscheduled)
	p.Containers = each(p.Containers, func(c cluster.Container) cluster.Container {
		// the message may be the tail of the log (terminationMessagePolicy FallbackToLogsOnError)
		c.Message = cleanMessage(c.Message)
		return c
	})
	return p
}

func cleanPool(p cluster.Pool) cluster.Pool {
	p.Annotations = annotations(p.Annotations)
	p.Conditions = each(p.Conditions, func(c cluster.Condition) cluster.Condition {
		c.Message = cleanText(c.Message)
		return c
	})
	return p
}

// cleanMachineConfig keeps the lines of files that set limits of containers.
func cleanMachineConfig(m cluster.MachineConfig, labels labelKeys) cluster.MachineConfig {
	m.Labels = labels.of(m.Labels)
	m.KernelArguments = strings.Fields(kernelArguments(strings.Join(m.KernelArguments, " ")))
	m.Files = each(m.Files, func(f cluster.File) cluster.File {
		var kept strings.Builder
		for line := range strings.Lines(f.Content) {
			limit := strings.Contains(line, "ulimit") || strings.Contains(line, "memlock")
			if limit || strings.HasPrefix(line, "[crio") {
				kept.WriteString(cleanText(line))
			}
		}
		return cluster.File{Path: f.Path, Content: kept.String(), Unread: cleanText(f.Unread)}
	})
	return m
}

// eventReasons lists reasons of events by the kubelet, the scheduler, controllers and plugins about pods that do not
// start.
var eventReasons = []string{
	"AddedInterface", "AttachVolume", "BackOff", "Created", "CreatedSriovNetwork", "DrainDone",
	"EmptyPodSharedPoolError", "ErrImageNeverPull", "Evicted", "ExceededGracePeriod", "Failed",
	"FailedAttachVolume", "FailedBinding", "FailedCreate", "FailedCreatePodSandBox", "FailedMapVolume",
	"FailedMount", "FailedPostStartHook", "FailedPrepareDynamicResources", "FailedScheduling", "FailedSync",
	"ImagePullBackOff", "InspectFailed", "InvalidDiskCapacity", "Killing", "NetworkNotReady", "NoNetworkFound",
	"NodeNotReady", "OOMKilling", "OutOfmemory", "Preempted", "Preempting", "ProvisioningFailed", "Pulled",
	"Pulling", "SMTAlignmentError", "SandboxChanged", "Scheduled", "Started", "SuccessfulCreate", "SystemOOM",
	"TaintManagerEviction", "TopologyAffinityError", "UnexpectedAdmissionError", "Unhealthy",
}

// cleanEvent returns the zero value for an event whose reason is not listed.
func cleanEvent(e cluster.Event) cluster.Event {
	if !slices.Contains(eventReasons, e.Reason) {
		return cluster.Event{}
	}
	e.Message = cleanText(e.Message)
	if e.Reason == "Unhealthy" { // it quotes the answer of a probe of the user
		e.Message = ""
	}
	return e
}

// labelKeys is the set of label keys to keep.
type labelKeys map[string]bool

// labelDomains are the domains of labels that platforms set.
var labelDomains = []string{
	"kubernetes.io", "k8s.io", "openshift.io", "nvidia.com", "amd.com", "intel.com",
	"kubeflow.org", "x-k8s.io", "ray.io", "volcano.sh", "railhead.dev",
}

// selectedLabels adds the labels by which pools and policies select nodes.
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
	return keys
}

func (k labelKeys) of(labels map[string]string) map[string]string {
	return filter(labels, func(key string) bool { return k[key] || inDomain(key, labelDomains) })
}

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
	"openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.supplemental-groups",
}

func annotations(all map[string]string) map[string]string {
	return filter(all, func(key string) bool {
		return slices.Contains(annotationKeys, key) || inDomain(key, []string{"railhead.dev"})
	})
}

// filter keeps the entries with chosen keys. It returns nil if none is left, as reading a file does.
func filter(all map[string]string, keep func(key string) bool) map[string]string {
	var kept map[string]string
	for key, value := range all {
		if !keep(key) || secretName.MatchString(key) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = cleanText(value)
	}
	return kept
}
