package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
)

// TestSetupShows: a plan is printed, judged and refused without anything being written.
func TestSetupShows(t *testing.T) {
	takenBack(t)
	a := admin(t, openShift)
	before := versions(t)
	t.Run("dry run of the client", func(t *testing.T) {
		r := a.does(t, "setup", "cluster", "--dry-run=client").silent(t)
		r.says(t, "Plan: Set up the cluster for RDMA", "apply  SecurityContextConstraints railhead-rdma", "apply  MachineConfig "+iommuConfig,
			"apply  MachineConfig "+memlockConfig, "merge  MachineConfigPool worker",
			"REBOOTS 13 nodes of pool worker, once each, 5 at a time: cpu-00", "30 min to 45 min",
			"keeps nofile=65536:65536 from /etc/crio/crio.conf.d/50-site-limits (MachineConfig 50-worker-site-limits)")
		unchanged(t, before)
	})
	t.Run("dry run of the server", func(t *testing.T) {
		r := a.does(t, "setup", "cluster", "--dry-run=server").silent(t)
		r.says(t, "created SecurityContextConstraints railhead-rdma", "configured MachineConfigPool worker", "created MachineConfig "+iommuConfig)
		unchanged(t, before)
	})
	t.Run("no terminal and no --yes", func(t *testing.T) {
		a.ends(t, 2, "setup", "cluster").silent(t).says(t, "no terminal to ask for confirmation", "--yes", "--dry-run=client")
		unchanged(t, before)
	})
	t.Run("asked, and answered with no", func(t *testing.T) {
		b := a
		b.terminal, b.stdin = true, "n\n"
		b.ends(t, 1, "setup", "cluster").silent(t).says(t, "Apply this plan? [y/N]", "not confirmed: nothing was written")
		unchanged(t, before)
	})
	t.Run("manifests", func(t *testing.T) {
		r := a.does(t, "setup", "cluster", "-o", "yaml")
		all := documents(t, r.out)
		var names []string
		for _, o := range all {
			names = append(names, o.GetKind()+" "+o.GetName())
		}
		want := []string{
			"SecurityContextConstraints " + railheadSCC, "ClusterRole " + railheadRole, "MachineConfig " + iommuConfig, "MachineConfig " + memlockConfig,
		}
		if !slices.Equal(names, want) {
			t.Errorf("objects %q, want %q", names, want)
		}
		accepted(t, openShift.Client(), all)
		unchanged(t, before)
	})
}

// TestSetupForbidden: rights are asked for before anything is written.
func TestSetupForbidden(t *testing.T) {
	takenBack(t)
	before := versions(t)
	t.Run("may read all and write nothing", func(t *testing.T) {
		readsAll(t, openShift, "reader")
		before := versions(t)
		as(t, openShift, "reader").ends(t, 1, "setup", "cluster", "--yes").silent(t).says(t,
			"create securitycontextconstraints.security.openshift.io", "patch machineconfigpools.machineconfiguration.openshift.io",
			"create machineconfigs.machineconfiguration.openshift.io", "create clusterroles.rbac.authorization.k8s.io",
			"nothing was written: reader lacks the rights for", "a cluster administrator can")
		unchanged(t, before)
	})
	t.Run("may do nothing", func(t *testing.T) {
		as(t, openShift, "nobody").ends(t, 1, "setup", "cluster", "--yes").silent(t).says(t,
			`User "nobody" cannot list resource "machineconfigs"`, "nothing was written", "--clusterrole railhead-administrator --user nobody")
		unchanged(t, before)
	})
	t.Run("may do all but the machine configs", func(t *testing.T) {
		readsAll(t, openShift, "security")
		role := &rbacv1.ClusterRole{ObjectMeta: meta("", "e2e-security"), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"security.openshift.io", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"},
		}}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta("", "e2e-security"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "security"}},
		}
		create(t, openShift.Client(), role, binding)
		remove(t, openShift.Client(), role, binding)
		before := versions(t)
		r := as(t, openShift, "security").ends(t, 1, "setup", "cluster", "--yes").silent(t)
		r.says(t, "create machineconfigs.machineconfiguration.openshift.io", "nothing was written")
		if strings.Contains(r.err, "forbidden: create securitycontextconstraints") {
			t.Errorf("complains of a right that is there:\n%s", r.err)
		}
		unchanged(t, before)
	})
}

// TestSetupRefuses: a pool in which a rollout could not be begun or followed is left alone.
func TestSetupRefuses(t *testing.T) {
	takenBack(t)
	a, c := admin(t, openShift), openShift.Client()
	refused := func(t *testing.T, texts ...string) {
		t.Helper()
		before := versions(t)
		a.ends(t, 1, "setup", "cluster", "--yes").silent(t).says(t, append(texts, "nothing was written")...)
		unchanged(t, before)
	}
	t.Run("paused by somebody else", func(t *testing.T) {
		patchWorkers(t, func(p *machineconfigv1.MachineConfigPool) { p.Spec.Paused = true })
		refused(t, "pool worker is paused, and not by Railhead", "oc patch machineconfigpool worker")
		patchWorkers(t, func(p *machineconfigv1.MachineConfigPool) { p.Spec.Paused = false })
		settled(t)
	})
	t.Run("degraded", func(t *testing.T) {
		mc := machineConfig("99-worker-from-the-future", "9.9.9")
		create(t, c, mc)
		eventually(t, "the pool is degraded", func() error {
			if s := conditionOf(t, machineconfigv1.MachineConfigPoolRenderDegraded); s != corev1.ConditionTrue {
				return fmt.Errorf("RenderDegraded is %s", s)
			}
			return nil
		})
		refused(t, "pool worker is degraded (RenderDegraded)", "unknown version", "oc describe machineconfigpool worker")
		if err := c.Delete(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		settled(t)
	})
	t.Run("another rollout", func(t *testing.T) {
		rolling(t, "99-worker-other", func() {
			refused(t, "another rollout of pool worker is running: 0 of 13 nodes have rendered-worker-", "oc wait machineconfigpool/worker")
		})
	})
	settled(t)
	t.Run("a pool that is not there", func(t *testing.T) {
		before := versions(t)
		a.ends(t, 1, "setup", "cluster", "--yes", "--pool", "gpus").silent(t).says(t, "there is no machine config pool gpus: the cluster has master and worker")
		unchanged(t, before)
	})
	t.Run("an SCC of its name that is somebody else's", func(t *testing.T) {
		scc := openshift.StandardSCCs()[0]
		scc.Name = railheadSCC
		create(t, c, scc)
		refused(t, "SCC railhead-rdma exists and was not created by Railhead")
		if err := c.Delete(t.Context(), scc); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSetupKeeps: MachineConfigs of somebody else, of the names that setup would use, stay and count. Another one adds
// what they lack.
func TestSetupKeeps(t *testing.T) {
	takenBack(t)
	a, c := admin(t, openShift), openShift.Client()
	shows := func(arguments []string, texts ...string) {
		t.Helper()
		mc := machineConfig(iommuConfig, "3.4.0", arguments...)
		create(t, c, mc)
		settled(t)
		r := a.does(t, "setup", "cluster", "--dry-run=server").silent(t)
		r.says(t, append(texts, "created MachineConfig "+memlockConfig)...)
		if after := get(t, c, &machineconfigv1.MachineConfig{ObjectMeta: meta("", iommuConfig)}); after.UID != mc.UID {
			t.Errorf("%s was replaced", iommuConfig)
		}
		if err := c.Delete(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		settled(t)
	}
	shows([]string{"iommu=pt"}, "Pool worker already boots with passthrough, so intel_iommu=on is not added")
	shows([]string{"intel_iommu=on"}, "created MachineConfig "+iommuConfig+"-2 (dry run)")
}

func machineConfig(name, ignition string, kernelArguments ...string) *machineconfigv1.MachineConfig {
	mc := siteLimits()
	mc.Name = name
	mc.Spec = machineconfigv1.MachineConfigSpec{
		KernelArguments: kernelArguments,
		Config:          runtime.RawExtension{Raw: fmt.Appendf(nil, `{"ignition":{"version":%q}}`, ignition)},
	}
	return mc
}

func conditionOf(t *testing.T, kind machineconfigv1.MachineConfigPoolConditionType) corev1.ConditionStatus {
	t.Helper()
	for _, c := range workers(t).Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// rolling runs something while a rollout of the worker pool has begun and cannot take its first node: all that may be
// away at once are cordoned.
func rolling(t *testing.T, name string, run func()) {
	t.Helper()
	c := openShift.Client()
	for i := range atOnce {
		cordoned(t, fmt.Sprintf("cpu-%02d", i))
	}
	mc := machineConfig(name, "3.4.0", "panic=30")
	create(t, c, mc)
	eventually(t, "the rollout has begun", func() error {
		if p := workers(t); p.Spec.Configuration.Name == p.Status.Configuration.Name {
			return fmt.Errorf("pool is at %s", p.Spec.Configuration.Name)
		}
		return nil
	})
	run()
	if err := c.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rollout is taken back", func() error {
		if p := workers(t); p.Spec.Configuration.Name != p.Status.Configuration.Name {
			return fmt.Errorf("pool is at %s", p.Spec.Configuration.Name)
		}
		return nil
	})
}

// TestSetupCluster: every node reboots once, and has what RDMA needs; a second run has nothing to do.
func TestSetupCluster(t *testing.T) {
	takenBack(t)
	a, c := admin(t, openShift), openShift.Client()
	before := versions(t)
	seen := watchNodes(t)
	r := a.does(t, "setup", "cluster", "--yes").silent(t)
	r.says(t, "created SecurityContextConstraints railhead-rdma", "configured MachineConfigPool worker", "worker: all 13 nodes done")
	rollout := seen()
	rollout.eachOnce(t)
	if rollout.most < 2 || rollout.most > atOnce {
		t.Errorf("up to %d workers were away at once, allowed are %d", rollout.most, atOnce)
	}
	inHands(t, false)
	if most := workers(t).Spec.MaxUnavailable; most.IntValue() != atOnce {
		t.Errorf("maxUnavailable is %s", most)
	}
	t.Run("configuration", func(t *testing.T) {
		mc := rendered(t)
		for _, argument := range []string{"iommu=pt", "intel_iommu=on"} {
			if !slices.Contains(mc.Spec.KernelArguments, argument) {
				t.Errorf("kernel arguments %q", mc.Spec.KernelArguments)
			}
		}
		all := files(t, mc)
		wants(t, "the drop-in of CRI-O", all["/etc/crio/crio.conf.d/99-rdma-memlock.conf"], "memlock=-1:-1", "nofile=65536:65536")
		wants(t, "the drop-in of the site", all["/etc/crio/crio.conf.d/50-site-limits"], `default_ulimits = ["nofile=65536:65536"]`)
	})
	t.Run("least privilege", func(t *testing.T) {
		scc := get(t, c, &securityv1.SecurityContextConstraints{ObjectMeta: meta("", railheadSCC)})
		if scc.AllowPrivilegedContainer || scc.AllowHostNetwork || scc.AllowHostDirVolumePlugin || len(scc.AllowedCapabilities) > 0 ||
			!slices.Contains(scc.Volumes, securityv1.FSTypeDownwardAPI) || len(scc.Users)+len(scc.Groups) > 0 {
			t.Errorf("SCC %v", scc)
		}
	})
	t.Run("objects of others", func(t *testing.T) {
		after := versions(t)
		for _, own := range []string{
			"SecurityContextConstraintsList /" + railheadSCC, "ClusterRoleList /" + railheadRole,
			"MachineConfigList /" + iommuConfig, "MachineConfigList /" + memlockConfig, "MachineConfigList /" + rendered(t).Name,
			"MachineConfigPoolList /worker",
		} {
			if after[own] == "" {
				t.Errorf("%s is not there", own)
			}
			delete(after, own)
			delete(before, own)
		}
		for name, version := range after {
			if before[name] != version {
				t.Errorf("%s was written", name)
			}
		}
	})
	t.Run("a second time", func(t *testing.T) {
		before, boots := versions(t), bootIDs(t)
		start := time.Now()
		a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "Nothing to do: this is already done.")
		t.Logf("an empty plan takes %s", time.Since(start).Round(time.Millisecond))
		unchanged(t, before)
		for name, id := range bootIDs(t) {
			if boots[name] != id {
				t.Errorf("%s rebooted", name)
			}
		}
	})
	t.Run("status", func(t *testing.T) {
		r := a.does(t, "setup", "status")
		r.prints(t, "POOL", "worker", "all 13 nodes done", iommuConfig+", "+memlockConfig, "gpu-0", "Done", "SCC railhead-rdma exists and is not used yet")
		a.does(t, "setup", "status", "--follow").silent(t).says(t, "worker: all 13 nodes done")
	})
}

// cordoned keeps pods off nodes until the test ends.
func cordoned(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Cleanup(func() {
			if err := patchNode(context.Background(), name, `{"spec":{"unschedulable":false}}`); err != nil {
				t.Error(err)
			}
		})
		if err := patchNode(t.Context(), name, `{"spec":{"unschedulable":true}}`); err != nil {
			t.Fatal(err)
		}
	}
}

func patchNode(ctx context.Context, name, patch string) error {
	node := &corev1.Node{ObjectMeta: meta("", name)}
	return openShift.Client().Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(patch)))
}
