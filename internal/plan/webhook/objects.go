package webhook

import (
	"encoding/base64"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

const (
	port              = 9443
	certFolder        = "/tls"
	configurationKind = "MutatingWebhookConfiguration"
	// Annotations of the service CA (openshift/service-ca-operator pkg/controller/api/api.go).
	servingCert  = "service.beta.openshift.io/serving-cert-secret-name"
	injectBundle = "service.beta.openshift.io/inject-cabundle"
)

// writer makes the objects.
type writer struct {
	Options
	s cluster.State
}

func (w writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: plan.Labels(Component, "")}
}

func (w writer) clusterMeta(name string) metav1.ObjectMeta {
	m := w.meta(name)
	m.Namespace = ""
	return m
}

func apply(object unstructured.Unstructured, why string) plan.Change {
	return plan.Change{Verb: plan.Apply, Object: object, Why: why}
}

// server returns the objects of the server, in the order in which they need each other.
func (w writer) server() []plan.Change {
	namespace := w.clusterMeta(Namespace)
	namespace.Labels[plan.EnforceLabel] = "restricted"
	core := corev1.SchemeGroupVersion.WithKind
	service := w.meta(Name)
	changes := []plan.Change{
		apply(plan.Typed(core("Namespace"), &corev1.Namespace{ObjectMeta: namespace}), "of the webhook alone"),
		apply(plan.Typed(core("ServiceAccount"), &corev1.ServiceAccount{ObjectMeta: w.meta(Name)}), "its account"),
		apply(w.role(), "lets it read what an injection needs: no Secrets"),
		apply(w.binding(), "gives its account the role"),
	}
	if w.Certificate == ByServiceCA {
		service.Annotations = map[string]string{servingCert: w.secret()}
	}
	changes = append(changes,
		apply(plan.Typed(core("Service"), &corev1.Service{ObjectMeta: service, Spec: corev1.ServiceSpec{
			Selector: plan.Labels(Component, ""),
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(port),
			}},
		}}), "its address"),
		apply(w.budget(), "keeps one replica while nodes are drained"))
	if w.Certificate == ByRailhead && w.Key != nil {
		// Just before the Deployment, which names it: a run that is interrupted in between leaves a Secret that no
		// later run finds, because Secrets are never read.
		changes = append(changes, apply(plan.Typed(core("Secret"), &corev1.Secret{
			ObjectMeta: w.meta(w.secret()),
			Type:       corev1.SecretTypeTLS,
			Data:       map[string][]byte{corev1.TLSCertKey: w.Cert, corev1.TLSPrivateKeyKey: w.Key},
		}), "its certificate and key"))
	}
	return append(changes, apply(w.deployment(), "its server"))
}

// secret returns the name of the Secret with the certificate.
func (w writer) secret() string {
	if w.Certificate == ByServiceCA {
		return Name + "-tls"
	}
	return secretName(w.Cert)
}

// role permits exactly the lists of admission.Kinds.
func (w writer) role() unstructured.Unstructured {
	read := []string{"get", "list", "watch"}
	core := []string{"namespaces", "nodes"}
	if w.PodImage == "" {
		core = append([]string{"configmaps"}, core...) // with railhead-pod; RBAC cannot select by label
	}
	return plan.Typed(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), &rbacv1.ClusterRole{
		ObjectMeta: w.clusterMeta(Name),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: core, Verbs: read},
			{APIGroups: []string{cluster.NetworkGroup}, Resources: []string{string(cluster.Networks)}, Verbs: read},
		},
	})
}

func (w writer) binding() unstructured.Unstructured {
	return plan.Typed(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), &rbacv1.ClusterRoleBinding{
		ObjectMeta: w.clusterMeta(Name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: Namespace}},
	})
}

// budget has no Go type here: its package would be linked for this one object.
func (w writer) budget() unstructured.Unstructured {
	o := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"maxUnavailable": int64(1),
		"selector":       map[string]any{"matchLabels": stringMap(plan.Labels(Component, ""))},
	}}}
	o.SetAPIVersion("policy/v1")
	o.SetKind("PodDisruptionBudget")
	o.SetNamespace(Namespace)
	o.SetName(Name)
	o.SetLabels(plan.Labels(Component, ""))
	return o
}

func stringMap(m map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range m {
		all[key] = value
	}
	return all
}

func (w writer) deployment() unstructured.Unstructured {
	labels := plan.Labels(Component, "")
	spread := corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		TopologyKey:   corev1.LabelHostname,
	}}
	pod := corev1.PodSpec{
		ServiceAccountName: Name,
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{spread},
		}},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   new(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{w.container()},
		Volumes: []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: w.secret()},
		}}},
	}
	if !w.s.Server.OpenShift() { // which sets a user of the namespace's range
		pod.SecurityContext.RunAsUser = new(int64(65532))
	}
	meta := w.meta(Name)
	if w.Certificate == ByRailhead {
		meta.Annotations = map[string]string{annotationCertificate: string(w.Cert)}
	}
	return plan.Typed(appsv1.SchemeGroupVersion.WithKind("Deployment"), &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	})
}

func (w writer) container() corev1.Container {
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTPS,
		}}}
	}
	args := []string{"webhook", fmt.Sprintf("--listen=:%d", port), "--cert-dir=" + certFolder}
	if w.PodImage != "" {
		args = append(args, "--pod-image="+w.PodImage)
	}
	if w.Mode != "" {
		args = append(args, "--mode="+w.Mode)
	}
	return corev1.Container{
		Name:           "webhook",
		Image:          w.Image,
		Command:        []string{"/railhead"},
		Args:           args,
		Ports:          []corev1.ContainerPort{{Name: "https", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		ReadinessProbe: probe("/readyz"),
		LivenessProbe:  probe("/healthz"),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "tls", MountPath: certFolder, ReadOnly: true}},
	}
}

// conditionsMinor is the first minor version with match conditions on by default (KEP-3716).
const conditionsMinor = 28

// configuration names the pods that the API server sends: all pods in namespaces with the label, and elsewhere the pods
// with the annotation. It has no Go type here: its package would be linked for this one object.
func (w writer) configuration() unstructured.Unstructured {
	enabled := []any{workload.WebhookEnabled, workload.WebhookRequired}
	labelled := w.webhook("namespace", expression(workload.WebhookLabel, "In", enabled...))
	webhooks := []any{labelled}
	if w.s.Server.Minor >= conditionsMinor {
		others := condition("not-of-openshift", "!request.namespace.startsWith('openshift-')")
		labelled["matchConditions"] = []any{others}
		annotated := w.webhook("annotation", expression(workload.WebhookLabel, "NotIn", enabled...))
		annotated["matchConditions"] = []any{others, condition("annotated", fmt.Sprintf(
			"has(object.metadata.annotations) && '%s' in object.metadata.annotations", workload.WebhookLabel))}
		webhooks = append(webhooks, annotated)
	}
	o := unstructured.Unstructured{Object: map[string]any{"webhooks": webhooks}}
	o.SetAPIVersion("admissionregistration.k8s.io/v1")
	o.SetKind(configurationKind)
	o.SetName(Configuration)
	o.SetLabels(plan.Labels(Component, ""))
	if w.Certificate == ByServiceCA {
		o.SetAnnotations(map[string]string{injectBundle: "true"})
	}
	return o
}

func condition(name, expression string) map[string]any {
	return map[string]any{"name": name, "expression": expression}
}

func expression(key, operator string, values ...any) map[string]any {
	return map[string]any{"key": key, "operator": operator, "values": values}
}

func (w writer) webhook(name string, namespaces map[string]any) map[string]any {
	client := map[string]any{"service": map[string]any{
		"namespace": Namespace, "name": Name, "path": plan.WebhookPath, "port": int64(443),
	}}
	if w.Certificate == ByRailhead {
		client["caBundle"] = base64.StdEncoding.EncodeToString(w.Cert)
	}
	policy := "Ignore"
	if w.Fail {
		policy = "Fail"
	}
	return map[string]any{
		"name":                    name + ".inject.railhead.dev",
		"admissionReviewVersions": []any{"v1"},
		"clientConfig":            client,
		"failurePolicy":           policy,
		"sideEffects":             "None",
		"reinvocationPolicy":      "IfNeeded", // another webhook may add the GPUs
		"timeoutSeconds":          int64(3),
		"namespaceSelector": map[string]any{"matchExpressions": []any{
			namespaces, expression(corev1.LabelMetadataName, "NotIn", Namespace, "kube-system"),
		}},
		"rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"},
			"operations": []any{"CREATE"}, "scope": "Namespaced",
		}},
	}
}

func (w writer) notes() []string {
	notes := []string{
		fmt.Sprintf("Label a namespace so that its pods with GPUs get rails: kubectl label namespace NAMESPACE %s=%s. "+
			"With %s, pods that cannot get them are refused.",
			workload.WebhookLabel, workload.WebhookEnabled, workload.WebhookRequired),
	}
	if w.s.Server.Minor < conditionsMinor {
		notes = append(notes, fmt.Sprintf("Annotations of pods count only in such namespaces: "+
			"the API server is older than 1.%d.", conditionsMinor))
	}
	if w.Certificate == ByRailhead {
		notes = append(notes, "The certificate ends on "+until(w.Cert).Format(day)+
			": run this again before, in its last 60 days, to renew it.")
	}
	if w.Certificate == ByRailhead && w.Key != nil {
		notes = append(notes, "The Secret of a former certificate, or of a run that was interrupted, stays in "+
			"namespace "+Namespace+", because railhead reads no Secrets. 'railhead setup rollback' deletes it with "+
			"the namespace; until then, find it with: kubectl -n "+Namespace+" get secrets")
	}
	if w.Fail {
		notes = append(notes, "While the webhook does not answer, no pod can be created in those namespaces.")
	}
	if labelled := Labelled(w.s); len(labelled) > 0 {
		notes = append(notes, "Labelled now: "+strings.Join(labelled, ", ")+".")
	}
	return notes
}
