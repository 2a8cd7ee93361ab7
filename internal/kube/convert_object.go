package kube

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// anyObject is an object of any kind, with int64 for whole numbers.
type anyObject struct{ unstructured.Unstructured }

// UnmarshalJSON implements json.Unmarshaler. Objects in a list of a built-in kind lack apiVersion and kind.
func (o *anyObject) UnmarshalJSON(raw []byte) error {
	return utiljson.Unmarshal(raw, &o.Object)
}

// objectOf returns the conversion for objects of a kind. It drops objects that a controller made: they may carry the
// labels of an object that Railhead wrote.
func objectOf(apiVersion, kind string) func(*anyObject) []cluster.Object {
	return func(o *anyObject) []cluster.Object {
		if metav1.GetControllerOf(o) != nil {
			return nil
		}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetManagedFields(nil)
		return []cluster.Object{{
			APIVersion: apiVersion,
			Kind:       kind,
			Namespace:  o.GetNamespace(),
			Name:       o.GetName(),
			Fields:     o.Object,
		}}
	}
}

func convertConfigMap(o *metav1.PartialObjectMetadata) cluster.ConfigMap {
	return cluster.ConfigMap{Namespace: o.Namespace, Name: o.Name, Labels: o.Labels}
}
