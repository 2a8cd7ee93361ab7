package kube

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// kindsRead are the lists that the recordings of testdata/kinds have.
var kindsRead = []cluster.Kind{
	cluster.Nodes, cluster.Pods, cluster.Namespaces, cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies,
	cluster.SriovNodes, cluster.NicPolicies, cluster.DRADevices, cluster.DeviceClasses, cluster.ResourceClaims,
	cluster.Events,
}

// servedBy returns what an API server with the objects serves: Kubernetes itself, and the groups of the objects.
func servedBy(objects []unstructured.Unstructured) api {
	all, served := openshift(), plain()
	all[cluster.NvidiaGroup] = []apiVersion{{"v1alpha1", []string{"nicclusterpolicies"}}}
	for _, o := range objects {
		group := o.GroupVersionKind().Group
		if versions, ok := all[group]; ok {
			served[group] = versions
		}
		if group == cluster.ResourceGroup {
			served[group] = []apiVersion{{"v1", []string{"resourceslices", "deviceclasses", "resourceclaims"}}}
		}
	}
	return served
}

// plural returns the name of the list of a kind.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case kind == "NetworkAttachmentDefinition":
		return "network-attachment-definitions"
	case strings.HasSuffix(name, "policy"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "class"):
		return name + "es"
	}
	return name + "s"
}

func objectsIn(t *testing.T, name string) []unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "kinds", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o unstructured.Unstructured
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
}

// recorded returns the State of a cluster with the objects of testdata/kinds, as the reader of clusters makes it.
func recorded(t *testing.T, name string) cluster.State {
	t.Helper()
	objects := objectsIn(t, name)
	c := &Client{config: &rest.Config{Host: "https://api:6443"}, api: servedBy(objects)}
	w := Want{Kinds: kindsRead, Detail: true}
	sources := c.api.sources(w)
	all := make([]rows, len(sources))
	for i, s := range sources {
		all[i].values = map[string]any{}
		for _, o := range objects {
			gv := o.GroupVersionKind()
			if s.resource != strings.TrimSuffix(plural(gv.Kind)+"."+gv.Group, ".") {
				continue
			}
			raw, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			d, err := s.codec.decode(raw, inJSON)
			if err != nil {
				t.Fatal(err)
			}
			if d.value != nil {
				all[i].values[d.key] = d.value
			}
		}
	}
	return c.assemble(w, sources, all)
}

// text returns all that a reader of a finding sees.
func text(f check.Finding) string {
	all := []string{f.Status.String() + " " + string(f.Check), f.Summary}
	for _, e := range f.Evidence {
		all = append(all, e.String())
	}
	if f.Fix != nil {
		all = append(append(all, string(f.Fix.Who), f.Fix.Text), f.Fix.Commands...)
	}
	return strings.Join(all, "\n")
}

func checksOf(findings []check.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, f.Status.String()+" "+string(f.Check))
	}
	return all
}

// Clusters of kinds that are judged by their own rules: the first finding says what is at fault, and no fix names what
// does not help.
func TestKindsOfClusters(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster.State)
		job    string   // its namespace; empty: the whole cluster
		want   []string // the findings
		says   []string // the first finding
		never  []string // any finding
	}{
		"drain-blocked": {
			want: []string{"fail sriov-node-state", "warn resources-injector"},
			says: []string{
				`its last attempt failed: error when evicting pods/"web-0" -n "shop"`, "shop/web-0 cannot be evicted",
				"kubectl -n shop get poddisruptionbudgets", "annotation current-state: Draining",
				"annotation desired-state: Drain_Required",
			},
			never: []string{"Correct the SriovNetworkNodePolicy"},
		},
		"multus-without-kubelet": {
			job:  "default",
			want: []string{"fail sandbox-failed"},
			says: []string{"Multus on node node-1 cannot ask the kubelet", "admin", "pod-resources"},
			never: []string{
				"Compare the annotation", "setup namespace",
			},
		},
		"amd-vnic":             {job: "train"},
		"infiniband-by-plugin": {job: "train"},
		"efa-by-claim": {
			want:  []string{"warn transport-supported"},
			says:  []string{"dra.net", "aws-ofi-nccl", "no rails for NCCL_NET=IB", "Railhead cannot set up EFA"},
			never: []string{"SriovNetworkNodePolicy"},
		},
		"ethernet-only-nic": {
			want: []string{"warn sriov-node-state", "warn resources-injector"},
			says: []string{
				"node worker-7: it must drain the node first, and the drain has not begun",
				"annotation current-state: Idle", "status.syncStatus: InProgress",
			},
			never: []string{"isRdma"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := recorded(t, name)
			if test.change != nil {
				test.change(&s)
			}
			r := clusterrules.Judge(s, clusterrules.Options{Namespace: test.job, Whole: test.job == ""})
			if got := checksOf(r.Findings); !slices.Equal(got, test.want) {
				t.Fatalf("found %q, want %q\n%+v", got, test.want, r.Findings)
			}
			for i, f := range r.Findings {
				for _, want := range test.says {
					if i == 0 && !strings.Contains(text(f), want) {
						t.Errorf("%q is not in\n%s", want, text(f))
					}
				}
				for _, never := range test.never {
					if strings.Contains(text(f), never) {
						t.Errorf("%q is in\n%s", never, text(f))
					}
				}
			}
		})
	}
}

// The inventory of a cluster whose NICs have no RDMA names the NICs instead of a policy.
func TestNICsWithoutRDMA(t *testing.T) {
	s := recorded(t, "ethernet-only-nic")
	i := slices.IndexFunc(clusterrules.Missing(s), func(f check.Finding) bool {
		return f.Check == clusterrules.RDMAResources
	})
	if i < 0 {
		t.Fatal("no finding about the missing resource")
	}
	got := text(clusterrules.Missing(s)[i])
	for _, want := range []string{"8086:158a, driver i40e", "policy-ens1f1", "have no RDMA"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "isRdma") || strings.Contains(got, "setup cluster --sriov") {
		t.Errorf("a policy does not help:\n%s", got)
	}
	for i := range s.SriovNodes[0].Interfaces { // a card of the same driver with iWARP
		s.SriovNodes[0].Interfaces[i].DeviceID = "37d2"
	}
	findings := clusterrules.Missing(s)
	if got := text(findings[len(findings)-1]); !strings.Contains(got, "isRdma: true") {
		t.Errorf("the card may have RDMA:\n%s", got)
	}
}
