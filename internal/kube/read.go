package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Want selects the parts of a cluster to read.
type Want struct {
	Kinds []cluster.Kind
	// Namespace limits the users' objects to one namespace: pods, networks, service accounts, quotas, role bindings,
	// events, and Railhead's objects. The SR-IOV operator's objects are always read in full.
	Namespace string
	// Job limits pods and Railhead's objects to one job; its pods are read with labels, annotations and containers.
	Job string
	// Detail reads the pods of the namespace with labels, annotations and containers, too, where no job is wanted.
	Detail bool
	// Everywhere lists kinds that are read from all namespaces anyway: all pods are needed to know the free
	// resources. Where that is forbidden they are read in the one, and the State has the problem.
	Everywhere []cluster.Kind
}

func (w Want) everywhere(kind cluster.Kind) bool { return slices.Contains(w.Everywhere, kind) }

// Read reads all that is wanted at once. A list that is forbidden or fails is a Problem of the State; an error is that
// the server cannot be talked to at all, or does not know who asks.
func (c *Client) Read(ctx context.Context, w Want) (cluster.State, error) {
	sources := c.api.sources(w)
	all := make([]rows, len(sources))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
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

// rows of one source, by namespace/name.
type rows struct {
	values  map[string]any
	version string // the list's, from which it can be watched on
	err     error
}

// fatal returns errors that concern all lists rather than one.
func fatal(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrCertificate) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// list reads a source, waiting for a server that is away. A kind that the server does not have gives an empty list.
func (c *Client) list(ctx context.Context, s source) rows {
	r, err := c.listAt(ctx, s, s.path)
	if apierrors.IsForbidden(err) && s.fallback != "" {
		narrow, second := c.listAt(ctx, s, s.fallback)
		r, err = narrow, errors.Join(err, fatal(second))
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

// listOnce reads a list. An object that cannot be read is left out, and the list is not known then.
func (c *Client) listOnce(ctx context.Context, s source, path string) (rows, error) {
	r := rows{values: map[string]any{}}
	keep := func(raw []byte, form encoding) error {
		d, err := s.codec.decode(raw, form)
		switch {
		case err != nil:
			r.err = cmp.Or(r.err, err)
		case d.value != nil:
			r.values[d.key] = d.value
		}
		return nil
	}
	if s.name != "" { // who may get an object may not list it
		raw, err := responseBody(c.rest.Get().AbsPath(path, s.name).SetHeader("Accept", "application/json").Do(ctx))
		if err != nil {
			return r, err
		}
		return r, keep(raw, inJSON)
	}
	request := c.rest.Get().AbsPath(path).SetHeader("Accept", s.codec.accept)
	s.narrow(request)
	if s.cached {
		request.Param("resourceVersion", "0")
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return r, err
	}
	defer body.Close()
	r.version, err = eachItem(body, keep)
	return r, err
}

// narrow asks for the objects that are wanted alone.
func (s source) narrow(request *rest.Request) {
	if s.labels != "" {
		request.Param("labelSelector", s.labels)
	}
	if s.fields != "" {
		request.Param("fieldSelector", s.fields)
	}
}

// draft is an incomplete State, with the objects that grants are made from.
type draft struct {
	cluster.State
	roles    []sccRole
	bindings []binding
	granting []cluster.SCC // SCCs that are read only for their grants
}

// assemble returns the State of the sources, in the order of their names.
func (c *Client) assemble(w Want, sources []source, all []rows) cluster.State {
	d := draft{State: cluster.State{SchemaVersion: cluster.SchemaVersion, Taken: time.Now().UTC(), Written: c.lastWrite(), Server: c.Server(), Read: w.Kinds}}
	for i, s := range sources {
		for _, key := range slices.Sorted(maps.Keys(all[i].values)) {
			s.codec.add(&d, all[i].values[key])
		}
		if err := all[i].err; err != nil {
			d.Problems = append(d.Problems, problem(s, err))
		}
	}
	if slices.Contains(w.Kinds, cluster.SCCGrants) {
		d.SCCGrants = grants(d.roles, d.bindings, append(d.granting, d.SCCs...))
	}
	slices.SortStableFunc(d.Events, func(a, b cluster.Event) int { return a.Last.Compare(b.Last) })
	slices.SortStableFunc(d.DRADevices, func(a, b cluster.DRADevice) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Name, b.Name))
	})
	c.remember(d.Objects)
	d.Events = slices.DeleteFunc(d.Events, c.former)
	return d.State
}

// former reports whether an event is about an object that is no more: another one has its name now. Events outlive what
// they are about by an hour, and what a controller said of the job before is not why the pods of this one do not come.
func (c *Client) former(e cluster.Event) bool {
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

// problem says why a list is not known.
func problem(s source, err error) cluster.Problem {
	return cluster.Problem{
		Kind: s.kind, Namespace: s.namespace, Err: fmt.Sprint(err), Forbidden: apierrors.IsForbidden(err),
	}
}

// remember keeps objects as the server has them, to tell whether an apply changes them.
func (c *Client) remember(objects []cluster.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range objects {
		c.seen[objectPath(o.APIVersion, o.Kind, o.Namespace, o.Name)] = o.Fields
	}
}
