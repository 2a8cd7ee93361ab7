// Package scheme knows the Go types of the lab's API groups.
package scheme

import (
	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	securityv1 "github.com/openshift/api/security/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/kubernetes/scheme"
)

// New returns a scheme with Kubernetes' types, CRDs, OpenShift's configuration, machine configuration, operators and
// security, and network attachments. Objects of the SR-IOV operator and of JobSet are unstructured: the operator's
// types do not compile with this Kubernetes version, and JobSet's would tie this module to its controller's
// dependencies.
func New() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgo.AddToScheme, apiextensionsv1.AddToScheme, configv1.Install, machineconfigv1.Install,
		operatorv1.Install,
		securityv1.Install, networksv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // two types under one name: a mistake in the lines above
		}
	}
	return s
}

// SRIOVKind returns a kind of the SR-IOV network operator.
func SRIOVKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "sriovnetwork.openshift.io", Version: "v1", Kind: kind}
}

// JobSetKind is the kind JobSet.
func JobSetKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
}
