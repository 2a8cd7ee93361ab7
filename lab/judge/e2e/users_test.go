package e2e_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestUsers: a group that has only the rights of `setup namespace --users` can do everything that jobs need. Without one
// of them, the commands say which right is missing and who gives it.
func TestUsers(t *testing.T) {
	const ns = "shared"
	setUp(t)
	forget(t, ns)
	a, c := admin(t, openShift), openShift.Client()
	setup := func(who string) result { return a.does(t, "setup", "namespace", ns, "--users", who, "--yes").silent(t) }
	setup("ml-team").says(t, "created Role railhead-users", "created ClusterRoleBinding railhead-users")
	cluster := &rbacv1.ClusterRole{ObjectMeta: meta("", "railhead-users")}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "railhead-users")}
	remove(t, c, cluster, binding)
	setup("ml-team").says(t, "Nothing to do")
	setup("user:other").says(t, "configured RoleBinding railhead-users", "configured ClusterRoleBinding railhead-users")
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " waits\n" }, "gpu-0", "gpu-1")

	u := as(t, openShift, "m-user", "ml-team")
	whole := func(r result) result {
		t.Helper()
		for _, text := range []string{"could not be read", "forbidden", "may not"} {
			if strings.Contains(r.out+r.err, text) {
				t.Errorf("it says %q:\n%s\n%s", text, r.out, r.err)
			}
		}
		return r
	}
	whole(u.does(t, "inventory", "-n", ns)).prints(t, "gpu-0", "eno5np0")
	whole(u.does(t, deploy("job", ns)...))
	whole(u.does(t, "status", "job", "-n", ns)).prints(t, "job-0", "job-1")
	whole(u.does(t, "launch", "job", "-n", ns, "--", "sh", "-c", "echo rank $NODE_RANK")).prints(t, "[1] rank 1")
	whole(u.does(t, "launch", "job", "-n", ns, "--detach", "--", "sleep", "3600"))
	whole(u.does(t, "launch", "job", "-n", ns, "--stop"))
	whole(u.does(t, "logs", "job", "-n", ns)).prints(t, "[0] job-0 waits")
	whole(u.railhead(t, "doctor", "job", "-n", ns))
	whole(u.does(t, "delete", "job", "-n", ns, "--yes"))
	u.ends(t, 1, "setup", "namespace", ns, "--users", "user:m-user", "--yes").silent(t).says(t, "forbidden: ")

	const fix = "railhead setup namespace shared --users user:m-user"
	t.Run("without nodes", func(t *testing.T) {
		get(t, c, cluster)
		cluster.Rules[0].Resources = []string{"pods"}
		if err := c.Update(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the right is gone", func() error {
			r := u.railhead(t, "inventory", "-n", ns)
			return unless(strings.Contains(r.out+r.err, fix), r.out+r.err)
		})
		u.railhead(t, deploy("job", ns)...).says(t, `User "m-user" cannot list resource "nodes"`, fix)
	})
	t.Run("without exec", func(t *testing.T) {
		if err := c.Delete(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		setup("ml-team").says(t, "created ClusterRole railhead-users")
		role := get(t, c, &rbacv1.Role{ObjectMeta: meta(ns, "railhead-users")})
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, "pods/exec")
		})
		if err := c.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the nodes are read again", func() error {
			r := u.railhead(t, deploy("job", ns)...)
			return unless(r.code == 0, r.err)
		})
		u.ends(t, 1, "launch", "job", "-n", ns, "--", "true").says(t, `m-user may not create pods/exec "job-0"`, fix)
	})
}

// unless returns what was seen if something does not hold.
func unless(holds bool, seen string) error {
	if holds {
		return nil
	}
	return errors.New(seen)
}
