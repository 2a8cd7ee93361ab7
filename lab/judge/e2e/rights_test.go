package e2e_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPublishedRights: users with the roles of docs/rights alone can do what docs/rights.md says.
func TestPublishedRights(t *testing.T) {
	const ns = "rights"
	setUp(t)
	forget(t, ns)
	bindings := map[string][]string{
		"on-call": publishedRoles(t, "reader.yaml")[:1], // without the role to enter pods
		"h-park":  append(publishedRoles(t, "administrator.yaml"), "railhead-reader"),
	}
	for who, roles := range bindings {
		for _, role := range roles {
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta("", who+"-"+role),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who}},
			}
			create(t, openShift.Client(), binding)
			remove(t, openShift.Client(), binding)
		}
	}
	administrator, reader := as(t, openShift, "h-park"), as(t, openShift, "on-call")
	eventually(t, "the rights are there", func() error {
		r := administrator.railhead(t, "setup", "namespace", ns, "--users", "ml-team", "--yes")
		return unless(r.code == 0, r.out+r.err)
	})
	rbac := &rbacv1.ClusterRole{ObjectMeta: meta("", "railhead-users")}
	remove(t, openShift.Client(), rbac, &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "railhead-users")})

	for _, line := range []string{"inventory", "inventory -n " + ns, "doctor --cluster", "doctor -n " + ns, "setup status"} {
		r := reader.railhead(t, strings.Fields(line)...)
		for _, text := range []string{"could not be read", "forbidden", "may not"} {
			if strings.Contains(r.out+r.err, text) {
				t.Errorf("%s says %q to a reader:\n%s%s", line, text, r.out, r.err)
			}
		}
		if r.code != 0 && r.code != 1 {
			t.Errorf("%s ends with %d for a reader", line, r.code)
		}
	}
	reader.ends(t, 1, "setup", "namespace", ns, "--users", "user:on-call", "--yes").says(t, "forbidden: ")
	administrator.does(t, "setup", "rollback", "namespace", ns, "--yes")
}

// publishedRoles creates the roles of a file in docs/rights and returns their names, in its order.
func publishedRoles(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open("../../../docs/rights/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for objects := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var role rbacv1.ClusterRole
		if err := objects.Decode(&role); errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		var object client.Object = &role
		create(t, openShift.Client(), object)
		remove(t, openShift.Client(), object)
		names = append(names, role.Name)
	}
}
