package kube

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/namespace"
)

// openshift serves what the sources can read, ResourceSlices in an old version.
func openshift() api {
	one := func(version string, resources ...string) []apiVersion { return []apiVersion{{version, resources}} }
	return api{
		"apps":                      one("v1", "deployments", "statefulsets"),
		"rbac.authorization.k8s.io": one("v1", "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		cluster.SecurityGroup:       one("v1", "securitycontextconstraints", "rangeallocations"),
		cluster.MachineConfigGroup:  one("v1", "machineconfigs", "machineconfigpools"),
		cluster.NetworkGroup:        one("v1", "network-attachment-definitions"),
		cluster.SriovGroup: one("v1", "sriovnetworks", "sriovibnetworks", "sriovnetworknodepolicies",
			"sriovnetworknodestates"),
		cluster.ResourceGroup: one("v1beta1", "resourceslices"),
		cluster.JobSetGroup:   one("v1alpha2", "jobsets"),
		cluster.TrainerGroup:  one("v1alpha1", "trainjobs"),
		"storage.k8s.io":      one("v1", "storageclasses"),
		"scheduling.k8s.io":   one("v1", "priorityclasses"),
		"node.k8s.io":         one("v1", "runtimeclasses"),
		cluster.KueueGroup:    one("v1beta1", "localqueues"),
	}
}

func plain() api {
	return api{
		"apps":                      {{"v1", []string{"statefulsets"}}},
		"rbac.authorization.k8s.io": {{"v1", []string{"roles", "clusterroles"}}},
	}
}

func TestSources(t *testing.T) {
	const namespaced = "/namespaces/train/"
	for name, test := range map[string]struct {
		api  api
		want Want
		out  []string // paths, with the selector and what they fall back to
	}{
		"nodes and pods of all": {
			openshift(),
			Want{Kinds: []cluster.Kind{cluster.Nodes, cluster.Pods}},
			[]string{"/api/v1/nodes", "/api/v1/pods"},
		},
		"a job's pods": {openshift(), Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: "train", Job: "h-kim"},
			[]string{"/api/v1/namespaces/train/pods?app.kubernetes.io/instance=h-kim"}},
		"all pods, with a job": {openshift(), Want{
			Kinds:      []cluster.Kind{cluster.Pods},
			Namespace:  "train",
			Job:        "h-kim",
			Everywhere: []cluster.Kind{cluster.Pods},
		},
			[]string{"/api/v1/pods else /api/v1/namespaces/train/pods"}},
		"users' objects of one namespace": {openshift(),
			Want{
				Kinds: []cluster.Kind{
					cluster.Namespaces,
					cluster.Networks,
					cluster.ServiceAccounts,
					cluster.Quotas,
					cluster.Events,
				},
				Namespace: "train",
			},
			[]string{"/api/v1/namespaces train",
				"/apis/k8s.cni.cncf.io/v1" + namespaced + "network-attachment-definitions",
				"/api/v1" + namespaced + "serviceaccounts",
				"/api/v1" + namespaced + "resourcequotas", "/api/v1" + namespaced + "events"}},
		"the operator's objects of all namespaces": {openshift(), Want{
			Kinds:     []cluster.Kind{cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes},
			Namespace: "train",
		},
			[]string{"/apis/sriovnetwork.openshift.io/v1/sriovnetworks",
				"/apis/sriovnetwork.openshift.io/v1/sriovibnetworks",
				"/apis/sriovnetwork.openshift.io/v1/sriovnetworknodepolicies",
				"/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"}},
		"the best version that is served": {
			openshift(),
			Want{Kinds: []cluster.Kind{cluster.DRADevices}},
			[]string{"/apis/resource.k8s.io/v1beta1/resourceslices"},
		},
		"grants, with the SCCs that name users": {openshift(), Want{
			Kinds:     []cluster.Kind{cluster.SCCGrants},
			Namespace: "train",
		},
			[]string{"/apis/rbac.authorization.k8s.io/v1/clusterroles",
				"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
				"/apis/rbac.authorization.k8s.io/v1" + namespaced + "roles",
				"/apis/rbac.authorization.k8s.io/v1" + namespaced + "rolebindings",
				"/apis/security.openshift.io/v1/securitycontextconstraints"}},
		"kinds that the server does not have": {plain(),
			Want{
				Kinds: []cluster.Kind{
					cluster.Pools,
					cluster.MachineConfigs,
					cluster.Networks,
					cluster.SCCs,
					cluster.SCCGrants,
					cluster.DRADevices,
					cluster.SriovNodes,
				},
			}, nil},
		"stateful sets of a namespace": {openshift(), Want{
			Kinds:     []cluster.Kind{cluster.StatefulSets},
			Namespace: "train",
			Job:       "h-kim",
		},
			[]string{"/apis/apps/v1" + namespaced + "statefulsets?app.kubernetes.io/managed-by=railhead"}},
		"workloads of the kinds that the server has": {openshift(), Want{
			Kinds:     []cluster.Kind{cluster.Workloads},
			Namespace: "train",
		},
			[]string{"/apis/apps/v1" + namespaced + "statefulsets", "/apis/apps/v1" + namespaced + "deployments",
				"/apis/jobset.x-k8s.io/v1alpha2" + namespaced + "jobsets",
				"/apis/trainer.kubeflow.org/v1alpha1" + namespaced + "trainjobs"}},
		"Railhead's objects of a job": {openshift(), Want{
			Kinds:     []cluster.Kind{cluster.Objects},
			Namespace: "train",
			Job:       "h-kim",
		},
			[]string{"/api/v1" + namespaced + "configmaps?app.kubernetes.io/managed-by=railhead",
				"/api/v1" + namespaced + "services?app.kubernetes.io/managed-by=railhead",
				"/apis/apps/v1" + namespaced + "statefulsets?app.kubernetes.io/managed-by=railhead",
				"/apis/jobset.x-k8s.io/v1alpha2" + namespaced + "jobsets?app.kubernetes.io/managed-by=railhead"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range test.api.sources(test.want) {
				line := s.path
				if s.labels != "" {
					line += "?" + s.labels
				}
				if s.name != "" {
					line += " " + s.name
				}
				if s.fallback != "" {
					line += " else " + s.fallback
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.out, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every kind of the State has a source on a server that serves everything.
func TestEveryKindHasASource(t *testing.T) {
	for _, kind := range []cluster.Kind{
		cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks,
		cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes,
		cluster.DRADevices, cluster.SCCs, cluster.SCCGrants, cluster.Namespaces, cluster.ServiceAccounts,
		cluster.Quotas, cluster.Events, cluster.Objects, cluster.Workloads, cluster.TrainJobs,
		cluster.JobObjects, cluster.VolumeClaims, cluster.StorageClasses, cluster.PriorityClasses, cluster.RuntimeClasses,
		cluster.LocalQueues,
	} {
		if len(openshift().sources(Want{Kinds: []cluster.Kind{kind}})) == 0 {
			t.Errorf("%s has no source", kind)
		}
	}
}

func TestParseDiscovery(t *testing.T) {
	for name, test := range map[string]struct {
		body    string
		want    api
		refused bool
	}{
		"all groups with their resources": {`{
			"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
			{"metadata":{"name":"apps","creationTimestamp":null},"versions":[{"version":"v1","resources":[
				{"resource":"statefulsets","responseKind":{"group":"","version":"","kind":"StatefulSet"},
				"scope":"Namespaced","verbs":["list"]}],"freshness":"Current"}]},
			{"metadata":{"name":"down.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]}`,
			api{"apps": {{"v1", []string{"statefulsets"}}}, "down.example.com": {{"v1", nil}}}, false},
		"an old server names its groups": {`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps",` +
			`"versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1",` +
			`"version":"v1"}}]}`,
			api{"apps": {{"v1", nil}}}, false},
		"a login page":     {"<html>", nil, true},
		"some other JSON":  {`{"status":"ok"}`, nil, true},
		"a server without": {`{"kind":"APIGroupList","groups":[]}`, api{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseDiscovery([]byte(test.body))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(apiVersion{})); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != test.refused {
				t.Errorf("error %v, want one: %v", err, test.refused)
			}
		})
	}
	if _, ok := (api{"apps": {{"v1", nil}}}).find("apps", "statefulsets", "v1"); !ok {
		t.Error("a server that does not say what it serves is asked for it")
	}
	if _, ok := openshift().find("apps", "jobsets", "v1"); ok {
		t.Error("found a resource that the server does not name")
	}
}

// What this package decodes by types of its own must come in JSON.
func TestAccept(t *testing.T) {
	const both = "application/vnd.kubernetes.protobuf,application/json"
	for kind, want := range map[cluster.Kind]string{
		cluster.Nodes: both, cluster.Pods: both, cluster.Events: both, cluster.SCCs: "application/json",
		cluster.DRADevices: "application/json",
		cluster.Objects:    "application/json", cluster.MachineConfigs: "application/json",
		cluster.TrainJobs: "application/json",
	} {
		for _, s := range openshift().sources(Want{Kinds: []cluster.Kind{kind}}) {
			if s.codec.accept != want {
				t.Errorf("%s is asked for as %s, want %s", s.path, s.codec.accept, want)
			}
		}
	}
}

// everything serves all lists that are wanted.
func everything(w Want) api {
	a := api{cluster.SecurityGroup: {{"v1", []string{"securitycontextconstraints"}}}}
	for _, kind := range w.Kinds {
		for _, e := range endpointsOf(kind, w) {
			version := append(slices.Clone(e.versions), "v1")[0]
			if e.name == "" {
				e.name = string(kind)
			}
			a[e.group] = append(a[e.group], apiVersion{version, []string{e.name}})
		}
	}
	return a
}

// TestUsersMayRead holds the rights of users to the lists that the commands for jobs read.
func TestUsersMayRead(t *testing.T) {
	kinds := []cluster.Kind{
		cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks, cluster.SriovNetworks,
		cluster.SriovPolicies, cluster.SriovNodes, cluster.DRADevices, cluster.SCCs, cluster.SCCGrants, cluster.Events,
		cluster.Objects, cluster.JobObjects, cluster.Workloads, cluster.Namespaces, cluster.ServiceAccounts,
		cluster.Quotas, cluster.VolumeClaims, cluster.StorageClasses, cluster.ConfigMaps, cluster.TrainJobs, cluster.DeviceClasses, cluster.ResourceClaims,
		cluster.PriorityClasses, cluster.RuntimeClasses, cluster.LocalQueues,
	}
	everywhere := []cluster.Kind{cluster.Pods, cluster.ResourceClaims}
	for _, w := range []Want{
		{Kinds: kinds, Namespace: "train", Everywhere: everywhere},
		{Kinds: kinds, Namespace: "train", Job: "h-kim"},
	} {
		for _, s := range everything(w).sources(w) {
			resource, group, _ := strings.Cut(s.resource, ".")
			right := plan.Right{Verb: "list", Group: group, Resource: resource, Namespace: s.namespace}
			if s.name != "" {
				right.Verb, right.Namespace = "get", s.name
			}
			if !namespace.ForUsers(right) {
				t.Errorf("users may not %s", right)
			}
		}
	}
}
