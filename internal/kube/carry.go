package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/internal/plan"
)

// Outcome is the result of a change.
type Outcome string

// Outcomes of a change. Unchanged also means that an object to delete does not exist.
const (
	Created    Outcome = "created"
	Configured Outcome = "configured"
	Unchanged  Outcome = "unchanged"
	Deleted    Outcome = "deleted"
)

// DryRun makes the server check a change, admission included, without storing it.
type DryRun bool

// Carry makes one change in one call, and retries while the server does not answer: all three verbs are idempotent. An
// apply takes no field from another manager.
func (c *Client) Carry(ctx context.Context, change plan.Change, dry DryRun) (Outcome, error) {
	path := pathOf(&change.Object)
	var outcome Outcome
	err := c.persist(ctx, func(ctx context.Context) error {
		request, err := c.request(change, path, dry)
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
	if change.Verb == plan.Delete && apierrors.IsNotFound(err) { // the object, or its kind, does not exist
		c.forget(path)
		return Unchanged, nil
	}
	return outcome, refusal(err, change)
}

// request returns the call that makes a change.
func (c *Client) request(change plan.Change, path string, dry DryRun) (*rest.Request, error) {
	var dryRun []string
	if dry {
		dryRun = []string{metav1.DryRunAll}
	}
	if change.Verb == plan.Delete {
		options := deleteOptions(&change.Object)
		options.DryRun = dryRun // the server ignores parameters if there is a body
		body, err := json.Marshal(options)
		return c.rest.Delete().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body), err
	}
	form := types.ApplyPatchType
	if change.Verb == plan.Merge {
		form = types.MergePatchType
	}
	body, err := change.Object.MarshalJSON()
	return withOptions(c.rest.Patch(form).AbsPath(path).Body(body), &metav1.PatchOptions{
		FieldManager:    plan.FieldManager,
		FieldValidation: metav1.FieldValidationWarn,
		DryRun:          dryRun,
	}), err
}

// deleteOptions also delete the objects that the object's controller made. If the change has a UID or a version, they
// delete only that object.
func deleteOptions(o *unstructured.Unstructured) metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	var only metav1.Preconditions
	if uid := o.GetUID(); uid != "" {
		only.UID = &uid
	}
	if version := o.GetResourceVersion(); version != "" {
		only.ResourceVersion = &version
	}
	return metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background,
		Preconditions:     &only,
	}
}

// outcome reads the server's response to a change.
func (c *Client) outcome(change plan.Change, path string, code int, raw []byte, dry DryRun) (Outcome, error) {
	if change.Verb == plan.Delete {
		if !dry {
			c.forget(path)
		}
		return Deleted, nil
	}
	var after anyObject
	if err := after.UnmarshalJSON(raw); err != nil {
		return "", fmt.Errorf("read the server's response: %w", err)
	}
	if after.GetDeletionTimestamp() != nil {
		return "", terminating(nameOf(&change.Object), nil)
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
	kept := maps.Clone(o)
	delete(kept, "status")
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
	version, _ := schema.ParseGroupVersion(apiVersion) // written by this program or the server
	path := apiPath(version.Group, version.Version)
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
