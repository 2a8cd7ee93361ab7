package cli

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/namespace"
	"github.com/railhead/railhead/internal/plan/webhook"
	"github.com/railhead/railhead/internal/workload"
)

// published returns the rules of a role in docs/rights.
func published(t *testing.T, file, role string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../docs/rights/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for object := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var r rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(object, &r); err == nil && r.Kind == "ClusterRole" && r.Name == role {
			return r.Rules
		}
	}
	t.Fatalf("%s has no ClusterRole %s", file, role)
	return nil
}

// granting returns the index of the first rule that grants a right, or -1. A rule with names grants only those.
func granting(rules []rbacv1.PolicyRule, r plan.Right) int {
	has := func(list []string, value string) bool {
		return slices.Contains(list, value) || slices.Contains(list, "*")
	}
	return slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return has(rule.Verbs, r.Verb) && has(rule.APIGroups, r.Group) && has(rule.Resources, r.Resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
	})
}

// apiServer is an OpenShift with every API group that railhead reads, where the pod h-kim-0 runs in namespace train and
// may not be entered. It records the rights that its clients used.
type apiServer struct {
	mu   sync.Mutex
	used map[plan.Right]bool
}

// discovery answers /apis: each group has the versions that railhead reads, with whatever resource it asks for.
func discovery() string {
	groups := []string{
		cluster.MachineConfigGroup, cluster.SecurityGroup, cluster.NetworkGroup, cluster.SriovGroup,
		cluster.NvidiaGroup, cluster.ResourceGroup, cluster.KueueGroup, cluster.MonitoringGroup, rbacv1.GroupName,
		"policy", "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io", "admissionregistration.k8s.io",
		"image.openshift.io",
	}
	for _, k := range workload.Kinds {
		groups = append(groups, k.GVK.Group)
	}
	slices.Sort(groups)
	var texts []string
	for _, group := range slices.Compact(groups) {
		var versions []string
		for _, version := range []string{"v1", "v1alpha1", "v1alpha2", "v1beta1", "v2beta1"} {
			versions = append(versions, fmt.Sprintf(`{"version":%q}`, version))
		}
		texts = append(texts, fmt.Sprintf(`{"name":%q,"versions":[%s]}`, group, strings.Join(versions, ",")))
	}
	return fmt.Sprintf(`{"kind":"APIGroupList","groups":[%s]}`, strings.Join(texts, ","))
}

// rightOf returns the right that a request needs; none for those that every user may make.
func rightOf(r *http.Request) (right plan.Right, ok bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		right.Group, parts = parts[1], parts[3:]
	default:
		return right, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		right.Namespace, parts = parts[1], parts[2:]
	}
	right.Resource = parts[0]
	verbs := map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	right.Verb = verbs[r.Method]
	switch {
	case r.Method != http.MethodGet:
	case r.URL.Query().Get("watch") != "":
		right.Verb = "watch"
	case len(parts) == 1:
		right.Verb = "list"
	default:
		right.Verb = "get"
	}
	if len(parts) > 2 {
		right.Resource += "/" + parts[2]
	}
	return right, right.Group != "authorization.k8s.io" && right.Group != "authentication.k8s.io"
}

const podList = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{
	"metadata":{"name":"h-kim-0","namespace":"train","uid":"1","labels":{"app.kubernetes.io/instance":"h-kim",
		"app.kubernetes.io/managed-by":"railhead","app.kubernetes.io/component":"job"}},
	"spec":{"nodeName":"gpu-0","containers":[{"name":"train","image":"x",
		"resources":{"limits":{"nvidia.com/gpu":"8","openshift.io/eno5np0rdma":"1"}}}]},
	"status":{"phase":"Running","containerStatuses":[{"name":"train","ready":true,
		"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}}]}`

const nodeList = `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{
	"metadata":{"name":"gpu-0"},"status":{"nodeInfo":{"architecture":"amd64"}}}]}`

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	right, checked := rightOf(r)
	s.mu.Lock()
	if checked {
		right.Namespace = ""
		s.used[right] = true
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/apis":
		fmt.Fprint(w, discovery())
	case !checked:
		fmt.Fprint(w, `{"gitVersion":"v1.34.0","major":"1","minor":"34","status":{"allowed":true,"resourceRules":[]}}`)
	case right.Resource == "pods" && right.Verb == "list":
		fmt.Fprint(w, podList)
	case right.Resource == "nodes" && right.Verb == "list":
		fmt.Fprint(w, nodeList)
	case right.Verb == "list":
		fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}
}

// rightsOf runs command lines and returns the rights that they used.
func rightsOf(t *testing.T, lines ...string) []plan.Right {
	t.Helper()
	s := &apiServer{used: map[plan.Right]bool{}}
	server := httptest.NewServer(s)
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, line := range lines {
		a := run(append(strings.Fields(line), "--server="+server.URL)...)
		t.Logf("%s: exit code %d", line, a.code)
	}
	return slices.SortedFunc(maps.Keys(s.used), func(a, b plan.Right) int { return strings.Compare(a.String(), b.String()) })
}

// podProgram returns a small program to send to nodes: railhead carries railhead-pod only after "make build".
func podProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "railhead-pod")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkRules reports rights that no rule grants, and rules that no right needs.
func checkRules(t *testing.T, rules []rbacv1.PolicyRule, rights []plan.Right) {
	t.Helper()
	needed := map[int]bool{}
	for _, right := range rights {
		i := granting(rules, right)
		if i < 0 {
			t.Errorf("no rule grants %s", right)
		}
		needed[i] = true
	}
	for i, rule := range rules {
		if !needed[i] {
			t.Errorf("no command needs the rule %v", rule)
		}
	}
}

// TestReaderWorkloads: the reader may list every kind of workload. The rules are written from the table of kinds by the
// flag -update.
func TestReaderWorkloads(t *testing.T) {
	const path = "../../docs/rights/reader.yaml"
	const begin = "# Workloads of other controllers; leave out those that you do not have.\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, more := strings.Cut(rest, "---\n")
	if !ok || !more {
		t.Fatalf("%s lacks the part of workloads", path)
	}
	want := before + begin + workloadRules() + "---\n" + after
	if *updateGenerated {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("go test ./internal/cli -run TestReaderWorkloads -update writes the rules (-file +kinds):\n%s", diff)
	}
}

// workloadRules returns the rules for the kinds of workloads that are not Kubernetes' own, by their groups.
func workloadRules() string {
	var groups []string
	resources := map[string][]string{}
	for _, k := range workload.Kinds {
		group := k.GVK.Group
		if !k.Listed() || !strings.Contains(group, ".") {
			continue
		}
		if resources[group] == nil {
			groups = append(groups, group)
		}
		plural, _ := meta.UnsafeGuessKindToResource(k.GVK)
		if !slices.Contains(resources[group], plural.Resource) {
			resources[group] = append(resources[group], plural.Resource)
		}
	}
	var rules strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&rules, "- apiGroups: [%s]\n  resources: [%s]\n  verbs: [get, list, watch]\n",
			group, strings.Join(resources[group], ", "))
	}
	return rules.String()
}

// TestReaderRights: the published roles of readers grant what the reading commands use.
func TestReaderRights(t *testing.T) {
	reader := published(t, "reader.yaml", "railhead-reader")
	rules := slices.Concat(reader, published(t, "reader.yaml", "railhead-examiner"))
	checkRules(t, rules, rightsOf(t, "inventory", "inventory -n train", "status h-kim -n train", "doctor --cluster",
		"doctor -n train", "doctor h-kim -n train --logs", "wire h-kim -n train", "setup status"))
	for _, rule := range reader {
		for _, resource := range rule.Resources {
			if resource == "secrets" || strings.ContainsAny(resource, "*/") {
				t.Errorf("the reader may read %s", resource)
			}
		}
		if !slices.Equal(rule.Verbs, []string{"get", "list", "watch"}) {
			t.Errorf("the reader may %v %v", rule.Verbs, rule.Resources)
		}
	}
}

// change begins an object of a golden file, with the verb of its change.
var change = regexp.MustCompile(`(?m)^---(?: |\n)# (apply|merge|delete): .*$`)

// planned returns the rights that the plans in golden files need, and those that take them back.
func planned(t *testing.T, patterns ...string) []plan.Right {
	t.Helper()
	var p plan.Plan
	for _, pattern := range patterns {
		files, err := filepath.Glob("../plan/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			verbs := change.FindAllStringSubmatch(string(text), -1)
			for i, object := range change.Split(string(text), -1)[1:] {
				c := plan.Change{Verb: plan.Verb(verbs[i][1])}
				object, _, _ = strings.Cut(object, "\n---")
				if err := yaml.Unmarshal([]byte(object), &c.Object.Object); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				p.Steps = append(p.Steps, plan.Step{Changes: []plan.Change{c}})
				if c.Verb == plan.Apply {
					p.Steps = append(p.Steps, plan.Step{Changes: []plan.Change{c.Undo()}})
				}
			}
		}
	}
	return p.Rights()
}

// TestAdministratorRights: the published role of administrators grants what setup and the examination of nodes use.
func TestAdministratorRights(t *testing.T) {
	rules := slices.Concat(published(t, "reader.yaml", "railhead-reader"),
		published(t, "administrator.yaml", "railhead-administrator"))
	const dry = " --dry-run=client"
	program := " --pod-binary=amd64=" + podProgram(t)
	used := rightsOf(t, "inventory", "setup cluster"+dry, "setup namespace train --users ml-team"+dry,
		"setup webhook --image x"+dry, "setup metrics --image x"+dry, "setup rollback"+dry,
		"setup rollback namespace train"+dry, "doctor node/gpu-0"+program,
		"doctor node/gpu-0 --probe-image x -n train"+program)
	used = append(used, planned(t, "setup/testdata/*.yaml", "webhook/testdata/*.yaml", "metrics/testdata/*.yaml",
		"namespace/testdata/*/*.yaml", "namespace/testdata/*.yaml", "probe/testdata/*.yaml")...)
	used = append(used,
		plan.Right{Verb: "get", Resource: "pods/log"}, // of probe pods
		plan.Right{Verb: "create", Group: cluster.ResourceGroup, Resource: "deviceclasses"},
		plan.Right{Verb: "use", Group: cluster.SecurityGroup, Resource: string(cluster.SCCs), Name: "privileged"})
	for _, verb := range []string{"bind", "escalate"} { // RBAC demands them to give others a right that one lacks
		for _, role := range []string{namespace.UsersRole, webhook.Name, plan.SCCRole(plan.SCCName)} {
			used = append(used, plan.Right{Verb: verb, Group: rbacv1.GroupName, Resource: "clusterroles", Name: role})
		}
		used = append(used,
			plan.Right{Verb: verb, Group: rbacv1.GroupName, Resource: "roles", Name: namespace.UsersRole})
	}
	checkRules(t, rules, used)
}
