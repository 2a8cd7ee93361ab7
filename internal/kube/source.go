package kube

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// source is one list of the server and its conversion.
type source struct {
	kind      cluster.Kind // the list of the State that it serves, which its problem is told of
	path      string
	namespace string // "" for all, and for kinds without one
	fallback  string // path of the same list in the wanted namespace, for when the whole is forbidden
	labels    string // label selector
	fields    string // field selector
	name      string // of the one object that is wanted; "" for all
	cached    bool   // may come from the server's cache, seconds old: lists so large that etcd should not be asked
	codec     codec
}

// codec turns objects of one kind into values, and puts values into a State.
type codec struct {
	decode func(raw []byte, form encoding) (decoded, error)
	add    func(*draft, any)
	accept string // the content types that can be decoded
}

// decoded is one object: its name, its version, and its conversion.
type decoded struct {
	key     string
	version string
	value   any // nil: of no interest
}

// object is implemented by every decoded type.
type object[O any] interface {
	*O
	GetNamespace() string
	GetName() string
	GetResourceVersion() string
}

// codecOf joins the decoding of a type, its conversion, and where its values go. A conversion to a nil pointer leaves
// the object out.
func codecOf[O any, P object[O], V any](convert func(*O) V, add func(*draft, V)) codec {
	decode := func(raw []byte, form encoding) (decoded, error) {
		var o O
		if err := unmarshal(raw, form, &o); err != nil {
			return decoded{}, fmt.Errorf("decode %T: %w", o, err)
		}
		p := P(&o)
		d := decoded{key: p.GetNamespace() + "/" + p.GetName(), version: p.GetResourceVersion()}
		if value := any(convert(&o)); !isNil(value) {
			d.value = value
		}
		return d, nil
	}
	accept := "application/json"
	if _, ok := any(new(O)).(message); ok {
		accept = "application/vnd.kubernetes.protobuf,application/json"
	}
	return codec{decode, func(d *draft, value any) { add(d, value.(V)) }, accept}
}

// message is a type of k8s.io/api, which protobuf has too. A type of this package that embeds ObjectMeta has its
// Unmarshal, but is no object of the API.
type message interface {
	Unmarshal([]byte) error
	GetObjectKind() schema.ObjectKind
}

func isNil(value any) bool {
	switch v := value.(type) {
	case *sccRole:
		return v == nil
	case *cluster.Object:
		return v == nil
	}
	return false
}

func unmarshal(raw []byte, form encoding, into any) error {
	if form == inJSON {
		return json.Unmarshal(raw, into)
	}
	m, ok := into.(message)
	if !ok {
		return fmt.Errorf("the server sent protobuf")
	}
	return m.Unmarshal(raw)
}

// endpoint is a list that the server may have.
type endpoint struct {
	group    string
	versions []string // those that can be read, the best first
	name     string
	scope    scope
	labels   string
	cached   bool
	codec    codec
}

// scope says whether a resource is namespaced, and in which namespace its objects are wanted.
type scope int

const (
	ofCluster   scope = iota // in no namespace
	anywhere                 // in namespaces, and wanted of all
	inNamespace              // wanted of the wanted namespace alone
	itself                   // the namespace itself
)

// sources returns the lists that a State is made of, without kinds that the server does not have.
func (a api) sources(w Want) []source {
	var all []source
	for _, kind := range w.Kinds {
		if _, ok := a[cluster.SecurityGroup]; kind == cluster.SCCGrants && !ok {
			continue // no SCC to grant
		}
		for _, r := range resourcesOf(kind, w) {
			version, ok := a.find(r.group, r.name, r.versions...)
			if !ok {
				continue
			}
			all = append(all, r.source(kind, version, w))
		}
	}
	return all
}

func (r endpoint) source(kind cluster.Kind, version string, w Want) source {
	base := apiPath(r.group, version)
	s := source{kind: kind, path: base + "/" + r.name, labels: r.labels, cached: r.cached, codec: r.codec}
	narrow := base + "/namespaces/" + w.Namespace + "/" + r.name
	switch {
	case w.Namespace == "" || r.scope == ofCluster || r.scope == anywhere:
	case r.scope == itself:
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

// resourcesOf are the lists behind a kind.
func resourcesOf(kind cluster.Kind, w Want) []endpoint {
	switch kind {
	case cluster.Nodes:
		return []endpoint{{name: "nodes", cached: true, codec: codecOf(convertNode, func(d *draft, n cluster.Node) { d.Nodes = append(d.Nodes, n) })}}
	case cluster.Pods:
		return []endpoint{podsOf(w)}
	case cluster.Namespaces:
		return []endpoint{{name: "namespaces", scope: itself,
			codec: codecOf(convertNamespace, func(d *draft, n cluster.Namespace) { d.Namespaces = append(d.Namespaces, n) })}}
	case cluster.ServiceAccounts:
		return []endpoint{{name: "serviceaccounts", scope: inNamespace,
			codec: codecOf(convertServiceAccount, func(d *draft, a cluster.ServiceAccount) { d.ServiceAccounts = append(d.ServiceAccounts, a) })}}
	case cluster.Quotas:
		return []endpoint{{name: "resourcequotas", scope: inNamespace,
			codec: codecOf(convertQuota, func(d *draft, q cluster.Quota) { d.Quotas = append(d.Quotas, q) })}}
	case cluster.Events:
		return []endpoint{{name: "events", scope: inNamespace, cached: true,
			codec: codecOf(convertEvent, func(d *draft, e cluster.Event) { d.Events = append(d.Events, e) })}}
	case cluster.SCCGrants:
		return grantResources(w)
	case cluster.Objects:
		return objectResources(w)
	case cluster.StatefulSets:
		return []endpoint{writtenOf("apps", "v1", "StatefulSet", inNamespace)}
	}
	return customResources(kind)
}

// podsOf is a job's pods, or all where the whole is wanted or no job is.
func podsOf(w Want) endpoint {
	r := endpoint{name: "pods", scope: inNamespace, codec: codecOf(podOf(w), func(d *draft, p cluster.Pod) { d.Pods = append(d.Pods, p) })}
	if w.Job == "" || w.everywhere(cluster.Pods) {
		r.cached = true
		return r
	}
	r.labels = plan.LabelInstance + "=" + w.Job
	return r
}

// customResources are the kinds of OpenShift and of operators.
func customResources(kind cluster.Kind) []endpoint {
	v1 := []string{"v1"}
	switch kind {
	case cluster.Pools:
		return []endpoint{{group: cluster.MachineConfigGroup, versions: v1, name: string(kind),
			codec: codecOf(convertPool, func(d *draft, p cluster.Pool) { d.Pools = append(d.Pools, p) })}}
	case cluster.MachineConfigs:
		return []endpoint{{group: cluster.MachineConfigGroup, versions: v1, name: string(kind),
			codec: codecOf(convertMachineConfig, func(d *draft, m cluster.MachineConfig) { d.MachineConfigs = append(d.MachineConfigs, m) })}}
	case cluster.Networks:
		return []endpoint{{group: cluster.NetworkGroup, versions: v1, name: string(kind), scope: inNamespace,
			codec: codecOf(convertNetwork, func(d *draft, n cluster.Network) { d.Networks = append(d.Networks, n) })}}
	case cluster.SriovNetworks:
		return []endpoint{sriovNetworksOf("SriovNetwork", "sriovnetworks"), sriovNetworksOf("SriovIBNetwork", "sriovibnetworks")}
	case cluster.SriovPolicies:
		return []endpoint{{group: cluster.SriovGroup, versions: v1, name: string(kind), scope: anywhere,
			codec: codecOf(convertPolicy, func(d *draft, p cluster.SriovPolicy) { d.SriovPolicies = append(d.SriovPolicies, p) })}}
	case cluster.SriovNodes:
		return []endpoint{{group: cluster.SriovGroup, versions: v1, name: string(kind), scope: anywhere, cached: true,
			codec: codecOf(convertSriovNode, func(d *draft, n cluster.SriovNode) { d.SriovNodes = append(d.SriovNodes, n) })}}
	case cluster.DRADevices:
		return []endpoint{{group: cluster.ResourceGroup, versions: []string{"v1", "v1beta2", "v1beta1"}, name: string(kind), cached: true,
			codec: codecOf(convertSlice, func(d *draft, devices []cluster.DRADevice) { d.DRADevices = append(d.DRADevices, devices...) })}}
	case cluster.TrainJobs:
		return []endpoint{{group: cluster.TrainerGroup, versions: []string{"v1alpha1"}, name: string(kind), scope: inNamespace,
			codec: codecOf(convertTrainJob, func(d *draft, j cluster.TrainJob) { d.TrainJobs = append(d.TrainJobs, j) })}}
	case cluster.SCCs:
		return []endpoint{{group: cluster.SecurityGroup, versions: v1, name: string(kind),
			codec: codecOf(convertSCC, func(d *draft, s cluster.SCC) { d.SCCs = append(d.SCCs, s) })}}
	}
	return nil
}

// sriovNetworksOf are in the operator's namespace, whichever namespace they make their network in.
func sriovNetworksOf(kind, name string) endpoint {
	return endpoint{group: cluster.SriovGroup, versions: []string{"v1"}, name: name, scope: anywhere,
		codec: codecOf(sriovNetworkOf(kind), func(d *draft, n cluster.SriovNetwork) { d.SriovNetworks = append(d.SriovNetworks, n) })}
}

// grantResources are the lists that say who may use an SCC.
func grantResources(w Want) []endpoint {
	const group = "rbac.authorization.k8s.io"
	v1 := []string{"v1"}
	roles := codecOf(convertRole, func(d *draft, r *sccRole) { d.roles = append(d.roles, *r) })
	bindings := codecOf(convertBinding, func(d *draft, b binding) { d.bindings = append(d.bindings, b) })
	all := []endpoint{
		{group: group, versions: v1, name: "clusterroles", codec: roles},
		{group: group, versions: v1, name: "clusterrolebindings", codec: bindings},
		{group: group, versions: v1, name: "roles", scope: inNamespace, codec: roles},
		{group: group, versions: v1, name: "rolebindings", scope: inNamespace, codec: bindings},
	}
	if !slices.Contains(w.Kinds, cluster.SCCs) {
		all = append(all, endpoint{group: cluster.SecurityGroup, versions: v1, name: resourceSCC,
			codec: codecOf(convertSCC, func(d *draft, s cluster.SCC) { d.granting = append(d.granting, s) })})
	}
	return all
}

// objectResources are the kinds that plans write: of a job alone when one is wanted.
func objectResources(w Want) []endpoint {
	all := []endpoint{
		writtenOf("", "v1", "ConfigMap", inNamespace),
		writtenOf("", "v1", "Service", inNamespace),
	}
	for _, k := range workload.Kinds {
		if k.Deployed {
			all = append(all, writtenOf(k.GVK.Group, k.GVK.Version, k.GVK.Kind, inNamespace))
		}
	}
	if w.Job != "" {
		return all
	}
	return append(all,
		writtenOf("", "v1", "ServiceAccount", inNamespace),
		writtenOf("rbac.authorization.k8s.io", "v1", "Role", inNamespace),
		writtenOf("rbac.authorization.k8s.io", "v1", "RoleBinding", inNamespace),
		writtenOf("rbac.authorization.k8s.io", "v1", "ClusterRole", ofCluster),
		writtenOf(cluster.NetworkGroup, "v1", "NetworkAttachmentDefinition", inNamespace),
		writtenOf(cluster.SriovGroup, "v1", "SriovNetwork", anywhere),
		writtenOf(cluster.SriovGroup, "v1", "SriovIBNetwork", anywhere),
		writtenOf(cluster.SriovGroup, "v1", "SriovNetworkNodePolicy", anywhere),
		writtenOf(cluster.MachineConfigGroup, "v1", "MachineConfig", ofCluster),
		writtenOf(cluster.SecurityGroup, "v1", "SecurityContextConstraints", ofCluster),
	)
}

func writtenOf(group, version, kind string, where scope) endpoint {
	apiVersion := version
	if group != "" {
		apiVersion = group + "/" + version
	}
	return endpoint{group: group, versions: []string{version}, name: plan.Resource(kind), scope: where,
		labels: plan.LabelManagedBy + "=" + plan.ManagedBy,
		codec:  codecOf(objectOf(apiVersion, kind), func(d *draft, o *cluster.Object) { d.Objects = append(d.Objects, *o) })}
}
