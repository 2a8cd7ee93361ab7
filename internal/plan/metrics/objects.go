package metrics

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

const (
	portName = "metrics"
	nobody   = 65534
)

// nodeLabels are set by feature discovery on nodes with RDMA NICs or GPUs.
var nodeLabels = []string{
	"feature.node.kubernetes.io/rdma.available",
	"feature.node.kubernetes.io/network-sriov.capable",
	"feature.node.kubernetes.io/pci-15b3.present",
	"nvidia.com/gpu.present",
	"feature.node.kubernetes.io/pci-10de.present",
	"feature.node.kubernetes.io/pci-1002.present",
}

// writer makes the objects.
type writer struct {
	Options
	s cluster.State
}

// objects returns what the plan writes, in the order in which the objects need each other.
func (w writer) objects() []plan.Change {
	var changes []plan.Change
	add := func(object unstructured.Unstructured, why string) {
		changes = append(changes, plan.Change{Verb: plan.Apply, Object: object, Why: why})
	}
	core := corev1.SchemeGroupVersion.WithKind
	namespace := metav1.ObjectMeta{Name: Name, Labels: plan.Labels(Component, "")}
	namespace.Labels[plan.EnforceLabel] = "privileged" // the levels below forbid the host's processes
	add(plan.Typed(core("Namespace"), &corev1.Namespace{ObjectMeta: namespace}), "of the metrics alone")
	add(plan.Typed(core("ServiceAccount"), &corev1.ServiceAccount{ObjectMeta: meta()}), "its account, without rights")
	if w.s.Server.OpenShift() {
		add(scc(), "lets that account alone see the processes and networks of nodes")
	}
	add(w.daemonSet(), "reads the queue pairs of each node every second")
	if w.s.Server.Serves(cluster.MonitoringGroup) {
		add(podMonitor(), "tells the Prometheus operator to scrape the pods")
	}
	return changes
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: Name, Namespace: Name, Labels: plan.Labels(Component, "")}
}

// object returns an object without a Go type here: its package would be linked for this one object.
func object(apiVersion, kind string, fields map[string]any) unstructured.Unstructured {
	o := unstructured.Unstructured{Object: fields}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(Name)
	o.SetLabels(plan.Labels(Component, ""))
	return o
}

func (w writer) daemonSet() unstructured.Unstructured {
	labels := plan.Labels(Component, "")
	tenth := intstr.FromString("10%")
	return plan.Typed(appsv1.SchemeGroupVersion.WithKind("DaemonSet"), &appsv1.DaemonSet{
		ObjectMeta: meta(),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &tenth},
			},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: w.pod()},
		},
	})
}

// pod has the network and the processes of the node, which own the devices and the queue pairs, and no other privilege:
// RDMA netlink asks for none (drivers/infiniband/core/nldev.c). SELinux refuses its socket to containers of the usual
// type, but not to spc_t.
func (w writer) pod() corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName:            Name,
		AutomountServiceAccountToken:  new(false),
		HostNetwork:                   true,
		HostPID:                       true,
		Affinity:                      w.affinity(),
		NodeSelector:                  w.selector(),
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		TerminationGracePeriodSeconds: new(int64(1)),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			RunAsUser:      new(int64(nobody)),
			SELinuxOptions: &corev1.SELinuxOptions{Type: "spc_t"},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{w.container()},
	}
}

func (w writer) container() corev1.Container {
	return corev1.Container{
		Name:    "metrics",
		Image:   w.Image,
		Command: []string{"/railhead-pod", "wire", fmt.Sprintf("--listen=:%d", Port)},
		Ports: []corev1.ContainerPort{{
			Name: portName, ContainerPort: Port, HostPort: Port, Protocol: corev1.ProtocolTCP,
		}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/metrics", Port: intstr.FromInt32(Port)},
		}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("20m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			},
			Limits: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func (w writer) selector() map[string]string {
	selector := map[string]string{corev1.LabelOSStable: "linux"}
	if key, value, ok := strings.Cut(w.Nodes, "="); ok {
		selector[key] = value
	}
	return selector
}

// labels returns the known labels that nodes of this cluster have.
func (w writer) labels() []string {
	return slices.DeleteFunc(slices.Clone(nodeLabels), func(label string) bool {
		has := func(n cluster.Node) bool { return n.Labels[label] == "true" }
		return w.Nodes != "" || !slices.ContainsFunc(w.s.Nodes, has)
	})
}

// affinity allows nodes that have one of the labels.
func (w writer) affinity() *corev1.Affinity {
	var terms []corev1.NodeSelectorTerm
	for _, label := range w.labels() {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}},
		}})
	}
	if terms == nil {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

// scc admits the pods above and nothing more. Only their account may use it.
func scc() unstructured.Unstructured {
	o := object(cluster.SecurityGroup+"/v1", "SecurityContextConstraints", map[string]any{
		"allowHostDirVolumePlugin": false,
		"allowHostIPC":             false,
		"allowHostNetwork":         true,
		"allowHostPID":             true,
		"allowHostPorts":           true,
		"allowPrivilegeEscalation": false,
		"allowPrivilegedContainer": false,
		"readOnlyRootFilesystem":   true,
		// The CRD requires these four fields, null or not (openshift/api security/v1 zz_generated.crd-manifests).
		// The client side of kubectl apply omits fields that are null.
		"priority":                 int64(0),
		"defaultAddCapabilities":   []any{},
		"allowedCapabilities":      []any{},
		"requiredDropCapabilities": []any{"ALL"},
		"runAsUser":                map[string]any{"type": "MustRunAsNonRoot"},
		"seLinuxContext":           map[string]any{"type": "RunAsAny"},
		"fsGroup":                  map[string]any{"type": "MustRunAs"},
		"supplementalGroups":       map[string]any{"type": "MustRunAs"},
		"seccompProfiles":          []any{"runtime/default"},
		// The server writes this for an empty list (apiserver-library-go securitycontextconstraints/sccdefaults).
		"volumes": []any{"none"},
		"users":   []any{"system:serviceaccount:" + Name + ":" + Name},
	})
	o.SetAnnotations(map[string]string{"kubernetes.io/description": "What the pods of railhead setup metrics need."})
	return o
}

func podMonitor() unstructured.Unstructured {
	labels := map[string]any{}
	for key, value := range plan.Labels(Component, "") {
		labels[key] = value
	}
	o := object(cluster.MonitoringGroup+"/v1", "PodMonitor", map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"podMetricsEndpoints": []any{map[string]any{
			"port": portName,
			"relabelings": []any{map[string]any{
				"sourceLabels": []any{"__meta_kubernetes_pod_node_name"}, "targetLabel": "node",
			}},
		}},
	}})
	o.SetNamespace(Name)
	return o
}

func (w writer) notes() []string {
	notes := []string{
		fmt.Sprintf("The pods share the network and see the processes of their node. They run as user %d without "+
			"capabilities. Anyone who reaches port %d of a node can read the metrics.", nobody, Port),
	}
	if labels := w.labels(); len(labels) > 0 {
		notes = append(notes, "They run on nodes with one of the labels "+words.And(labels)+".")
	} else if w.Nodes == "" {
		notes = append(notes, "They run on all Linux nodes, because none has a label of an RDMA NIC or a GPU: "+
			"--nodes selects nodes.")
	}
	if !w.s.Server.Serves(cluster.MonitoringGroup) {
		notes = append(notes,
			fmt.Sprintf("There is no Prometheus operator: let Prometheus scrape port %d of the nodes.", Port))
	}
	return notes
}
