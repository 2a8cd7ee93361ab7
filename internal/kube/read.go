package kube

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Want selects the parts of a cluster to read.
type Want struct {
	Kinds []cluster.Kind
	// Namespace limits pods, workloads, networks, service accounts, quotas, role bindings, events and Railhead's
	// objects to one namespace. The SR-IOV operator's objects are always read in full.
	Namespace string
	// Job limits pods and Railhead's objects to one job, and reads its pods with labels, annotations and containers.
	Job string
	// Detail reads all pods of the namespace with labels, annotations and containers if no job is given.
	Detail bool
	// Everywhere lists kinds that are read from all namespaces anyway: the free resources depend on all pods. If that
	// is forbidden, they are read in the one namespace, and the State has a Problem.
	Everywhere []cluster.Kind
	// Setup means that a setup command asks. Then the roles of administrators give a missing right, not the roles of
	// users.
	Setup bool
}

func (w Want) everywhere(kind cluster.Kind) bool { return slices.Contains(w.Everywhere, kind) }

// Read reads the wanted parts of the cluster. A list that is forbidden or fails is a Problem of the State. An error
// means that the server does not answer, or rejects the user.
func (c *Client) Read(ctx context.Context, w Want) (cluster.State, error) {
	sources := c.api.sources(w)
	all := make([]rows, len(sources))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxCalls)
	for i, s := range sources {
		g.Go(func() error {
			all[i] = c.list(ctx, s)
			return fatal(all[i].err)
		})
	}
	if err := g.Wait(); err != nil {
		return cluster.State{}, err
	}
	return c.assemble(w, sources, all), nil
}

// rows are the converted objects of one source, by namespace/name.
type rows struct {
	values  map[string]any
	version string // of the list: a watch can continue from it
	err     error
	none    bool // the fallback failed, too
}

// fatal returns errors that concern all lists rather than one.
func fatal(err error) error {
	for _, e := range []error{
		ErrUnreachable, ErrUnauthorized, ErrCertificate, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return err
		}
	}
	return nil
}

// list reads a source, and waits for a server that does not answer. The list of a missing resource is empty.
func (c *Client) list(ctx context.Context, s source) rows {
	r, err := c.listAt(ctx, s, s.path)
	if apierrors.IsForbidden(err) && s.fallback != "" {
		var second error
		r, second = c.listAt(ctx, s, s.fallback)
		err, r.none = errors.Join(err, fatal(second)), second != nil
	}
	if apierrors.IsNotFound(err) {
		err = nil
	}
	r.err = cmp.Or(err, r.err)
	return r
}

func (c *Client) listAt(ctx context.Context, s source, path string) (r rows, err error) {
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		r, err = c.listOnce(ctx, s, path)
		return err
	})
	return r, err
}

// listOnce reads a list. It leaves out an object that it cannot decode, and notes the error.
func (c *Client) listOnce(ctx context.Context, s source, path string) (rows, error) {
	r := rows{values: map[string]any{}}
	keep := func(raw []byte, form encoding) {
		d, err := s.codec.decode(raw, form)
		if r.err = cmp.Or(r.err, err); err == nil && d.value != nil {
			r.values[d.key] = d.value
		}
	}
	if s.name != "" { // a user who may get an object may not be allowed to list it
		raw, err := responseBody(c.rest.Get().AbsPath(path, s.name).SetHeader("Accept", "application/json").Do(ctx))
		if err == nil {
			keep(raw, inJSON)
		}
		return r, err
	}
	options := s.options()
	body, err := withOptions(c.rest.Get().AbsPath(path).SetHeader("Accept", s.codec.accept), &options).Stream(ctx)
	if err != nil {
		return r, err
	}
	defer body.Close()
	r.version, err = eachItem(body, keep)
	return r, err
}

// options select the objects of the source.
func (s source) options() metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: s.labels, FieldSelector: s.fields}
	if s.cached {
		options.ResourceVersion = "0"
	}
	return options
}

// draft is an incomplete State, with what its SCCGrants are computed from.
type draft struct {
	state    cluster.State
	roles    []sccRole
	bindings []binding
	granting []cluster.SCC // read only for their grants
}

// assemble returns the State of the sources, in the order of their names.
func (c *Client) assemble(w Want, sources []source, all []rows) cluster.State {
	d := draft{state: cluster.State{
		SchemaVersion: cluster.SchemaVersion,
		Taken:         time.Now().UTC(),
		Written:       c.lastWrite(),
		Server:        c.Server(),
		Read:          w.Kinds,
		SomePods:      !w.everywhere(cluster.Pods) && (w.Namespace != "" || w.Job != ""),
	}}
	for i, s := range sources {
		for _, key := range slices.Sorted(maps.Keys(all[i].values)) {
			s.codec.add(&d, all[i].values[key])
		}
		if err := all[i].err; err != nil {
			text, grant, user := err.Error(), "", ""
			if w.Setup {
				user = deniedUser(err)
			} else {
				grant = grantOf(err, w.Namespace)
			}
			if grant != "" {
				text += "; a cluster administrator can grant the right: " + grant
			}
			namespace := s.namespace
			if all[i].none {
				namespace = w.Namespace
			}
			d.state.Problems = append(d.state.Problems, cluster.Problem{
				Kind:      s.kind,
				Resource:  s.resource,
				Namespace: namespace,
				Err:       text,
				Grant:     grant,
				Denied:    user,
				Forbidden: apierrors.IsForbidden(err),
			})
		}
	}
	if slices.Contains(w.Kinds, cluster.SCCGrants) {
		d.state.SCCGrants = grants(d.roles, d.bindings, append(d.granting, d.state.SCCs...))
	}
	slices.SortStableFunc(d.state.Events, func(a, b cluster.Event) int { return a.Last.Compare(b.Last) })
	slices.SortStableFunc(d.state.DRADevices, func(a, b cluster.DRADevice) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Name, b.Name))
	})
	d.state.RestoreHeld()
	c.remember(d.state.Objects)
	d.state.Events = slices.DeleteFunc(d.state.Events, c.isStale)
	return d.state
}

// isStale reports whether an event is about an earlier object of the same name. Events outlive their object by an hour,
// and the events of an earlier job do not explain why the pods of this one do not start.
func (c *Client) isStale(e cluster.Event) bool {
	kind, name, _ := strings.Cut(e.Object, "/")
	place := "/namespaces/" + e.Namespace + "/" + plan.Resource(kind) + "/" + name
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, object := range c.seen {
		uid, _, _ := unstructured.NestedString(object, "metadata", "uid")
		if strings.HasSuffix(path, place) && e.UID != "" && uid != "" && uid != e.UID {
			return true
		}
	}
	return false
}

// remember keeps objects, so that outcome can tell whether an apply changes them.
func (c *Client) remember(objects []cluster.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range objects {
		c.seen[objectPath(o.APIVersion, o.Kind, o.Namespace, o.Name)] = o.Fields
	}
}
