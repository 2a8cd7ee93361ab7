package openshift

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MachineConfigNamespace is the namespace of the machine-config-operator.
const MachineConfigNamespace = "openshift-machine-config-operator"

// OperatorVersion is the version under which the lab runs the machine-config-operator's controllers: they refuse a
// ControllerConfig of another one.
const OperatorVersion = "v4.23.0-lab"

const (
	roleLabel    = "machineconfiguration.openshift.io/role"
	ignitionThen = "3.4.0"
	osImage      = "example.invalid/openshift/rhcos@" +
		"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// MachineConfiguration returns the objects of the machine-config-operator: its ControllerConfig, the pools master and
// worker, and the MachineConfigs of each that its templates render, in short.
func MachineConfiguration() []client.Object {
	objects := []client.Object{Namespace(MachineConfigNamespace), machineConfigurationCluster(), controllerConfig()}
	for _, role := range []string{"master", "worker"} {
		objects = append(objects, pool(role))
		objects = append(objects, machineConfigs(role)...)
	}
	return objects
}

// pool is manifests/<role>.machineconfigpool.yaml of the machine-config-operator.
func pool(role string) *machineconfigv1.MachineConfigPool {
	labels := map[string]string{
		"machineconfiguration.openshift.io/mco-built-in":           "",
		"pools.operator.machineconfiguration.openshift.io/" + role: "",
	}
	if role == "master" {
		labels["operator.machineconfiguration.openshift.io/required-for-upgrade"] = ""
	}
	return &machineconfigv1.MachineConfigPool{
		ObjectMeta: metav1.ObjectMeta{Name: role, Labels: labels},
		Spec: machineconfigv1.MachineConfigPoolSpec{
			MachineConfigSelector: &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: role}},
			NodeSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"node-role.kubernetes.io/" + role: ""},
			},
		},
	}
}

// controllerConfig holds the operator's view of the cluster. The template controller, which does not run here,
// would set the status when it has rendered its MachineConfigs.
func controllerConfig() *machineconfigv1.ControllerConfig {
	infra := infrastructure()
	infra.TypeMeta = metav1.TypeMeta{APIVersion: configv1.GroupVersion.String(), Kind: "Infrastructure"}
	some := []byte("lab") // the CRD refuses empty certificates; nothing here reads them
	return &machineconfigv1.ControllerConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "machine-config-controller", Annotations: map[string]string{
			"machineconfiguration.openshift.io/generated-by-version":  OperatorVersion,
			"machineconfiguration.openshift.io/release-image-version": Version,
		}},
		Spec: machineconfigv1.ControllerConfigSpec{
			ClusterDNSIP: "172.30.0.10", IPFamilies: machineconfigv1.IPFamiliesIPv4, NetworkType: "OVNKubernetes",
			BaseOSContainerImage: osImage, ReleaseImage: releaseImage, Images: map[string]string{},
			RootCAData: some, KubeAPIServerServingCAData: some, AdditionalTrustBundle: some, CloudProviderCAData: some,
			Infra: infra,
			DNS: &configv1.DNS{
				TypeMeta: metav1.TypeMeta{APIVersion: configv1.GroupVersion.String(), Kind: "DNS"},
				ObjectMeta: metav1.ObjectMeta{
					Name: "cluster",
				}, Spec: configv1.DNSSpec{BaseDomain: "lab.example.invalid"},
			},
		},
		Status: machineconfigv1.ControllerConfigStatus{
			ObservedGeneration: 1,
			Conditions: []machineconfigv1.ControllerConfigStatusCondition{{
				Type:               machineconfigv1.TemplateControllerCompleted,
				Status:             corev1.ConditionTrue,
				LastTransitionTime: metav1.Now(),
				Reason:             "sync completed towards (1) generation using controller version " + OperatorVersion,
			}},
		},
	}
}

// crioDefault is the part of /etc/crio/crio.conf.d/00-default that is of interest: OpenShift sets no default_ulimits.
const crioDefault = `[crio.runtime]
selinux = true
default_env = [
    "NSS_SDB_USE_CACHE=no",
]
default_sysctls = [
    "net.ipv4.ping_group_range=0 2147483647",
]
default_runtime = "crun"
`

const kubeletDefault = `kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
cgroupDriver: systemd
serializeImagePulls: false
`

// machineConfigs have the names that the operator's templates give them, and a file or none.
func machineConfigs(role string) []client.Object {
	return []client.Object{
		machineConfig(role, "00-"+role, nil),
		machineConfig(role, "01-"+role+"-container-runtime", file("/etc/crio/crio.conf.d/00-default", crioDefault)),
		machineConfig(role, "01-"+role+"-kubelet", file("/etc/kubernetes/kubelet.conf", kubeletDefault)),
		machineConfig(role, "99-"+role+"-ssh", nil),
	}
}

func machineConfig(role, name string, files []any) *machineconfigv1.MachineConfig {
	ignition := map[string]any{"ignition": map[string]any{"version": ignitionThen}}
	if len(files) > 0 {
		ignition["storage"] = map[string]any{"files": files}
	}
	raw, err := json.Marshal(ignition)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return &machineconfigv1.MachineConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{roleLabel: role}},
		Spec:       machineconfigv1.MachineConfigSpec{Config: runtime.RawExtension{Raw: raw}},
	}
}

// file is one file of an Ignition configuration, encoded as the operator encodes it.
func file(path, text string) []any {
	const mode = 0o644
	source := fmt.Sprintf("data:text/plain;charset=utf-8;base64,%s", base64.StdEncoding.EncodeToString([]byte(text)))
	return []any{map[string]any{
		"path": path, "mode": mode, "overwrite": true, "contents": map[string]any{"source": source},
	}}
}

// hasStatus reports whether the object states a status that the API server takes apart from its spec.
func hasStatus(o client.Object) bool {
	switch o.(type) {
	case *configv1.ClusterVersion, *configv1.Infrastructure, *machineconfigv1.ControllerConfig:
		return true
	}
	return false
}
