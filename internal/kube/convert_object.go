package kube

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
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
		applied := appliedFields(o.GetManagedFields())
		o.SetManagedFields(nil)
		return []cluster.Object{{
			APIVersion: apiVersion,
			Kind:       kind,
			Namespace:  o.GetNamespace(),
			Name:       o.GetName(),
			Fields:     o.Object,
			Applied:    applied,
		}}
	}
}

// appliedFields returns the fields that Railhead's server-side applies have set; nil if there are none.
func appliedFields(entries []metav1.ManagedFieldsEntry) map[string]any {
	for _, e := range entries {
		if e.Manager != plan.FieldManager || e.Operation != metav1.ManagedFieldsOperationApply || e.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err == nil {
			return fields
		}
	}
	return nil
}

func convertConfigMap(o *metav1.PartialObjectMetadata) cluster.ConfigMap {
	return cluster.ConfigMap{Namespace: o.Namespace, Name: o.Name, Labels: o.Labels}
}
