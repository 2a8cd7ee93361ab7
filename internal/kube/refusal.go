package kube

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/namespace"
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
	grant := fmt.Sprintf("kubectl create %s --verb=%s --resource=%s && kubectl create %s --user=%s",
		role, r.Verb, resource, bind, f.User)
	if namespace.ForUsers(r) {
		admin, grant = "a cluster administrator", setUpUsers(r.Namespace, f.User)
	}
	return fmt.Sprintf("%s may not %s %s %q%s; %s can do it, or grant the right: %s",
		f.User, r.Verb, resource, r.Name, place, admin, grant)
}

// setUpUsers is the command that gives a user the rights for jobs in a namespace.
func setUpUsers(ns, user string) string {
	return "railhead setup namespace " + cmp.Or(ns, "NAMESPACE") + " --users " + namespace.User + user
}

// grantOf returns the command that gives the user of a command in a namespace the right to read a list, if it is one of
// those for jobs.
func grantOf(err error, ns string) string {
	f := parseNoRight(err.Error(), "")
	if f == nil || !apierrors.IsForbidden(err) || !namespace.ForUsers(f.Right) {
		return ""
	}
	return setUpUsers(ns, f.User)
}

// deniedUser returns the user to whom an authorizer denied a right.
func deniedUser(err error) string {
	f := parseNoRight(err.Error(), "")
	if f == nil || !apierrors.IsForbidden(err) {
		return ""
	}
	return f.User
}

// Unwrap returns the server's response.
func (f *Forbidden) Unwrap() error { return f.Err }

// Refused means that the server rejects a change although the user has the right to it.
type Refused struct {
	Text string // names the object
	Err  error
}

func (r *Refused) Error() string { return r.Text }

// Unwrap returns the server's response.
func (r *Refused) Unwrap() error { return r.Err }

// terminating is the error for an object that is being deleted, or whose namespace is.
func terminating(object string, err error) error {
	return &Refused{object + " cannot be written: it or its namespace is being deleted; " +
		"wait until it is gone and run the same command again", err}
}

// refusal returns the server's error for a change in words that say what to do.
func refusal(err error, change plan.Change) error {
	name := nameOf(&change.Object)
	var answer apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, new(*Refused)):
		return err
	case !errors.As(err, &answer):
		return fmt.Errorf("%s %s: %w", change.Verb, name, err)
	}
	status := answer.Status()
	if f := parseNoRight(status.Message, change.Object.GetName()); f != nil && denied(err) {
		f.Err = err
		return f
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return terminating(name, err)
	case status.Reason == metav1.StatusReasonConflict, status.Reason == metav1.StatusReasonAlreadyExists:
		return &Refused{conflict(name, status), err}
	case status.Reason == metav1.StatusReasonNotFound:
		return &Refused{name + " cannot be written: there is no " + missing(status, change), err}
	}
	switch status.Code { // a webhook may give any reason, or none
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
		return &Refused{name + " is refused: " + messageOf(status), err}
	}
	return fmt.Errorf("%s %s: %w", change.Verb, name, err)
}

// noRight matches the message of an authorizer (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go).
// Other messages that something is forbidden are from admission.
const noRight = `[Uu]ser "([^"]*)" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"` +
	`(?: in the namespace "([^"]*)")?`

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
	message := status.Message
	for _, verdict := range []string{" is forbidden: ", " is invalid: "} {
		if _, reason, ok := strings.Cut(status.Message, verdict); ok {
			message = reason
			break
		}
	}
	if strings.Contains(message, escalation) {
		message += "\nOnly a user who has a right can grant it: let a cluster administrator run this"
	}
	return message
}

// conflictWith matches the manager in a cause's message: conflict with "kubectl" using apps/v1 (apimachinery
// pkg/util/managedfields/internal/conflict.go).
const conflictWith = `conflict with "([^"]*)"`

// conflict says which fields of a change belong to other field managers, or that the object has changed since it was
// read.
func conflict(object string, status metav1.Status) string {
	var owned []string
	if status.Details != nil {
		for _, c := range status.Details.Causes {
			if c.Type != metav1.CauseTypeFieldManagerConflict {
				continue
			}
			manager := c.Message
			if words := regexp.MustCompile(conflictWith).FindStringSubmatch(c.Message); words != nil {
				manager = words[1]
			}
			owned = append(owned, c.Field+" belongs to "+manager)
		}
	}
	if len(owned) == 0 {
		return fmt.Sprintf("%s was changed or recreated since it was read: %s; run the same command again",
			object, status.Message)
	}
	return fmt.Sprintf("%s: %s and has another value there, so the object was not changed. "+
		"Let the manager set the wanted value or give the field up (kubectl apply --server-side without the field), "+
		"or delete the object. Then run the same command again", object, strings.Join(owned, ", "))
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
