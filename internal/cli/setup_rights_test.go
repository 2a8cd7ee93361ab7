package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// refusesLists answers like an OpenShift cluster that denies user nobody everything.
func refusesLists(w http.ResponseWriter, r *http.Request) {
	right, checked := rightOf(r)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/apis":
		fmt.Fprint(w, discovery())
	case !checked:
		fmt.Fprint(w, `{"gitVersion":"v1.34.0","major":"1","minor":"34","status":{"allowed":false,"resourceRules":[]}}`)
	default:
		message := fmt.Sprintf(`%s is forbidden: User "nobody" cannot %s resource "%s" in API group "%s" at the cluster scope`,
			right.Resource, right.Verb, right.Resource, right.Group)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":%q}`,
			message)
	}
}

// TestSetupWithoutRights: a user without the rights of setup commands is told the roles of administrators, never those
// of users.
func TestSetupWithoutRights(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(refusesLists))
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, line := range []string{
		"setup cluster --yes", "setup namespace train --yes", "setup webhook --image=x --yes",
		"setup metrics --image=x --yes", "setup rollback --yes", "setup rollback namespace train --yes",
	} {
		t.Run(line, func(t *testing.T) {
			a := run(append(strings.Fields(line), "--server="+server.URL)...)
			if a.code != 1 {
				t.Errorf("exit %d", a.code)
			}
			for _, want := range []string{
				"kubectl apply -f docs/rights/reader.yaml -f docs/rights/administrator.yaml",
				"--clusterrole railhead-reader --user nobody", "--clusterrole railhead-administrator --user nobody",
				"nothing was written",
			} {
				if !strings.Contains(a.err, want) {
					t.Errorf("it does not say %q:\n%s", want, a.err)
				}
			}
			for _, wrong := range []string{"--users", "objects could not be read"} {
				if strings.Contains(a.err, wrong) {
					t.Errorf("it says %q:\n%s", wrong, a.err)
				}
			}
		})
	}
	a := run("setup", "namespace", "train", "--yes", "--server="+server.URL)
	const roles = " parts of this plan; a cluster administrator can apply it, or grant them with the ClusterRoles " +
		"railhead-reader and railhead-administrator (docs/rights.md, Administrators)"
	if !strings.Contains(a.err, "this user lacks the rights for ") || !strings.Contains(a.err, roles) {
		t.Errorf("it does not say %q:\n%s", roles, a.err)
	}
	if a := run("inventory", "--server="+server.URL); !strings.Contains(a.out+a.err, "--users user:nobody") {
		t.Errorf("inventory does not name the roles of users:\n%s%s", a.out, a.err)
	}
}
