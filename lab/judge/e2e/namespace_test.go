package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forget takes away what setup namespace makes outside of its namespace, and the namespace, when the test ends.
func forget(t *testing.T, name string) {
	t.Helper()
	remove(t, openShift.Client(), &corev1.Namespace{ObjectMeta: meta("", name)})
	for _, rail := range railNames() {
		remove(t, openShift.Client(), sriovObject("SriovNetwork", name+"-"+rail))
	}
}

// railNames are the names of the rails' PFs.
func railNames() []string { return []string{"eno5np0", "eno6np0", "eno7np0", "eno8np0"} }

// trains makes a namespace ready for the user's jobs.
func trains(t *testing.T, name string, users ...string) {
	t.Helper()
	forget(t, name)
	admin(t, openShift).does(t, "setup", "namespace", name, "--yes").silent(t)
	administers(t, openShift, name, users...)
	eventually(t, "namespace "+name+" has the account that pods run under by default", func() error {
		account := client.ObjectKey{Namespace: name, Name: "default"}
		return openShift.Client().Get(t.Context(), account, &corev1.ServiceAccount{})
	})
}

// TestNamespace: a namespace gets an account, its right to the SCC there alone, and a rail for each NIC.
func TestNamespace(t *testing.T) {
	const ns = "team-a"
	setUp(t)
	forget(t, ns)
	a, c := admin(t, openShift), openShift.Client()
	bindings := versionsOf(t, c, &rbacv1.ClusterRoleBindingList{})
	before := versions(t, ns)
	t.Run("dry runs", func(t *testing.T) {
		a.does(t, "setup", "namespace", ns, "--dry-run=client").silent(t).says(t, "apply  RoleBinding team-a/railhead-sa-scc-railhead-rdma", "Rails of namespace team-a: team-a-eno5np0 (openshift.io/eno5np0rdma, 2 nodes)")
		a.does(t, "setup", "namespace", ns, "--dry-run=server").silent(t).says(t, "created Namespace team-a (dry run)", "created SriovNetwork team-a-eno8np0 (dry run)",
			"Skipped, because its namespace does not exist yet: ServiceAccount railhead-sa")
		a.ends(t, 2, "setup", "namespace", ns).silent(t)
		unchanged(t, before, ns)
	})
	r := a.does(t, "setup", "namespace", ns, "--yes").silent(t)
	r.says(t, "4 of 4 attachments of namespace team-a created")
	get(t, c, &corev1.ServiceAccount{ObjectMeta: meta(ns, "railhead-sa")})
	binding := get(t, c, &rbacv1.RoleBinding{ObjectMeta: meta(ns, "railhead-sa-scc-railhead-rdma")})
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: "railhead-sa", Namespace: ns}
	if binding.RoleRef.Name != railheadRole || !slices.Equal(binding.Subjects, []rbacv1.Subject{subject}) {
		t.Errorf("binding %v to %v", binding.Subjects, binding.RoleRef)
	}
	for _, rail := range railNames() {
		network := get(t, c, &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(ns, ns+"-"+rail)})
		if got := network.Annotations["k8s.v1.cni.cncf.io/resourceName"]; got != "openshift.io/"+rail+"rdma" {
			t.Errorf("%s has resource %q", network.Name, got)
		}
	}
	if after := versionsOf(t, c, &rbacv1.ClusterRoleBindingList{}); len(after) != len(bindings) {
		t.Errorf("ClusterRoleBindings %v, before %v", after, bindings)
	}
	t.Run("a second time", func(t *testing.T) {
		before := versions(t, ns)
		a.does(t, "setup", "namespace", ns, "--yes").silent(t).says(t, "Nothing to do", "may already use SCC railhead-rdma, through RoleBinding/railhead-sa-scc-railhead-rdma")
		unchanged(t, before, ns)
	})
	t.Run("for another job", func(t *testing.T) {
		a.does(t, "setup", "namespace", ns, "--name", "h-kim", "--yes").silent(t).says(t, "created ServiceAccount h-kim-sa", "created RoleBinding h-kim-sa-scc-railhead-rdma")
	})
	t.Run("status names who may use the SCC", func(t *testing.T) {
		a.does(t, "setup", "status").prints(t, "SCC railhead-rdma exists and is used by ", "ServiceAccount/team-a/h-kim-sa", "ServiceAccount/team-a/railhead-sa")
	})
	t.Run("a name that is none", func(t *testing.T) {
		a.ends(t, 1, "setup", "namespace", "Team_B", "--yes").silent(t).says(t, `NAMESPACE is "Team_B", but must be a DNS label`)
	})
	t.Run("being deleted", func(t *testing.T) {
		terminating(t, "leaving")
		a.ends(t, 1, "setup", "namespace", "leaving", "--yes").silent(t).says(t, "namespace leaving is being deleted", "nothing was written")
	})
	t.Run("by its own administrator", func(t *testing.T) {
		namespace(t, openShift, "team-c", "c-lead")
		readsAll(t, openShift, "c-lead")
		u := as(t, openShift, "c-lead")
		u.ends(t, 1, "setup", "namespace", "team-c", "--yes").silent(t).says(t, "forbidden: create sriovnetworks.sriovnetwork.openshift.io in namespace openshift-sriov-network-operator",
			"nothing was written: c-lead lacks the rights for", "a cluster administrator can")
		r := u.ends(t, 1, "setup", "namespace", "team-c", "--networks-from", "default", "--yes").silent(t)
		r.says(t, "nothing was written", "is attempting to grant RBAC permissions not currently held", "let a cluster administrator run this")
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "team-c", Name: "railhead-sa"}, &corev1.ServiceAccount{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the account was made: %v", err)
		}
	})
	t.Run("taken back", func(t *testing.T) { a.takesNamespaceBack(t, ns) })
}

// takesNamespaceBack deletes what setup made of a namespace, and no more, when no job uses it any more.
func (u user) takesNamespaceBack(t *testing.T, ns string) {
	t.Helper()
	u.does(t, deploy("held", ns, "--nodes=1", "--no-wait")...).silent(t)
	u.ends(t, 1, "setup", "rollback", "namespace", ns, "--yes").silent(t).
		says(t, "namespace team-a is in use by ", " held", "nothing was written")
	u.does(t, "delete", "held", "-n", ns, "--yes").silent(t)
	eventually(t, "the pod is gone", func() error {
		if left := podsOf(t, openShift, ns, "held"); len(left) > 0 {
			return fmt.Errorf("%s is there", left[0].Name)
		}
		return nil
	})
	u.does(t, "setup", "rollback", "namespace", ns, "--yes").silent(t).
		says(t, "deleted SriovNetwork team-a-eno8np0", "deleted RoleBinding h-kim-sa-scc-railhead-rdma",
			"deleted ServiceAccount railhead-sa", "Namespace team-a stays")
	var accounts corev1.ServiceAccountList
	if err := openShift.Client().List(t.Context(), &accounts, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, a := range accounts.Items {
		if a.Name != "default" {
			t.Errorf("account %s is left", a.Name)
		}
	}
	u.does(t, "setup", "rollback", "namespace", ns, "--yes").says(t, "Nothing to do")
}

// terminating makes a namespace that stays on its way out until the test ends.
func terminating(t *testing.T, name string) {
	t.Helper()
	c := openShift.Client()
	ns := &corev1.Namespace{ObjectMeta: meta("", name)}
	create(t, c, ns)
	stays := &corev1.ConfigMap{ObjectMeta: meta(name, "stays")}
	stays.Finalizers = []string{"example.invalid/stays"}
	create(t, c, stays)
	if err := c.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		before := stays.DeepCopy()
		stays.Finalizers = nil
		if err := c.Patch(t.Context(), stays, client.MergeFrom(before)); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
}

// TestNetworksFrom: the attachments of another namespace are copied without what ties them to it.
func TestNetworksFrom(t *testing.T) {
	const ns = "copies"
	setUp(t)
	forget(t, ns)
	a, c := admin(t, openShift), openShift.Client()
	a.does(t, "setup", "namespace", ns, "--networks-from", "default", "--yes").silent(t).says(t, "created NetworkAttachmentDefinition eno5np0")
	for _, rail := range railNames() {
		from := get(t, c, &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta("default", rail)})
		to := get(t, c, &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(ns, rail)})
		const resource = "k8s.v1.cni.cncf.io/resourceName"
		if to.Spec.Config != from.Spec.Config || to.Annotations[resource] != from.Annotations[resource] || len(to.OwnerReferences) > 0 || len(to.Annotations) != 1 {
			t.Errorf("%s: annotations %v, owners %v, config %s, from %s", rail, to.Annotations, to.OwnerReferences, to.Spec.Config, from.Spec.Config)
		}
	}
	before := versions(t, ns)
	a.does(t, "setup", "namespace", ns, "--networks-from", "default", "--yes").says(t, "Nothing to do")
	unchanged(t, before, ns)
	a.ends(t, 1, "setup", "namespace", ns, "--networks-from", "nowhere", "--yes").silent(t).says(t, "namespace nowhere has no rail", "railhead setup namespace copies --networks-from default")
}

// TestRailAddresses: each rail gets a subnet of its own. In one for all the plugin tuning keeps the rails from
// answering for each other; OpenShift refuses that, unless another network shows that an administrator has allowed it.
func TestRailAddresses(t *testing.T) {
	const one = `{"type":"whereabouts","range":"10.103.0.0/16"}`
	setUp(t)
	a, c := admin(t, openShift), openShift.Client()
	for flag, why := range map[string]string{
		"--ipam=nonsense": "is not a JSON object", "--rail-subnets=10.0.0.0/8,10.2.0.0/16": "overlap",
	} {
		a.ends(t, 2, "setup", "namespace", "addressed", flag, "--yes").silent(t).says(t, why)
	}
	a.ends(t, 1, "setup", "namespace", "addressed", "--ipam="+one, "--yes").silent(t).
		says(t, "may not set arp_ignore on OpenShift", "--rail-subnets")
	allowed := sriovObject("SriovNetwork", "allowed")
	allowed.Object["spec"] = map[string]any{
		"resourceName": "elsewhere", "networkNamespace": "default",
		"metaPlugins": `{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_ignore":"1"}}`,
	}
	create(t, c, allowed)
	remove(t, c, allowed)
	for ns, test := range map[string]struct {
		flag, says  string
		first, last string // range of the first and of the last rail
		tuned       bool
	}{
		"cut": {
			"--rail-subnets=10.103.0.0/16", "created SriovNetwork cut-eno5np0",
			`"range":"10.103.0.0/18"`, `"range":"10.103.192.0/18"`, false,
		},
		"listed": {
			"--rail-subnets=10.1.0.0/24,10.2.0.0/24,10.3.0.0/24,10.4.0.0/24", "created SriovNetwork listed-eno5np0",
			`"range":"10.1.0.0/24"`, `"range":"10.4.0.0/24"`, false,
		},
		"one": {
			"--ipam=" + one, "All rails are in the subnet of --ipam.",
			`"range":"10.103.0.0/16"`, `"range":"10.103.0.0/16"`, true,
		},
	} {
		t.Run(ns, func(t *testing.T) {
			forget(t, ns)
			a.does(t, "setup", "namespace", ns, test.flag, "--yes").silent(t).says(t, test.says)
			compact := strings.NewReplacer(" ", "", "\n", "", "\t", "")
			for rail, want := range map[string]string{"eno5np0": test.first, "eno8np0": test.last} {
				network := &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(ns, ns+"-"+rail)}
				config := compact.Replace(get(t, c, network).Spec.Config)
				tuned := strings.Contains(config, "arp_ignore") && strings.Contains(config, "arp_announce")
				if !strings.Contains(config, want) || tuned != test.tuned {
					t.Errorf("%s: %s", rail, config)
				}
			}
			a.does(t, "setup", "namespace", ns, test.flag, "--yes").silent(t).says(t, "Nothing to do")
		})
	}
}
