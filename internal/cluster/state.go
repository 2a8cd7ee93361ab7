// Package cluster holds the state of one Kubernetes or OpenShift cluster, as a value that fits in a file.
package cluster

import (
	"slices"
	"time"
)

// SchemaVersion is raised when a reader of older States must know of the change.
const SchemaVersion = 1

// State is everything that was read of a cluster at one moment. A list that could not be read has a Problem; one that
// was not asked for is not in Read.
type State struct {
	SchemaVersion   int              `json:"schemaVersion"`
	Taken           time.Time        `json:"taken"`
	Written         time.Time        `json:"written,omitzero"` // by this client, the last time; zero: never
	Server          Server           `json:"server"`
	Read            []Kind           `json:"read"` // the requested lists
	Nodes           []Node           `json:"nodes,omitempty"`
	Pods            []Pod            `json:"pods,omitempty"`
	SomePods        bool             `json:"somePods,omitempty"` // without the pods of other jobs or namespaces
	Pools           []Pool           `json:"pools,omitempty"`
	MachineConfigs  []MachineConfig  `json:"machineConfigs,omitempty"`
	Networks        []Network        `json:"networks,omitempty"`
	SriovNetworks   []SriovNetwork   `json:"sriovNetworks,omitempty"`
	SriovPolicies   []SriovPolicy    `json:"sriovPolicies,omitempty"`
	SriovNodes      []SriovNode      `json:"sriovNodes,omitempty"`
	NvidiaResources []NvidiaResource `json:"nvidiaResources,omitempty"`
	DRADevices      []DRADevice      `json:"draDevices,omitempty"`
	DeviceClasses   []DeviceClass    `json:"deviceClasses,omitempty"`
	ResourceClaims  []ResourceClaim  `json:"resourceClaims,omitempty"`
	SCCs            []SCC            `json:"sccs,omitempty"`
	SCCGrants       []SCCGrant       `json:"sccGrants,omitempty"`
	Namespaces      []Namespace      `json:"namespaces,omitempty"`
	ServiceAccounts []ServiceAccount `json:"serviceAccounts,omitempty"`
	Quotas          []Quota          `json:"quotas,omitempty"`
	VolumeClaims    []VolumeClaim    `json:"volumeClaims,omitempty"`
	StorageClasses  []StorageClass   `json:"storageClasses,omitempty"`
	PriorityClasses []PriorityClass  `json:"priorityClasses,omitempty"`
	RuntimeClasses  []RuntimeClass   `json:"runtimeClasses,omitempty"`
	LocalQueues     []LocalQueue     `json:"localQueues,omitempty"`
	Events          []Event          `json:"events,omitempty"`
	Workloads       []Workload       `json:"workloads,omitempty"`
	Objects         []Object         `json:"objects,omitempty"`    // Railhead's own
	ConfigMaps      []ConfigMap      `json:"configMaps,omitempty"` // Railhead's own
	TrainJobs       []TrainJob       `json:"trainJobs,omitempty"`
	Problems        []Problem        `json:"problems,omitempty"`
}

// Kind is one list of the State.
type Kind string

// The lists, by the resource they are read from.
const (
	Nodes           Kind = "nodes"
	Pods            Kind = "pods"
	Pools           Kind = "machineconfigpools"
	MachineConfigs  Kind = "machineconfigs"
	Networks        Kind = "network-attachment-definitions"
	SriovNetworks   Kind = "sriovnetworks"
	SriovPolicies   Kind = "sriovnetworknodepolicies"
	SriovNodes      Kind = "sriovnetworknodestates"
	NicPolicies     Kind = "nicclusterpolicies"
	DRADevices      Kind = "resourceslices"
	DeviceClasses   Kind = "deviceclasses"
	ResourceClaims  Kind = "resourceclaims"
	SCCs            Kind = "securitycontextconstraints"
	SCCGrants       Kind = "rolebindings" // and cluster role bindings, with the roles they name
	Namespaces      Kind = "namespaces"
	ServiceAccounts Kind = "serviceaccounts"
	Quotas          Kind = "resourcequotas"
	VolumeClaims    Kind = "persistentvolumeclaims"
	StorageClasses  Kind = "storageclasses"
	PriorityClasses Kind = "priorityclasses"
	RuntimeClasses  Kind = "runtimeclasses"
	LocalQueues     Kind = "localqueues"
	Events          Kind = "events"
	Objects         Kind = "objects"      // of any resource, with Railhead's label
	StatefulSets    Kind = "statefulsets" // of Objects these alone
	JobObjects      Kind = "jobs"         // of Objects those that run pods
	Workloads       Kind = "workloads"    // of all kinds that make pods, with or without Railhead's label
	ConfigMaps      Kind = "configmaps"   // of Objects these alone, by name
	TrainJobs       Kind = "trainjobs"
	// Webhooks are the namespaces and the objects of the admission webhook, among Objects, with Railhead's label.
	Webhooks Kind = "mutatingwebhookconfigurations"
	// Metrics are the objects of the RDMA metrics of nodes, among Objects, with Railhead's label.
	Metrics Kind = "daemonsets"
	// NvidiaObjects are the networks and the address pools of NVIDIA's network operator, among Objects, with Railhead's
	// label.
	NvidiaObjects Kind = "hostdevicenetworks"
	// UserBindings are the cluster role bindings among Objects.
	UserBindings Kind = "clusterrolebindings"
)

// Server is the API server with its API groups.
type Server struct {
	URL     string   `json:"url"`
	Context string   `json:"context,omitempty"` // of the kubeconfig
	User    string   `json:"user,omitempty"`    // as the server names the client
	Version string   `json:"version"`           // v1.34.2
	Minor   int      `json:"minor"`             // 34
	Groups  []string `json:"groups"`            // API groups: apps, security.openshift.io
}

// Serves reports whether the server has the API group.
func (s Server) Serves(group string) bool { return slices.Contains(s.Groups, group) }

// API groups of optional features.
const (
	SecurityGroup      = "security.openshift.io"
	MachineConfigGroup = "machineconfiguration.openshift.io"
	SriovGroup         = "sriovnetwork.openshift.io"
	NvidiaGroup        = "mellanox.com" // NVIDIA's network operator
	NvIPAMGroup        = "nv-ipam.nvidia.com"
	NetworkGroup       = "k8s.cni.cncf.io"
	ResourceGroup      = "resource.k8s.io"
	JobSetGroup        = "jobset.x-k8s.io"
	KueueGroup         = "kueue.x-k8s.io"
	TrainerGroup       = "trainer.kubeflow.org"
	MonitoringGroup    = "monitoring.coreos.com" // the Prometheus operator
)

// OpenShift reports whether pods are admitted by security context constraints.
func (s Server) OpenShift() bool { return s.Serves(SecurityGroup) }

// Object is an object with Railhead's label, without the server's managedFields.
type Object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Namespace  string         `json:"namespace,omitempty"`
	Name       string         `json:"name"`
	Fields     map[string]any `json:"fields"` // the whole object as JSON has it, apiVersion and kind included
	Applied    map[string]any `json:"-"`      // fields that Railhead applied, in the form FieldsV1 of managedFields
}

// ConfigMap is a ConfigMap with Railhead's label, without its data.
type ConfigMap struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// Problem is a list that could not be read.
type Problem struct {
	Kind      Kind   `json:"kind"`
	Resource  string `json:"resource,omitempty"` // of the API: pytorchjobs.kubeflow.org
	Namespace string `json:"namespace,omitempty"`
	Err       string `json:"error"`
	Grant     string `json:"grant,omitempty"`     // the command by which an administrator gives the right to read it
	Denied    string `json:"denied,omitempty"`    // the user who lacks an administrator's right, in place of Grant
	Forbidden bool   `json:"forbidden,omitempty"` // the client may not list it
}

// Problem returns why a list is not known; nil when it is, or when the server does not have the kind.
func (s State) Problem(kind Kind) *Problem {
	if i := slices.IndexFunc(s.Problems, func(p Problem) bool { return p.Kind == kind }); i >= 0 {
		return &s.Problems[i]
	}
	return nil
}

// Knows reports whether the list was asked for and came.
func (s State) Knows(kind Kind) bool {
	return slices.Contains(s.Read, kind) && s.Problem(kind) == nil
}

// Node returns a node by its name.
func (s State) Node(name string) (Node, bool) {
	return find(s.Nodes, func(n Node) bool { return n.Name == name })
}

// Pool returns a machine config pool by its name.
func (s State) Pool(name string) (Pool, bool) {
	return find(s.Pools, func(p Pool) bool { return p.Name == name })
}

// SCC returns a security context constraint by its name.
func (s State) SCC(name string) (SCC, bool) {
	return find(s.SCCs, func(c SCC) bool { return c.Name == name })
}

// Namespace returns a namespace by its name.
func (s State) Namespace(name string) (Namespace, bool) {
	return find(s.Namespaces, func(n Namespace) bool { return n.Name == name })
}

// Network returns a network attachment definition by its place.
func (s State) Network(namespace, name string) (Network, bool) {
	return find(s.Networks, func(n Network) bool { return n.Namespace == namespace && n.Name == name })
}

func find[T any](all []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	var none T
	return none, false
}

// Join adds lists that were read later to those that were not read.
func (s State) Join(later State) State {
	s.Read = slices.Concat(s.Read, later.Read)
	s.Problems = slices.Concat(s.Problems, later.Problems)
	s.SomePods = s.SomePods || later.SomePods
	s.Nodes = append(s.Nodes, later.Nodes...)
	s.Pods = append(s.Pods, later.Pods...)
	s.Pools = append(s.Pools, later.Pools...)
	s.MachineConfigs = append(s.MachineConfigs, later.MachineConfigs...)
	s.Networks = append(s.Networks, later.Networks...)
	s.SriovNetworks = append(s.SriovNetworks, later.SriovNetworks...)
	s.SriovPolicies = append(s.SriovPolicies, later.SriovPolicies...)
	s.SriovNodes = append(s.SriovNodes, later.SriovNodes...)
	s.NvidiaResources = append(s.NvidiaResources, later.NvidiaResources...)
	s.DRADevices = append(s.DRADevices, later.DRADevices...)
	s.DeviceClasses = append(s.DeviceClasses, later.DeviceClasses...)
	s.ResourceClaims = append(s.ResourceClaims, later.ResourceClaims...)
	s.SCCs = append(s.SCCs, later.SCCs...)
	s.SCCGrants = append(s.SCCGrants, later.SCCGrants...)
	s.Namespaces = append(s.Namespaces, later.Namespaces...)
	s.ServiceAccounts = append(s.ServiceAccounts, later.ServiceAccounts...)
	s.Quotas = append(s.Quotas, later.Quotas...)
	s.VolumeClaims = append(s.VolumeClaims, later.VolumeClaims...)
	s.StorageClasses = append(s.StorageClasses, later.StorageClasses...)
	s.PriorityClasses = append(s.PriorityClasses, later.PriorityClasses...)
	s.RuntimeClasses = append(s.RuntimeClasses, later.RuntimeClasses...)
	s.LocalQueues = append(s.LocalQueues, later.LocalQueues...)
	s.Events = append(s.Events, later.Events...)
	s.Workloads = append(s.Workloads, later.Workloads...)
	s.ConfigMaps = append(s.ConfigMaps, later.ConfigMaps...)
	s.TrainJobs = append(s.TrainJobs, later.TrainJobs...)
	if slices.Contains(later.Read, Objects) { // which include the JobObjects
		s.Objects = nil
	}
	s.Objects = append(s.Objects, later.Objects...)
	return s
}

// Object returns an object that Railhead wrote.
func (s State) Object(kind, namespace, name string) (Object, bool) {
	return find(s.Objects, func(o Object) bool { return o.Kind == kind && o.Namespace == namespace && o.Name == name })
}
