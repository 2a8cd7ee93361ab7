package e2e_test

import (
	"fmt"
	"slices"
	"testing"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	securityv1 "github.com/openshift/api/security/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRollback: what setup cluster made goes, in one rollout, and nothing else.
func TestRollback(t *testing.T) {
	const ns = "leftover"
	setUp(t)
	u := engineer(t, "s-berg", ns)
	u.does(t, deploy("job", ns)...)
	a, c := admin(t, openShift), openShift.Client()
	before := versions(t)
	t.Run("shown", func(t *testing.T) {
		r := a.does(t, "setup", "rollback", "--dry-run=client").silent(t)
		r.says(t, "warn: scc/railhead-rdma: SCC railhead-rdma is still used in leftover", "Delete 2 MachineConfigs while pool worker is paused",
			"REBOOTS 13 nodes of pool worker, once each, 5 at a time", "Delete the security context constraint railhead-rdma")
		a.does(t, "setup", "rollback", "--dry-run=server").silent(t).says(t, "deleted MachineConfig "+iommuConfig+" (dry run)")
		a.ends(t, 2, "setup", "rollback").silent(t)
		u.ends(t, 1, "setup", "rollback", "--yes").silent(t).says(t, `delete machineconfigs.machineconfiguration.openshift.io "`+iommuConfig+`"`, "nothing was written: s-berg lacks the rights for")
		unchanged(t, before)
	})
	seen := watchNodes(t)
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "worker: all 13 nodes done", "deleted ClusterRole "+railheadRole)
	seen().eachOnce(t)
	settled(t)
	inHands(t, false)
	for _, gone := range []client.Object{
		&machineconfigv1.MachineConfig{ObjectMeta: meta("", iommuConfig)}, &machineconfigv1.MachineConfig{ObjectMeta: meta("", memlockConfig)},
		&securityv1.SecurityContextConstraints{ObjectMeta: meta("", railheadSCC)}, &rbacv1.ClusterRole{ObjectMeta: meta("", railheadRole)},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s: %v", gone, gone.GetName(), err)
		}
	}
	mc := rendered(t)
	if all := files(t, mc); len(mc.Spec.KernelArguments) > 0 || all["/etc/crio/crio.conf.d/50-site-limits"] == "" || all["/etc/crio/crio.conf.d/99-rdma-memlock.conf"] != "" {
		t.Errorf("kernel arguments %q, files %v", mc.Spec.KernelArguments, all)
	}
	t.Run("objects of others", func(t *testing.T) { others(t, before) })
	t.Run("a second time", func(t *testing.T) {
		before := versions(t)
		a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "Nothing to do: this is already done.")
		unchanged(t, before)
		a.does(t, "setup", "status").silent(t).says(t, "No pool has a MachineConfig of railhead; create them with 'railhead setup cluster'.")
	})
	t.Run("the namespace without the SCC", func(t *testing.T) {
		a.ends(t, 1, "setup", "namespace", "later", "--yes").silent(t).says(t, "there is no SCC railhead-rdma", "railhead setup cluster")
		eventually(t, "the job that was evicted runs again, under what everybody may use", func() error {
			for _, p := range podsOf(t, openShift, ns, "job") {
				if scc := p.Annotations["openshift.io/scc"]; scc != railheadSCC && scc != "restricted-v2" {
					return fmt.Errorf("%s was admitted by %q", p.Name, scc)
				}
			}
			if r := u.railhead(t, "status", "job", "-n", ns); r.code != 0 {
				return fmt.Errorf("%s%s", r.out, r.err)
			}
			return nil
		})
		u.ends(t, 1, deploy("locked", ns, "--memlock=ipc-lock", "--type=single", "--gpus=-1")...).silent(t).says(t, "nothing was written")
	})
}

// others wants everything that setup did not make as it was; the pool was paused and resumed.
func others(t *testing.T, before map[string]string) {
	after := versions(t)
	for _, own := range []string{
		"MachineConfigList /" + iommuConfig, "MachineConfigList /" + memlockConfig, "SecurityContextConstraintsList /" + railheadSCC,
		"ClusterRoleList /" + railheadRole, "MachineConfigPoolList /worker",
	} {
		delete(before, own)
		delete(after, own)
	}
	var changed []string
	for name, version := range before {
		if after[name] != version {
			changed = append(changed, name)
		}
	}
	if slices.Sort(changed); len(changed) > 0 {
		t.Errorf("changed: %q", changed)
	}
}
