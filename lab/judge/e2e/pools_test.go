package e2e_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/standin"
)

const (
	mco    = "machineconfiguration.openshift.io/"
	worker = "node-role.kubernetes.io/worker"
)

// What setup cluster makes for the pool worker, and the SCC with its role.
const (
	iommuConfig   = "99-worker-iommu-passthrough"
	memlockConfig = "99-worker-rdma-memlock"
	railheadSCC   = "railhead-rdma"
	railheadRole  = "system:openshift:scc:railhead-rdma"
)

func workers(t *testing.T) *machineconfigv1.MachineConfigPool {
	t.Helper()
	return get(t, openShift.Client(), &machineconfigv1.MachineConfigPool{ObjectMeta: meta("", "worker")})
}

// patchWorkers changes the worker pool as somebody else.
func patchWorkers(t *testing.T, change func(*machineconfigv1.MachineConfigPool)) {
	t.Helper()
	pool := workers(t)
	before := pool.DeepCopy()
	change(pool)
	if err := openShift.Client().Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// settled waits until the worker pool has nothing left to do.
func settled(t *testing.T) {
	t.Helper()
	if err := openShift.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pool worker is updated and not degraded", func() error {
		for _, c := range workers(t).Status.Conditions {
			if want := c.Type == machineconfigv1.MachineConfigPoolUpdated; (c.Status == corev1.ConditionTrue) != want &&
				slices.Contains(telling(), c.Type) {
				return fmt.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
			}
		}
		return nil
	})
}

// telling are the conditions of a pool by which it is seen to rest.
func telling() []machineconfigv1.MachineConfigPoolConditionType {
	return []machineconfigv1.MachineConfigPoolConditionType{
		machineconfigv1.MachineConfigPoolUpdated, machineconfigv1.MachineConfigPoolUpdating, machineconfigv1.MachineConfigPoolDegraded,
		machineconfigv1.MachineConfigPoolRenderDegraded, machineconfigv1.MachineConfigPoolNodeDegraded,
	}
}

// setUp brings the cluster to where setup has been done.
func setUp(t *testing.T) {
	t.Helper()
	admin(t, openShift).does(t, "setup", "cluster", "--yes")
}

// takenBack brings the cluster to where setup has not been done.
func takenBack(t *testing.T) {
	t.Helper()
	admin(t, openShift).does(t, "setup", "rollback", "--yes")
	settled(t)
}

// inHands wants the pool to be paused by setup, or not to be in its hands at all.
func inHands(t *testing.T, want bool) {
	t.Helper()
	pool := workers(t)
	var marks []string
	for key := range pool.Annotations {
		if strings.HasPrefix(key, "railhead.dev/") {
			marks = append(marks, key)
		}
	}
	if pool.Spec.Paused != want || (len(marks) > 0) != want {
		t.Errorf("pool worker: paused %v, annotations of railhead %v", pool.Spec.Paused, marks)
	}
}

// versions are the versions of all objects that setup could have written to, for the whole cluster and in the
// namespaces.
func versions(t *testing.T, namespaces ...string) map[string]string {
	t.Helper()
	c, all := openShift.Client(), map[string]string{}
	for _, list := range []client.ObjectList{
		&machineconfigv1.MachineConfigList{}, &machineconfigv1.MachineConfigPoolList{}, &securityv1.SecurityContextConstraintsList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, sriovList("SriovNetwork"), sriovList("SriovNetworkNodePolicy"),
	} {
		maps.Copy(all, versionsOf(t, c, list))
	}
	for _, ns := range namespaces {
		for _, list := range []client.ObjectList{&rbacv1.RoleBindingList{}, &corev1.ServiceAccountList{}, &networksv1.NetworkAttachmentDefinitionList{}} {
			maps.Copy(all, versionsOf(t, c, list, client.InNamespace(ns)))
		}
		maps.Copy(all, versionsOf(t, c, &corev1.NamespaceList{}, client.MatchingFields{"metadata.name": ns}))
	}
	return all
}

// unchanged wants all objects as they were.
func unchanged(t *testing.T, before map[string]string, namespaces ...string) {
	t.Helper()
	after := versions(t, namespaces...)
	for name, version := range after {
		if was, there := before[name]; !there {
			t.Errorf("%s was made", name)
		} else if was != version {
			t.Errorf("%s was written", name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s was deleted", name)
		}
	}
}

// rendered is the pool's configuration.
func rendered(t *testing.T) *machineconfigv1.MachineConfig {
	t.Helper()
	return get(t, openShift.Client(), &machineconfigv1.MachineConfig{ObjectMeta: meta("", workers(t).Spec.Configuration.Name)})
}

// files are the files of a configuration, by path.
func files(t *testing.T, mc *machineconfigv1.MachineConfig) map[string]string {
	t.Helper()
	var ignition struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := yaml.Unmarshal(mc.Spec.Config.Raw, &ignition); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range ignition.Storage.Files {
		all[f.Path] = content(t, f.Contents.Source)
	}
	return all
}

// content decodes a data: URL.
func content(t *testing.T, source string) string {
	t.Helper()
	kind, data, _ := strings.Cut(strings.TrimPrefix(source, "data:"), ",")
	if strings.HasSuffix(kind, ";base64") {
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text, err := url.PathUnescape(data)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rollout counts the reboots of the workers.
type rollout struct {
	boots map[string]int // node -> how often its daemon ordered a reboot
	most  int            // workers that were away at once
}

// watchNodes watches the nodes until the returned function is called.
func watchNodes(t *testing.T) (seen func() rollout) {
	t.Helper()
	c, err := client.NewWithWatch(openShift.Admin(), client.Options{Scheme: scheme.New()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w, err := c.Watch(ctx, &corev1.NodeList{})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan rollout, 1)
	go func() {
		r, down, gone := rollout{boots: map[string]int{}}, map[string]bool{}, map[string]bool{}
		for e := range w.ResultChan() {
			n, ok := e.Object.(*corev1.Node)
			if !ok {
				continue
			}
			rebooting := n.Annotations[standin.PostConfigAction] == standin.Rebooting
			if rebooting && !down[n.Name] {
				r.boots[n.Name]++
			}
			down[n.Name] = rebooting
			if _, works := n.Labels[worker]; works {
				gone[n.Name] = n.Spec.Unschedulable || n.Annotations[mco+"currentConfig"] != n.Annotations[mco+"desiredConfig"]
			}
			now := 0
			for _, away := range gone {
				if away {
					now++
				}
			}
			r.most = max(r.most, now)
		}
		result <- r
	}()
	return func() rollout { stop(); w.Stop(); return <-result }
}

// bootIDs are the boot ids of all nodes.
func bootIDs(t *testing.T) map[string]string {
	t.Helper()
	var nodes corev1.NodeList
	if err := openShift.Client().List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, n := range nodes.Items {
		ids[n.Name] = n.Status.NodeInfo.BootID
	}
	return ids
}

// eachOnce wants every worker to have rebooted once, and no other node at all.
func (r rollout) eachOnce(t *testing.T) {
	t.Helper()
	want := map[string]int{}
	for name := range bootIDs(t) {
		if !strings.HasPrefix(name, "master-") {
			want[name] = 1
		}
	}
	if !maps.Equal(r.boots, want) {
		t.Errorf("reboots %v, want %v", r.boots, want)
	}
}
