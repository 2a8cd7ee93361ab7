//go:build chaos

package chaostest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// state has all objects of a cluster as somebody wanted them: without status, versions, times and generated names,
// addresses and certificates. Objects with a generated name have one entry each under the same name.
type state map[string][]string

// reader reads the state of a cluster.
type reader struct {
	client dynamic.Interface
	kinds  []schema.GroupVersionResource
	known  sync.Map // object by UID and version
}

// object is an object as somebody wanted it.
type object struct{ name, text string }

func (r *reader) object(resource string, o *unstructured.Unstructured) (object, error) {
	version := string(o.GetUID()) + "/" + o.GetResourceVersion()
	if known, ok := r.known.Load(version); ok {
		return known.(object), nil
	}
	name, text, err := wanted(resource, o)
	r.known.Store(version, object{name, text})
	return object{name, text}, err
}

// untold returns the resources whose objects say nothing of the wishes of a user.
func untold() []string {
	return []string{
		"events", "events.events.k8s.io", "endpoints", "endpointslices.discovery.k8s.io", "componentstatuses",
		"leases.coordination.k8s.io", "apiservices.apiregistration.k8s.io",
		"customresourcedefinitions.apiextensions.k8s.io", "rangeallocations.security.openshift.io",
		"servicecidrs.networking.k8s.io", "ipaddresses.networking.k8s.io",
	}
}

func newReader(t *testing.T, s *site) *reader {
	t.Helper()
	r := &reader{}
	var err error
	if r.client, err = dynamic.NewForConfig(s.plane.Admin()); err != nil {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(s.plane.Admin())
	if err != nil {
		t.Fatal(err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list.APIResources {
			gvr := version.WithResource(kind.Name)
			if slices.Contains(kind.Verbs, "list") && slices.Contains(kind.Verbs, "watch") &&
				!slices.Contains(untold(), gvr.GroupResource().String()) {
				r.kinds = append(r.kinds, gvr)
			}
		}
	}
	return r
}

// read lists all objects of some kinds.
func (r *reader) read(t *testing.T, kinds []schema.GroupVersionResource) state {
	t.Helper()
	all := state{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(8)
	for _, kind := range kinds {
		g.Go(func() error {
			list, err := r.client.Resource(kind).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("list %s: %w", kind.GroupResource(), err)
			}
			for i := range list.Items {
				o, err := r.object(kind.Resource, &list.Items[i])
				if err != nil {
					return err
				}
				if o.name != "" {
					mu.Lock()
					all[o.name] = append(all[o.name], o.text)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		slices.Sort(all[name])
	}
	return all
}

// webhookSecret replaces the name of the webhook's Secret, which contains the hash of a certificate.
const webhookSecret = "railhead-webhook-CERTIFICATE"

var certificateName = regexp.MustCompile(`railhead-webhook-[0-9a-f]{12}`)

// generated are the parts of objects that differ from run to run.
var generated = []struct {
	parts *regexp.Regexp
	as    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]*|-----BEGIN[^"]*`), "PEM"},
	{certificateName, webhookSecret},
	{regexp.MustCompile(`172\.30\.\d+\.\d+`), "SERVICE IP"},
	{regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`), "TOKEN"},
	{regexp.MustCompile(`\b1000\d{6}\b`), "UID RANGE"}, // a new namespace gets the next range
	{regexp.MustCompile(`s0:c\d+,c\d+`), "SELINUX LEVEL"},
}

// hashes are the labels whose value is a hash of a template, and a part of names. Templates have certificates.
func hashes() []string {
	return []string{"pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash"}
}

// wanted returns the name of an object and what was wanted of it; no name if the machine-config-controller rendered it.
func wanted(resource string, o *unstructured.Unstructured) (name, text string, err error) {
	own := o.GetName()
	if strings.HasPrefix(own, "rendered-") {
		return "", "", nil
	}
	if prefix := o.GetGenerateName(); prefix != "" {
		own = prefix + "*"
	}
	metadata := map[string]any{"leaving": o.GetDeletionTimestamp() != nil}
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, found, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", field); found {
			metadata[field] = value
		}
	}
	fields := maps.Clone(o.Object)
	fields["metadata"] = metadata
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "spec", "nodeName") // of a pod: the scheduler chooses
	for _, field := range []string{"data", "binaryData"} {     // certificates, and railhead-pod: names have its hash
		if data, ok := fields[field].(map[string]any); ok {
			fields[field] = slices.Sorted(maps.Keys(data))
		}
	}
	raw, err := json.Marshal(fields)
	name, text = fmt.Sprintf("%s %s/%s", resource, o.GetNamespace(), own), string(raw)
	for _, label := range hashes() {
		if hash := o.GetLabels()[label]; hash != "" {
			name, text = strings.ReplaceAll(name, hash, "HASH"), strings.ReplaceAll(text, hash, "HASH")
		}
	}
	for _, g := range generated {
		name, text = g.parts.ReplaceAllString(name, g.as), g.parts.ReplaceAllString(text, g.as)
	}
	return name, text, err
}
