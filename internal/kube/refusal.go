package kube

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/plan"
)

// Forbidden means that the user has no right to a change.
type Forbidden struct {
	User  string // as the server names them
	Right plan.Right
	Err   error
}

func (f *Forbidden) Error() string {
	r := f.Right
	resource := r.Resource
	if r.Group != "" {
		resource += "." + r.Group
	}
	place, admin := "", "a cluster administrator"
	role, bind := "clusterrole NAME", "clusterrolebinding NAME --clusterrole=NAME"
	if ns := r.Namespace; ns != "" {
		place, admin = " in namespace "+ns, "an administrator of the namespace"
		role, bind = "role NAME -n "+ns, "rolebinding NAME -n "+ns+" --role=NAME"
	}
	return fmt.Sprintf("%s may not %s %s %q%s; %s can do it, or grant the right: "+
		"kubectl create %s --verb=%s --resource=%s && kubectl create %s --user=%s",
		f.User, r.Verb, resource, r.Name, place, admin, role, r.Verb, resource, bind, f.User)
}

// Unwrap returns the server's response.
func (f *Forbidden) Unwrap() error { return f.Err }

// Conflict means that fields of a change belong to another field manager, or that the object has changed since it was
// read.
type Conflict struct {
	Object string
	Fields []OwnedField // empty: the object has changed
	Err    error
}

// OwnedField is a field and its manager.
type OwnedField struct {
	Field, Manager string
}

func (c *Conflict) Error() string {
	if len(c.Fields) == 0 {
		return fmt.Sprintf("%s was changed or recreated since it was read: %v; run the same command again",
			c.Object, c.Err)
	}
	var owned []string
	for _, f := range c.Fields {
		owned = append(owned, fmt.Sprintf("%s belongs to %s", f.Field, f.Manager))
	}
	return fmt.Sprintf("%s: %s and has another value there, so the object was not changed. "+
		"Let the manager set the wanted value or give the field up (kubectl apply --server-side without the field), "+
		"or delete the object. Then run the same command again", c.Object, strings.Join(owned, ", "))
}

// Unwrap returns the server's response.
func (c *Conflict) Unwrap() error { return c.Err }

// Refused means that the server rejects an object: by its schema, a webhook, a quota, or admission.
type Refused struct {
	Object string
	Reason string // in the server's words
	Err    error
}

func (r *Refused) Error() string { return fmt.Sprintf("%s is refused: %s", r.Object, r.Reason) }

// Unwrap returns the server's response.
func (r *Refused) Unwrap() error { return r.Err }

// Missing means that a change needs something that does not exist.
type Missing struct {
	Object string
	What   string // namespace "train", the object itself, or its kind
	Err    error
}

func (m *Missing) Error() string {
	return fmt.Sprintf("%s cannot be written: there is no %s", m.Object, m.What)
}

// Unwrap returns the server's response.
func (m *Missing) Unwrap() error { return m.Err }

// Terminating means that an object, or its namespace, is being deleted.
type Terminating struct {
	Object string
	Err    error
}

func (t *Terminating) Error() string {
	return t.Object + " cannot be written: it or its namespace is being deleted; " +
		"wait until it is gone and run the same command again"
}

// Unwrap returns the server's response.
func (t *Terminating) Unwrap() error { return t.Err }

// refusal returns the server's error for a change as one of the types above, and other errors with the object's name.
func refusal(err error, change plan.Change) error {
	name := nameOf(&change.Object)
	var answer apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, new(*Terminating)):
		return err
	case !errors.As(err, &answer):
		return fmt.Errorf("%s %s: %w", change.Verb, name, err)
	}
	status := answer.Status()
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Terminating{name, err}
	case status.Reason == metav1.StatusReasonForbidden:
		return forbidden(err, status, change)
	case status.Reason == metav1.StatusReasonConflict, status.Reason == metav1.StatusReasonAlreadyExists:
		return &Conflict{name, ownedFields(status), err}
	case status.Reason == metav1.StatusReasonNotFound:
		return &Missing{name, missing(status, change), err}
	}
	switch status.Code { // a webhook may give any reason, or none
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
		return &Refused{name, messageOf(status), err}
	}
	return fmt.Errorf("%s %s: %w", change.Verb, name, err)
}

// noRight matches the message of an authorizer (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go).
// Other messages that something is forbidden are from admission.
const noRight = `[Uu]ser "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"` +
	`(?: in the namespace "([^"]*)")?`

func forbidden(err error, status metav1.Status, change plan.Change) error {
	if f := parseNoRight(status.Message, change.Object.GetName()); f != nil {
		f.Err = err
		return f
	}
	reason := messageOf(status)
	if strings.Contains(reason, escalation) {
		reason += "\nOnly a user who has a right can grant it: let a cluster administrator run this"
	}
	return &Refused{nameOf(&change.Object), reason, err}
}

// escalation is in the error for a role binding that grants more than its author has (kubernetes
// pkg/registry/rbac/validation ConfirmNoEscalation).
const escalation = "is attempting to grant RBAC permissions not currently held"

// parseNoRight returns the right that an authorizer denied; nil for other messages.
func parseNoRight(message, name string) *Forbidden {
	words := regexp.MustCompile(noRight).FindStringSubmatch(message)
	if words == nil {
		return nil
	}
	return &Forbidden{User: words[1], Right: plan.Right{
		Verb: words[2], Resource: words[3], Group: words[4], Namespace: words[5], Name: name,
	}}
}

// messageOf returns the server's message without the object's name, which the error has already:
// `statefulsets.apps "h-kim" is forbidden: exceeded quota: ...`.
func messageOf(status metav1.Status) string {
	for _, verdict := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, ok := strings.Cut(status.Message, verdict); ok {
			return reason
		}
	}
	return status.Message
}

// conflictWith matches the manager in a cause's message: conflict with "kubectl" using apps/v1 (apimachinery
// pkg/util/managedfields/internal/conflict.go).
const conflictWith = `conflict with "([^"]*)"`

func ownedFields(status metav1.Status) []OwnedField {
	if status.Details == nil {
		return nil
	}
	var owned []OwnedField
	for _, c := range status.Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := c.Message
		if words := regexp.MustCompile(conflictWith).FindStringSubmatch(c.Message); words != nil {
			manager = words[1]
		}
		owned = append(owned, OwnedField{c.Field, manager})
	}
	return owned
}

// missing says what a 404 is about: the namespace, the object, or a kind that the server does not have.
func missing(status metav1.Status, change plan.Change) string {
	o := &change.Object
	switch {
	case status.Details != nil && status.Details.Kind == "namespaces":
		return fmt.Sprintf("namespace %q", o.GetNamespace())
	case status.Details != nil && status.Details.Name != "":
		return "such object"
	}
	return fmt.Sprintf("kind %s (%s) on this server: is its operator installed?", o.GetKind(), o.GetAPIVersion())
}
