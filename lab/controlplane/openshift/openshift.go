// Package openshift describes the objects of a fresh OpenShift cluster, as far as the lab's programs and the
// product look at it.
//
// The operators themselves do not run here. What they keep doing in a living cluster is done by package standin.
package openshift

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// Version is the cluster version that the lab states: OpenShift 4.23 is the one with Kubernetes 1.36.
const Version = "4.23.0-0.lab"

// releaseImage has the form of a release image; nothing pulls it.
const releaseImage = "example.invalid/openshift/release@" +
	"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// SRIOVNamespace is the namespace of the SR-IOV network operator, its networks, policies and node states.
const SRIOVNamespace = "openshift-sriov-network-operator"

// Config is the cluster's configuration: version, infrastructure and scheduler.
func Config() []client.Object {
	now := metav1.Now()
	return []client.Object{
		&configv1.ClusterVersion{
			ObjectMeta: metav1.ObjectMeta{Name: "version"},
			Spec: configv1.ClusterVersionSpec{
				ClusterID: "6f1d2a34-5b6c-4d7e-8f90-a1b2c3d4e5f6",
				Channel:   "stable-4.23",
			},
			Status: configv1.ClusterVersionStatus{
				Desired: configv1.Release{
					Version: Version,
					Image:   releaseImage,
				}, ObservedGeneration: 1, VersionHash: "lab",
				History: []configv1.UpdateHistory{{
					State:          configv1.CompletedUpdate,
					StartedTime:    now,
					CompletionTime: &now,
					Version:        Version,
					Image:          releaseImage,
				}},
				Conditions: []configv1.ClusterOperatorStatusCondition{
					{
						Type:               configv1.OperatorAvailable,
						Status:             configv1.ConditionTrue,
						LastTransitionTime: now,
						Message:            "Done applying " + Version,
					},
					{
						Type:               configv1.OperatorProgressing,
						Status:             configv1.ConditionFalse,
						LastTransitionTime: now,
						Message:            "Cluster version is " + Version,
					},
				},
			},
		},
		infrastructure(),
		&configv1.Scheduler{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}},
	}
}

func infrastructure() *configv1.Infrastructure {
	return &configv1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec: configv1.InfrastructureSpec{
			PlatformSpec: configv1.PlatformSpec{Type: configv1.BareMetalPlatformType},
		},
		Status: configv1.InfrastructureStatus{
			InfrastructureName:     "lab-x7k2p",
			PlatformStatus:         &configv1.PlatformStatus{Type: configv1.BareMetalPlatformType},
			APIServerURL:           "https://api.lab.example.invalid:6443",
			APIServerInternalURL:   "https://api-int.lab.example.invalid:6443",
			ControlPlaneTopology:   configv1.HighlyAvailableTopologyMode,
			InfrastructureTopology: configv1.HighlyAvailableTopologyMode,
			CPUPartitioning:        configv1.CPUPartitioningNone,
		},
	}
}

// SRIOV returns the objects that an installation of the SR-IOV network operator creates: its namespace and its
// configuration.
func SRIOV() []client.Object {
	config := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"enableInjector": true, "enableOperatorWebhook": true, "logLevel": int64(2),
	}}}
	config.SetGroupVersionKind(scheme.SRIOVKind("SriovOperatorConfig"))
	config.SetNamespace(SRIOVNamespace)
	config.SetName("default")
	return []client.Object{Namespace(SRIOVNamespace), config}
}

// Namespace returns a namespace.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// machineConfigurationCluster is the object in which administrators say which changes need no reboot; that of a fresh
// cluster says nothing. It is unstructured because the Go type would state an empty policy, which the CRD refuses.
func machineConfigurationCluster() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"managementState": "Managed", "logLevel": "Normal", "operatorLogLevel": "Normal",
	}}}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("MachineConfiguration"))
	u.SetName("cluster")
	return u
}

// Install creates the objects, with their status where they have one. Those that exist are left as they are.
func Install(ctx context.Context, c client.Client, objects ...client.Object) error {
	for _, o := range objects {
		wanted, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("create %T: no object", o)
		}
		err := c.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("create %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
		if !hasStatus(o) {
			continue
		}
		wanted.SetResourceVersion(o.GetResourceVersion())
		wanted.SetUID(o.GetUID())
		if err := c.Status().Update(ctx, wanted); err != nil {
			return fmt.Errorf("update status of %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}
