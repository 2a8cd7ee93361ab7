package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/internal/plan"
)

// Outcome of a change.
type Outcome string

// Unchanged is returned if the object is the same as before, or if an object to delete does not exist.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	Deleted    Outcome = "deleted"
)

// DryRun lets the server judge a change, admission included, without keeping it.
type DryRun bool

// Carry makes one change, in one call. While the server is away it is tried again for as long as the client's patience
// lasts: all three verbs may be done twice. An apply takes no field from another manager.
func (c *Client) Carry(ctx context.Context, change plan.Change, dry DryRun) (Outcome, error) {
	path := pathOf(&change.Object)
	var outcome Outcome
	err := c.persist(ctx, func(ctx context.Context) error {
		request, err := c.request(change, path, dryRun(dry))
		if err != nil {
			return err
		}
		var code int
		raw, err := responseBody(request.Do(ctx).StatusCode(&code))
		if err != nil {
			return err
		}
		outcome, err = c.outcome(change, path, code, raw, dry)
		return err
	})
	if change.Verb == plan.Delete && apierrors.IsNotFound(err) { // or its whole kind is not there
		c.forget(path)
		return Unchanged, nil
	}
	return outcome, refusal(err, change)
}

// dryRun is the parameter of that name.
func dryRun(dry DryRun) []string {
	if dry {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// request is the call that makes a change.
func (c *Client) request(change plan.Change, path string, dryRun []string) (*rest.Request, error) {
	if change.Verb == plan.Delete {
		options := deleteOptions(&change.Object)
		options.DryRun = dryRun // in the body alone: beside a body the server does not look at parameters
		body, err := json.Marshal(options)
		return c.rest.Delete().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body), err
	}
	form := types.ApplyPatchType
	if change.Verb == plan.Merge {
		form = types.MergePatchType
	}
	body, err := change.Object.MarshalJSON()
	request := c.rest.Patch(form).AbsPath(path).Param("fieldManager", plan.FieldManager).
		Param("fieldValidation", metav1.FieldValidationWarn).Body(body)
	for _, value := range dryRun {
		request.Param("dryRun", value)
	}
	return request, err
}

// deleteOptions also deletes the objects that the object's controller made, and only the object that was read when
// the change says which that was.
func deleteOptions(o *unstructured.Unstructured) metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background,
	}
	if uid := o.GetUID(); uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	if version := o.GetResourceVersion(); version != "" {
		if options.Preconditions == nil {
			options.Preconditions = &metav1.Preconditions{}
		}
		options.Preconditions.ResourceVersion = &version
	}
	return options
}

// outcome judges the server's answer.
func (c *Client) outcome(change plan.Change, path string, code int, raw []byte, dry DryRun) (Outcome, error) {
	if change.Verb == plan.Delete {
		if !dry {
			c.forget(path)
		}
		return Deleted, nil
	}
	var after anyObject
	if err := after.UnmarshalJSON(raw); err != nil {
		return "", fmt.Errorf("the server's answer: %w", err)
	}
	if after.GetDeletionTimestamp() != nil {
		return "", &Terminating{Object: nameOf(&change.Object)}
	}
	after.SetManagedFields(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, read := c.seen[path]
	if !dry {
		c.seen[path] = after.Object
	}
	switch {
	case code == http.StatusCreated:
		return Created, nil
	case read && reflect.DeepEqual(wanted(before), wanted(after.Object)):
		return Unchanged, nil
	}
	return Configured, nil
}

// wanted returns an object without the fields of the server and its controllers.
func wanted(o map[string]any) map[string]any {
	kept := map[string]any{}
	for name, value := range o {
		if name != "status" {
			kept[name] = value
		}
	}
	metadata := map[string]any{}
	all, _ := o["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, ok := all[name]; ok {
			metadata[name] = value
		}
	}
	kept["metadata"] = metadata
	return kept
}

func (c *Client) forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, path)
}

// pathOf returns the API path of an object.
func pathOf(o *unstructured.Unstructured) string {
	return objectPath(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
}

func objectPath(apiVersion, kind, namespace, name string) string {
	path := "/apis/" + apiVersion
	if apiVersion == "v1" {
		path = "/api/v1"
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + plan.Resource(kind) + "/" + name
}

// nameOf returns the name of an object for people: StatefulSet train/h-kim.
func nameOf(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return o.GetKind() + " " + ns + "/" + o.GetName()
	}
	return o.GetKind() + " " + o.GetName()
}
