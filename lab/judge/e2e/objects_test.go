package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// sriovObject names an object of the SR-IOV operator.
func sriovObject(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(scheme.SRIOVKind(kind))
	u.SetNamespace(openshift.SRIOVNamespace)
	u.SetName(name)
	return u
}

func sriovList(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(scheme.SRIOVKind(kind + "List"))
	return list
}

// versionsOf are the objects of a list by kind, namespace and name, as their users wrote them: without their status, which their controllers write whenever they like.
func versionsOf(t *testing.T, c client.Client, list client.ObjectList, options ...client.ListOption) map[string]string {
	t.Helper()
	if err := c.List(t.Context(), list, options...); err != nil {
		t.Fatal(err)
	}
	kind, err := apiutil.GVKForObject(list, c.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	err = apimeta.EachListItem(list, func(o runtime.Object) error {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{Object: fields}
		object.SetResourceVersion("")
		object.SetManagedFields(nil)
		delete(fields, "status")
		all[kind.Kind+" "+client.ObjectKeyFromObject(object).String()] = fmt.Sprint(fields)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// documents reads what a command printed as YAML.
func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for reader := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &u.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if len(u.Object) > 0 {
			all = append(all, u)
		}
	}
}

// asUser returns a client that is the user.
func asUser(t *testing.T, p *controlplane.ControlPlane, name string, groups ...string) client.Client {
	t.Helper()
	cfg, err := p.Users.Config(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme.New()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// accepted wants the server to take the objects, and writes none. Fields that it does not know are refused.
func accepted(t *testing.T, c client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		err := c.Create(t.Context(), o.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict"))
		if err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}
