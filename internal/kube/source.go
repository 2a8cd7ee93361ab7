package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// source is one list of the server and its conversion.
type source struct {
	kind      cluster.Kind // the list of the State that it belongs to
	resource  string       // with its group: statefulsets.apps
	path      string
	namespace string // empty: all namespaces, or a kind without namespaces
	fallback  string // path of the list in the wanted namespace, used if the list of all namespaces is forbidden
	labels    string // label selector
	fields    string // field selector
	name      string // of one object; empty: all
	cached    bool   // may come from the server's cache, seconds old: reading a large list from etcd is expensive
	codec     codec
}

// codec converts objects of one kind and adds the results to a State.
type codec struct {
	decode func(raw []byte, form encoding) (decoded, error)
	add    func(*draft, any)
	accept string // the content types of a list that decode understands
	watch  string // the kind of watch events
}

// decoded is one converted object.
type decoded struct {
	key     string // namespace/name
	version string
	value   any // for add; nil: the State does not need the object
}

// object is implemented by every decoded type.
type object[O any] interface {
	*O
	GetNamespace() string
	GetName() string
	GetResourceVersion() string
}

// codecOf returns the codec of a type whose objects give one value each, for the list of a State.
func codecOf[O any, P object[O], V any](convert func(*O) V, list func(*draft) *[]V) codec {
	return codecOfMany[O, P](func(o *O) []V { return []V{convert(o)} }, list)
}

// codecOfMany returns the codec of a type whose objects give any number of values.
func codecOfMany[O any, P object[O], V any](convert func(*O) []V, list func(*draft) *[]V) codec {
	decode := func(raw []byte, form encoding) (decoded, error) {
		var o O
		if err := unmarshal(raw, form, &o); err != nil {
			return decoded{}, fmt.Errorf("decode %T: %w", o, err)
		}
		p := P(&o)
		d := decoded{key: p.GetNamespace() + "/" + p.GetName(), version: p.GetResourceVersion()}
		if values := convert(&o); len(values) > 0 {
			d.value = values
		}
		return d, nil
	}
	add := func(d *draft, values any) {
		all := list(d)
		*all = append(*all, values.([]V)...)
	}
	accept := "application/json"
	if _, ok := any(new(O)).(message); ok {
		accept = "application/vnd.kubernetes.protobuf,application/json"
	}
	return codec{decode, add, accept, "application/json"}
}

// metadataOf returns the codec of objects if only their metadata is wanted.
func metadataOf[V any](convert func(*metav1.PartialObjectMetadata) V, list func(*draft) *[]V) codec {
	c := codecOf(convert, list)
	c.watch = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	c.accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	return c
}

// message is implemented by the types of k8s.io/api, which have a protobuf form. The types of this package have only
// the Unmarshal of their ObjectMeta.
type message interface {
	Unmarshal([]byte) error
	GetObjectKind() schema.ObjectKind
}

func unmarshal(raw []byte, form encoding, into any) error {
	if form == inJSON {
		return json.Unmarshal(raw, into)
	}
	m, ok := into.(message)
	if !ok {
		return errors.New("the server sent protobuf")
	}
	return m.Unmarshal(raw)
}

// endpoint is a list that the server may have.
type endpoint struct {
	group    string
	versions []string // that can be read, the best first; nil: v1
	name     string   // of the resource; empty: the kind's
	scope    scope
	labels   string
	cached   bool
	codec    codec
}

// scope says in which namespaces the objects of a resource are read.
type scope int

const (
	ofCluster   scope = iota // the resource has no namespace
	anywhere                 // in all namespaces
	inNamespace              // in the wanted namespace
	itself                   // only the wanted namespace itself
)

// sources returns the lists for a State, without resources that the server does not have.
func (a api) sources(w Want) []source {
	var all []source
	for _, kind := range w.Kinds {
		if _, ok := a[cluster.SecurityGroup]; kind == cluster.SCCGrants && !ok {
			continue // there are no SCCs
		}
		for _, e := range endpointsOf(kind, w) {
			if e.name == "" {
				e.name = string(kind)
			}
			if e.versions == nil {
				e.versions = []string{"v1"}
			}
			if version, ok := a.find(e.group, e.name, e.versions...); ok {
				all = append(all, e.source(kind, version, w))
			}
		}
	}
	return all
}

func (e endpoint) source(kind cluster.Kind, version string, w Want) source {
	base := apiPath(e.group, version)
	s := source{
		kind:     kind,
		resource: strings.TrimSuffix(e.name+"."+e.group, "."),
		path:     base + "/" + e.name,
		labels:   e.labels,
		cached:   e.cached,
		codec:    e.codec,
	}
	narrow := base + "/namespaces/" + w.Namespace + "/" + e.name
	switch {
	case w.Namespace == "" || e.scope == ofCluster || e.scope == anywhere:
	case e.scope == itself:
		s.name = w.Namespace
	case w.everywhere(kind):
		s.fallback = narrow
	default:
		s.path, s.namespace = narrow, w.Namespace
	}
	return s
}

// apiPath returns the path of a version of a group.
func apiPath(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}

// endpointsOf returns the lists behind a kind.
func endpointsOf(kind cluster.Kind, w Want) []endpoint {
	switch kind {
	case cluster.Pods:
		return []endpoint{podsOf(w)}
	case cluster.SCCGrants:
		return grantEndpoints(w)
	case cluster.Objects:
		return objectEndpoints(w)
	case cluster.JobObjects:
		return jobEndpoints()
	case cluster.Workloads:
		return workloadEndpoints()
	default:
		return endpoints[kind]
	}
}

// resourceVersions are the versions of resource.k8s.io whose fields are read.
var resourceVersions = []string{"v1", "v1beta2", "v1beta1"}

// endpoints has the kinds whose lists do not depend on what is wanted.
var endpoints = map[cluster.Kind][]endpoint{
	cluster.Nodes: {{
		cached: true,
		codec:  codecOf(convertNode, func(d *draft) *[]cluster.Node { return &d.state.Nodes }),
	}},
	cluster.Namespaces: {{
		scope: itself,
		codec: codecOf(convertNamespace, func(d *draft) *[]cluster.Namespace { return &d.state.Namespaces }),
	}},
	cluster.ServiceAccounts: {{
		scope: inNamespace,
		codec: codecOf(convertServiceAccount,
			func(d *draft) *[]cluster.ServiceAccount { return &d.state.ServiceAccounts }),
	}},
	cluster.Quotas: {{
		scope: inNamespace,
		codec: codecOf(convertQuota, func(d *draft) *[]cluster.Quota { return &d.state.Quotas }),
	}},
	cluster.VolumeClaims: {{
		scope: inNamespace,
		codec: codecOf(convertVolumeClaim, func(d *draft) *[]cluster.VolumeClaim { return &d.state.VolumeClaims }),
	}},
	cluster.StorageClasses: {{
		group: "storage.k8s.io",
		codec: codecOf(convertStorageClass, func(d *draft) *[]cluster.StorageClass { return &d.state.StorageClasses }),
	}},
	cluster.PriorityClasses: {{
		group: "scheduling.k8s.io",
		codec: metadataOf(convertPriorityClass,
			func(d *draft) *[]cluster.PriorityClass { return &d.state.PriorityClasses }),
	}},
	cluster.RuntimeClasses: {{
		group: "node.k8s.io",
		codec: metadataOf(convertRuntimeClass,
			func(d *draft) *[]cluster.RuntimeClass { return &d.state.RuntimeClasses }),
	}},
	cluster.LocalQueues: {{
		group:    cluster.KueueGroup,
		versions: []string{"v1beta2", "v1beta1"},
		scope:    inNamespace,
		codec:    codecOf(convertLocalQueue, func(d *draft) *[]cluster.LocalQueue { return &d.state.LocalQueues }),
	}},
	cluster.Events: {{
		scope:  inNamespace,
		cached: true,
		codec:  codecOf(convertEvent, func(d *draft) *[]cluster.Event { return &d.state.Events }),
	}},
	cluster.StatefulSets: {writtenOf("apps", "v1", "StatefulSet", inNamespace)},
	cluster.ConfigMaps: {{
		scope:  inNamespace,
		labels: plan.LabelManagedBy + "=" + plan.ManagedBy,
		codec:  metadataOf(convertConfigMap, func(d *draft) *[]cluster.ConfigMap { return &d.state.ConfigMaps }),
	}},
	cluster.Pools: {{
		group: cluster.MachineConfigGroup,
		codec: codecOf(convertPool, func(d *draft) *[]cluster.Pool { return &d.state.Pools }),
	}},
	cluster.MachineConfigs: {{
		group: cluster.MachineConfigGroup,
		codec: codecOf(convertMachineConfig,
			func(d *draft) *[]cluster.MachineConfig { return &d.state.MachineConfigs }),
	}},
	cluster.Networks: {{
		group: cluster.NetworkGroup,
		scope: inNamespace,
		codec: codecOf(convertNetwork, func(d *draft) *[]cluster.Network { return &d.state.Networks }),
	}},
	cluster.SriovNetworks: {
		sriovNetworksOf("SriovNetwork"),
		sriovNetworksOf("SriovIBNetwork"),
		{
			group:    cluster.NvidiaGroup,
			versions: []string{"v1alpha1"},
			name:     plan.Resource("HostDeviceNetwork"),
			codec: codecOf(sriovNetworkOf("HostDeviceNetwork"),
				func(d *draft) *[]cluster.SriovNetwork { return &d.state.SriovNetworks }),
		},
	},
	cluster.NicPolicies: {{
		group:    cluster.NvidiaGroup,
		versions: []string{"v1alpha1"},
		codec: codecOfMany(convertNicPolicy,
			func(d *draft) *[]cluster.NvidiaResource { return &d.state.NvidiaResources }),
	}},
	cluster.SriovPolicies: {{
		group: cluster.SriovGroup,
		scope: anywhere,
		codec: codecOf(convertPolicy, func(d *draft) *[]cluster.SriovPolicy { return &d.state.SriovPolicies }),
	}},
	cluster.SriovNodes: {{
		group:  cluster.SriovGroup,
		scope:  anywhere,
		cached: true,
		codec:  codecOf(convertSriovNode, func(d *draft) *[]cluster.SriovNode { return &d.state.SriovNodes }),
	}},
	cluster.DRADevices: {{
		group:    cluster.ResourceGroup,
		versions: resourceVersions,
		cached:   true,
		codec:    codecOfMany(convertSlice, func(d *draft) *[]cluster.DRADevice { return &d.state.DRADevices }),
	}},
	cluster.DeviceClasses: {{
		group:    cluster.ResourceGroup,
		versions: resourceVersions,
		codec:    codecOf(convertDeviceClass, func(d *draft) *[]cluster.DeviceClass { return &d.state.DeviceClasses }),
	}},
	cluster.ResourceClaims: {{
		group:    cluster.ResourceGroup,
		versions: resourceVersions,
		scope:    inNamespace,
		codec:    codecOf(convertClaim, func(d *draft) *[]cluster.ResourceClaim { return &d.state.ResourceClaims }),
	}},
	cluster.TrainJobs: {{
		group:    cluster.TrainerGroup,
		versions: []string{"v1alpha1"},
		scope:    inNamespace,
		codec:    codecOf(convertTrainJob, func(d *draft) *[]cluster.TrainJob { return &d.state.TrainJobs }),
	}},
	cluster.Webhooks: {
		writtenOf("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", ofCluster),
		writtenOf("", "v1", "Namespace", ofCluster),
		writtenOf("apps", "v1", "Deployment", inNamespace),
		writtenOf(rbacv1.GroupName, "v1", "ClusterRoleBinding", ofCluster),
	},
	cluster.Metrics: {
		writtenOf("apps", "v1", "DaemonSet", inNamespace),
		writtenOf(cluster.MonitoringGroup, "v1", "PodMonitor", inNamespace),
	},
	cluster.NvidiaObjects: {
		writtenOf(cluster.NvidiaGroup, "v1alpha1", "HostDeviceNetwork", ofCluster),
		writtenOf(cluster.NvIPAMGroup, "v1alpha1", "IPPool", anywhere),
	},
	cluster.UserBindings: {writtenOf(rbacv1.GroupName, "v1", "ClusterRoleBinding", ofCluster)},
	cluster.SCCs: {{
		group: cluster.SecurityGroup,
		codec: codecOf(convertSCC, func(d *draft) *[]cluster.SCC { return &d.state.SCCs }),
	}},
}

// podsOf reads the pods of a job only, unless the pods of all namespaces or of no job are wanted.
func podsOf(w Want) endpoint {
	e := endpoint{
		scope: inNamespace,
		codec: codecOf(podOf(w), func(d *draft) *[]cluster.Pod { return &d.state.Pods }),
	}
	if w.Job == "" || w.everywhere(cluster.Pods) {
		e.cached = true
	} else {
		e.labels = plan.LabelInstance + "=" + w.Job
	}
	return e
}

// sriovNetworksOf reads all namespaces: the objects are in the operator's, and name the namespace of their network.
func sriovNetworksOf(kind string) endpoint {
	return endpoint{
		group: cluster.SriovGroup,
		name:  plan.Resource(kind),
		scope: anywhere,
		codec: codecOf(sriovNetworkOf(kind), func(d *draft) *[]cluster.SriovNetwork { return &d.state.SriovNetworks }),
	}
}

// grantEndpoints returns the lists that say who may use an SCC.
func grantEndpoints(w Want) []endpoint {
	const group = rbacv1.GroupName
	roles := codecOfMany(convertRole, func(d *draft) *[]sccRole { return &d.roles })
	bindings := codecOf(convertBinding, func(d *draft) *[]binding { return &d.bindings })
	all := []endpoint{
		{group: group, name: "clusterroles", codec: roles},
		{group: group, name: "clusterrolebindings", codec: bindings},
		{group: group, name: "roles", scope: inNamespace, codec: roles},
		{group: group, name: "rolebindings", scope: inNamespace, codec: bindings},
	}
	if !slices.Contains(w.Kinds, cluster.SCCs) {
		all = append(all, endpoint{
			group: cluster.SecurityGroup,
			name:  string(cluster.SCCs),
			codec: codecOf(convertSCC, func(d *draft) *[]cluster.SCC { return &d.granting }),
		})
	}
	return all
}

// objectEndpoints returns the lists of the kinds that plans write; of a job, only the kinds that a job has.
func objectEndpoints(w Want) []endpoint {
	all := append([]endpoint{
		writtenOf("", "v1", "ConfigMap", inNamespace),
		writtenOf("", "v1", "Service", inNamespace),
		writtenOf("policy", "v1", "PodDisruptionBudget", inNamespace),
	}, jobEndpoints()...)
	if w.Job != "" {
		return all
	}
	return append(all,
		writtenOf("", "v1", "ServiceAccount", inNamespace),
		writtenOf(rbacv1.GroupName, "v1", "Role", inNamespace),
		writtenOf(rbacv1.GroupName, "v1", "RoleBinding", inNamespace),
		writtenOf(rbacv1.GroupName, "v1", "ClusterRole", ofCluster),
		writtenOf(cluster.NetworkGroup, "v1", "NetworkAttachmentDefinition", inNamespace),
		writtenOf(cluster.SriovGroup, "v1", "SriovNetwork", anywhere),
		writtenOf(cluster.SriovGroup, "v1", "SriovIBNetwork", anywhere),
		writtenOf(cluster.SriovGroup, "v1", "SriovNetworkNodePolicy", anywhere),
		writtenOf(cluster.MachineConfigGroup, "v1", "MachineConfig", ofCluster),
		writtenOf(cluster.MachineConfigGroup, "v1", "MachineConfigPool", ofCluster),
		writtenOf(cluster.SecurityGroup, "v1", "SecurityContextConstraints", ofCluster),
	)
}

// jobEndpoints returns the lists of the kinds that run the pods of a job.
func jobEndpoints() []endpoint {
	var all []endpoint
	for _, k := range workload.Kinds {
		if k.Deployed {
			all = append(all, writtenOf(k.GVK.Group, k.GVK.Version, k.GVK.Kind, inNamespace))
		}
	}
	return all
}

// workloadEndpoints returns the lists of the kinds whose objects make pods.
func workloadEndpoints() []endpoint {
	var all []endpoint
	for _, k := range workload.Kinds {
		if k.Listed() {
			all = append(all, endpoint{
				group:    k.GVK.Group,
				versions: []string{k.GVK.Version, "v1"}, // the templates are at the same place in both
				name:     plan.Resource(k.GVK.Kind),
				scope:    inNamespace,
				codec:    codecOfMany(workloadOf(k), func(d *draft) *[]cluster.Workload { return &d.state.Workloads }),
			})
		}
	}
	return all
}

// writtenOf reads the objects of a kind that have Railhead's label.
func writtenOf(group, version, kind string, where scope) endpoint {
	apiVersion := schema.GroupVersion{Group: group, Version: version}.String()
	return endpoint{
		group:    group,
		versions: []string{version},
		name:     plan.Resource(kind),
		scope:    where,
		labels:   plan.LabelManagedBy + "=" + plan.ManagedBy,
		codec:    codecOfMany(objectOf(apiVersion, kind), func(d *draft) *[]cluster.Object { return &d.state.Objects }),
	}
}
