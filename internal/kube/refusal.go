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
	if r.Namespace == "" {
		return fmt.Sprintf("%s may not %s %s %q: a cluster administrator may, or can grant it: kubectl create clusterrole NAME --verb=%s --resource=%s && kubectl create clusterrolebinding NAME --clusterrole=NAME --user=%s",
			f.User, r.Verb, resource, r.Name, r.Verb, resource, f.User)
	}
	return fmt.Sprintf("%s may not %s %s %q in namespace %s: an administrator of that namespace may, or can grant it: kubectl create role NAME -n %s --verb=%s --resource=%s && kubectl create rolebinding NAME -n %s --role=NAME --user=%s",
		f.User, r.Verb, resource, r.Name, r.Namespace, r.Namespace, r.Verb, resource, r.Namespace, f.User)
}

// Unwrap returns the server's answer.
func (f *Forbidden) Unwrap() error { return f.Err }

// Conflict means that fields of a change belong to another field manager, or that the object is no longer the one
// that was read.
type Conflict struct {
	Object string
	Fields []OwnedField // none: it is another object, or another version of it
	Err    error
}

// OwnedField is a field and the manager it belongs to.
type OwnedField struct {
	Field, Manager string
}

func (c *Conflict) Error() string {
	if len(c.Fields) == 0 {
		return fmt.Sprintf("%s was changed or made anew since it was read: %v; the same command again looks at what is there now", c.Object, c.Err)
	}
	var owned []string
	for _, f := range c.Fields {
		owned = append(owned, fmt.Sprintf("%s belongs to %s", f.Field, f.Manager))
	}
	return fmt.Sprintf("%s: %s and has another value there: nothing of it was written. Let its manager set the wanted value or give the field up (kubectl apply --server-side without it), or delete the object, and run the same command again",
		c.Object, strings.Join(owned, ", "))
}

// Unwrap returns the server's answer.
func (c *Conflict) Unwrap() error { return c.Err }

// Refused means that the server rejects an object: by its schema, a webhook, a quota, or admission.
type Refused struct {
	Object string
	Reason string // the server's own words
	Err    error
}

func (r *Refused) Error() string { return fmt.Sprintf("%s is refused: %s", r.Object, r.Reason) }

// Unwrap returns the server's answer.
func (r *Refused) Unwrap() error { return r.Err }

// Missing means that something that a change needs does not exist.
type Missing struct {
	Object string
	What   string // namespace "train", the object itself, or its kind
	Err    error
}

func (m *Missing) Error() string {
	return fmt.Sprintf("%s cannot be written: there is no %s", m.Object, m.What)
}

// Unwrap returns the server's answer.
func (m *Missing) Unwrap() error { return m.Err }

// Terminating means that an object, or its namespace, is being deleted.
type Terminating struct {
	Object string
	Err    error
}

func (t *Terminating) Error() string {
	return t.Object + " cannot be written: it or its namespace is being deleted; wait until it is gone and run the same command again"
}

// Unwrap returns the server's answer.
func (t *Terminating) Unwrap() error { return t.Err }

// refusal gives the server's answer to a change its type; other errors pass, with the object's name.
func refusal(err error, change plan.Change) error {
	var answer apierrors.APIStatus
	if err == nil || !errors.As(err, &answer) {
		return named(err, change)
	}
	status := answer.Status()
	name := nameOf(&change.Object)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Terminating{name, err}
	case status.Reason == metav1.StatusReasonForbidden:
		return forbidden(err, status, change)
	case status.Reason == metav1.StatusReasonConflict, status.Reason == metav1.StatusReasonAlreadyExists:
		return &Conflict{name, ownedFields(status), err}
	case status.Reason == metav1.StatusReasonNotFound:
		return &Missing{name, missing(status, change), err}
	case status.Code == http.StatusBadRequest, status.Code == http.StatusForbidden, status.Code == http.StatusUnprocessableEntity:
		return &Refused{name, said(status), err} // a webhook may give any reason, or none
	}
	return named(err, change)
}

func named(err error, change plan.Change) error {
	if err == nil || errors.As(err, new(*Terminating)) {
		return err
	}
	return fmt.Errorf("%s %s: %w", change.Verb, nameOf(&change.Object), err)
}

// noRight matches an authorizer's refusal (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go); whatever
// else is forbidden, admission has refused.
const noRight = `[Uu]ser "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`

func forbidden(err error, status metav1.Status, change plan.Change) error {
	if f := parseNoRight(status.Message, change.Object.GetName()); f != nil {
		f.Err = err
		return f
	}
	reason := said(status)
	if strings.Contains(reason, escalation) {
		reason += "\nWhoever grants a right must have it: let a cluster administrator run this"
	}
	return &Refused{nameOf(&change.Object), reason, err}
}

// escalation is said of a role binding by whoever lacks what it grants (kubernetes pkg/registry/rbac/validation
// ConfirmNoEscalation).
const escalation = "is attempting to grant RBAC permissions not currently held"

// parseNoRight returns the right that an authorizer refused; nil for other messages.
func parseNoRight(message, name string) *Forbidden {
	words := regexp.MustCompile(noRight).FindStringSubmatch(message)
	if words == nil {
		return nil
	}
	return &Forbidden{User: words[1], Right: plan.Right{Verb: words[2], Resource: words[3], Group: words[4], Namespace: words[5], Name: name}}
}

// said is the server's message without the object's name, which the error says already:
// `statefulsets.apps "h-kim" is forbidden: exceeded quota: ...`.
func said(status metav1.Status) string {
	for _, verdict := range []string{" is forbidden: ", " is invalid: "} {
		if _, words, ok := strings.Cut(status.Message, verdict); ok {
			return words
		}
	}
	return status.Message
}

// conflictWith is the manager in a cause's message: conflict with "kubectl" using apps/v1 (apimachinery
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

// missing returns the subject of a 404: the namespace, the object, or a kind that the server does not have.
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
