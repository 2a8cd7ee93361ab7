package kubetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// everything is all that can be read of a cluster.
func everything() []cluster.Kind {
	return []cluster.Kind{
		cluster.Nodes, cluster.Pods, cluster.Pools, cluster.MachineConfigs, cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes,
		cluster.DRADevices, cluster.SCCs, cluster.SCCGrants, cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas, cluster.Events, cluster.Objects, cluster.ConfigMaps,
	}
}

func TestReadTheWholeCluster(t *testing.T) {
	c, counted := admin(t, openShift)
	calls := counted.take()
	slices.Sort(calls)
	if diff := cmp.Diff([]string{"GET /apis", "GET /version"}, calls); diff != "" {
		t.Error("connecting takes two calls at once:", diff)
	}
	if err := c.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted.take()
	s, err := c.Read(t.Context(), kube.Want{Kinds: everything()})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) > 0 {
		t.Errorf("problems: %v", s.Problems)
	}
	if made := counted.take(); len(made) != 36 || slices.ContainsFunc(made, func(call string) bool { return !strings.HasPrefix(call, "GET ") }) {
		t.Errorf("%d calls, want 36: %v", len(made), made)
	}
	if s.Server.Version == "" || s.Server.Minor != 36 || s.Server.User != "system:admin" || !s.Server.OpenShift() {
		t.Errorf("server %+v", s.Server)
	}
	node, _ := s.Node("gpu-0")
	if gpu, n := node.GPUs(); gpu != "nvidia.com/gpu" || n != 8 || !node.Ready || node.Allocatable["openshift.io/eno5np0rdma"] != 1 || node.Allocatable["cpu"] < 1000 {
		t.Errorf("node gpu-0: %+v", node)
	}
	if node.MachineConfig.State != "Done" || node.MachineConfig.Current == "" {
		t.Errorf("node gpu-0 is at %+v", node.MachineConfig)
	}
	pool, _ := s.Pool("worker")
	if pool.Machines != 13 || pool.Updated != 13 || pool.Target != pool.Current || !slices.Contains(pool.CurrentSources, "00-worker") || pool.Condition("Updated").Status != "True" {
		t.Errorf("pool worker: %+v", pool)
	}
	if !slices.ContainsFunc(s.MachineConfigs, func(m cluster.MachineConfig) bool { return m.Rendered && m.Name == pool.Current }) {
		t.Errorf("the rendered config of pool worker is not among %d", len(s.MachineConfigs))
	}
	network, ok := s.Network("default", s.Networks[0].Name)
	if !ok || len(s.Networks) != 4 || network.Resource == "" || network.Type != "sriov" || network.Broken != "" {
		t.Errorf("networks %+v", s.Networks)
	}
	if len(s.SriovNetworks) != 4 || s.SriovNetworks[0].TargetNamespace != "default" || s.SriovNetworks[0].ResourceName == "" {
		t.Errorf("SR-IOV networks %+v", s.SriovNetworks)
	}
	if len(s.SriovNodes) != 13 || len(s.SriovNodes[12].Interfaces) == 0 {
		t.Errorf("%d SR-IOV nodes", len(s.SriovNodes))
	}
	if scc, ok := s.SCC("restricted-v2"); !ok || scc.RunAsUser != "MustRunAsRange" || scc.AllowsCapability("IPC_LOCK") {
		t.Errorf("SCC restricted-v2: %+v", scc)
	}
	if len(s.GrantsTo("restricted-v2", "default", "default")) == 0 || len(s.GrantsTo("privileged", "default", "default")) != 0 {
		t.Errorf("grants %+v", s.SCCGrants)
	}
	if _, ok := s.Namespace("default"); !ok || len(s.ServiceAccounts) == 0 || len(s.Events) == 0 {
		t.Errorf("%d namespaces, %d service accounts, %d events", len(s.Namespaces), len(s.ServiceAccounts), len(s.Events))
	}
}

func TestReadWithFewRights(t *testing.T) {
	namespace(t, openShift, "few-rights")
	create(t, openShift,
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: few-rights, name: ours, labels: {app.kubernetes.io/managed-by: railhead}}, data: {a: b}}",
		"{apiVersion: v1, kind: Pod, metadata: {namespace: few-rights, name: p}, spec: {containers: [{name: c, image: example.invalid/c}]}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: few-rights, name: user}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: few}]}")
	c, _ := as(t, openShift, "few")
	want := kube.Want{Namespace: "few-rights", Everywhere: []cluster.Kind{cluster.Pods},
		Kinds: []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Namespaces, cluster.ServiceAccounts, cluster.SCCs, cluster.Objects, cluster.ConfigMaps}}
	var s cluster.State
	eventually(t, "role admin is filled in", func() bool { // by the controller-manager, of the roles that it aggregates
		var err error
		if s, err = c.Read(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		return s.Knows(cluster.ServiceAccounts)
	})
	for _, kind := range []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.SCCs} {
		if p := s.Problem(kind); p == nil || !p.Forbidden {
			t.Errorf("%s: problem %+v, want forbidden", kind, p)
		}
	}
	if len(s.Pods) != 1 || s.Pods[0].Name != "p" || s.Pods[0].Namespace != "few-rights" {
		t.Errorf("pods of the namespace stand in for all: %+v", s.Pods)
	}
	if ns, ok := s.Namespace("few-rights"); !ok || ns.Annotations["openshift.io/sa.scc.uid-range"] == "" || len(s.Namespaces) != 1 {
		t.Errorf("namespaces %+v", s.Namespaces)
	}
	ours := slices.DeleteFunc(s.Objects, func(o cluster.Object) bool { return o.Kind != "ConfigMap" })
	if len(ours) != 1 || ours[0].Name != "ours" || ours[0].Fields["metadata"].(map[string]any)["managedFields"] != nil {
		t.Errorf("objects %+v", ours)
	}
	if len(s.ConfigMaps) != 1 || s.ConfigMaps[0].Name != "ours" || s.ConfigMaps[0].Labels["app.kubernetes.io/managed-by"] != "railhead" {
		t.Errorf("ConfigMaps %+v", s.ConfigMaps)
	}
	for first, err := range c.Watch(t.Context(), want) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(problems(s), problems(first)); diff != "" {
			t.Error("a watch sees the same problems:", diff)
		}
		if len(first.Pods) != 1 {
			t.Errorf("pods of a watch: %+v", first.Pods)
		}
		break
	}
}

func problems(s cluster.State) map[cluster.Kind]bool {
	forbidden := map[cluster.Kind]bool{}
	for _, p := range s.Problems {
		forbidden[p.Kind] = p.Forbidden
	}
	return forbidden
}

func TestReadANamespaceThatIsNotThere(t *testing.T) {
	c, _ := admin(t, openShift)
	s, err := c.Read(t.Context(), kube.Want{Namespace: "nowhere", Kinds: []cluster.Kind{cluster.Namespaces, cluster.Quotas}})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Knows(cluster.Namespaces) || len(s.Namespaces) != 0 {
		t.Errorf("namespaces %+v, problems %v; want to know that it is not there", s.Namespaces, s.Problems)
	}
}

func TestReadAJobsPods(t *testing.T) {
	namespace(t, openShift, "job-pods")
	create(t, openShift,
		"{apiVersion: v1, kind: Pod, metadata: {namespace: job-pods, name: h-kim-0, labels: {app.kubernetes.io/instance: h-kim}}, spec: {containers: [{name: train, image: example.invalid/c, resources: {limits: {nvidia.com/gpu: 8}}}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {namespace: job-pods, name: other}, spec: {containers: [{name: c, image: example.invalid/c, resources: {limits: {nvidia.com/gpu: 99}}}]}}")
	c, _ := admin(t, openShift)
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: "job-pods", Job: "h-kim"}
	eventually(t, "the pod runs", func() bool {
		s, err := c.Read(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Pods) == 1 && s.Pods[0].Ready
	})
	want.Everywhere = []cluster.Kind{cluster.Pods}
	eventually(t, "the scheduler says that the other pod fits nowhere", func() bool {
		s, err := c.Read(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == "other" })
		j := slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == "h-kim-0" })
		return i >= 0 && j >= 0 && strings.Contains(s.Pods[i].Unscheduled, "Insufficient nvidia.com/gpu") && s.Pods[i].Containers == nil &&
			s.Pods[j].Annotations["openshift.io/scc"] != "" && len(s.Pods[j].Containers) == 1 && s.Pods[j].Requests["nvidia.com/gpu"] == 8
	})
}

func TestWhoIsNotKnown(t *testing.T) {
	cfg := openShift.Admin()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, cfg.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	nothing := "--kubeconfig=" + os.DevNull
	for name, test := range map[string]struct {
		args []string
		want error
	}{
		"an expired token":             {[]string{nothing, "--server=" + cfg.Host, "--certificate-authority=" + ca, "--token=expired"}, kube.ErrUnauthorized},
		"a server that is not trusted": {[]string{nothing, "--server=" + cfg.Host, "--token=x"}, kube.ErrCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := flags(t, test.args...).Connect(t.Context())
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestRequestTimeout(t *testing.T) {
	path, err := openShift.Users.KubeconfigFile("system:admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flags(t, "--kubeconfig="+path, "--request-timeout=1ns").Connect(t.Context()); !errors.Is(err, kube.ErrUnreachable) {
		t.Errorf("a call that takes longer than it may: %v", err)
	}
	f, counted := flags(t, "--kubeconfig="+path, "--request-timeout=1s"), &calls{}
	f.Wrap = counted.wrap
	var c *kube.Client
	eventually(t, "it is connected, with calls of a second", func() bool {
		c, err = f.Connect(t.Context())
		return err == nil
	})
	v := watch(t, c, kube.Want{Kinds: []cluster.Kind{cluster.ServiceAccounts}})
	v.until("there is a State", func(s cluster.State, err error) bool { return err == nil && s.Knows(cluster.ServiceAccounts) })
	counted.take()
	<-time.After(1500 * time.Millisecond) // the watch outlives the limit of calls
	create(t, openShift, serviceAccount("patient"))
	v.until("the change", has("patient"))
	if made := counted.take(); len(made) > 0 {
		t.Errorf("the watch was begun anew: %v", made)
	}
}
