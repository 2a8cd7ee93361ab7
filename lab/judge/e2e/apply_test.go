package e2e_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
)

// kubectl returns a function that applies manifests as the user, client-side and without a flag.
func kubectl(t *testing.T, u user) func(manifests string) string {
	t.Helper()
	run := kubectlProgram(t, u)
	return func(manifests string) string {
		t.Helper()
		return run(manifests, "apply", "-f", "-")
	}
}

// kubectlProgram returns a function that runs kubectl as the user.
func kubectlProgram(t *testing.T, u user) func(stdin string, args ...string) string {
	t.Helper()
	built, err := assets.Build(t.Context(), func(string) {}, assets.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), built[assets.Kubectl], args...)
		cmd.Env = []string{"KUBECONFIG=" + u.kubeconfig, "HOME=" + home} // kubectl writes a cache there
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("kubectl %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

// TestPlainApply: `kubectl apply -f -` takes what inject and deploy print, and once the namespace has railhead-pod,
// manifests only name it.
func TestPlainApply(t *testing.T) {
	const ns = "piped"
	setUp(t)
	u := engineer(t, "k-ohara", ns)
	apply := kubectl(t, u)
	parts := func() (names []string) {
		var list corev1.ConfigMapList
		if err := openShift.Client().List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			if strings.HasPrefix(c.Name, "railhead-pod-") {
				names = append(names, c.Name)
			}
		}
		return names
	}
	program := "--pod-binary=amd64=" + podBinary
	u.stdin = strings.Replace(manifests(ns)["StatefulSet"], `"serviceName"`, `"replicas": 0, "serviceName"`, 1)
	injected := u.does(t, "inject", "-f", "-", program)
	injected.says(t, "To keep it out of manifests", "railhead setup namespace piped")
	apply(injected.out)
	get(t, openShift.Client(), &appsv1.StatefulSet{ObjectMeta: meta(ns, "mine")})
	if again := apply(injected.out); strings.Contains(again, "created") {
		t.Errorf("applied again:\n%s", again)
	}
	kubectlProgram(t, u)(injected.out, "apply", "--server-side", "--field-manager=flux", "--force-conflicts", "-f", "-")
	job := deploy("h-kim", ns, "-o", "yaml")
	apply(u.does(t, job...).out)
	eventually(t, "the pods of h-kim exist", func() error {
		return openShift.Client().Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "h-kim-1"}, &corev1.Pod{})
	})
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t)
	if len(parts()) == 0 {
		t.Error("delete removed railhead-pod, which the injected manifest mounts")
	}

	admin(t, openShift).does(t, "setup", "namespace", ns, "--yes", program).silent(t).says(t, "ConfigMaps with railhead-pod")
	kept := len(parts())
	for _, command := range [][]string{{"inject", "-f", "-", program}, job} {
		if out := u.does(t, command...).out; strings.Contains(out, "binaryData") || strings.Count(out, "\n") > 250 {
			t.Errorf("railhead %s prints %d lines:\n%.3000s", command[0], strings.Count(out, "\n"), out)
		}
	}
	apply(u.does(t, job...).out)
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t)
	if left := len(parts()); left != kept || kept == 0 {
		t.Errorf("%d ConfigMaps with railhead-pod after delete, %d before", left, kept)
	}
	admin(t, openShift).does(t, "setup", "namespace", ns, "--yes", program).silent(t).says(t, "Nothing to do")
}

// TestPlainSetup: `kubectl apply -f -` takes what setup prints for the cluster, all of it, and setup has nothing to add;
// an SCC that an earlier version created with a null priority stays.
func TestPlainSetup(t *testing.T) {
	takenBack(t)
	a, c := admin(t, openShift), openShift.Client()
	apply := kubectl(t, a)
	for _, command := range [][]string{{"setup", "metrics", "--image=example.invalid/railhead:1"}, {"setup", "cluster"}} {
		apply(a.does(t, append(command, "-o", "yaml")...).out)
	}
	for _, name := range []string{"railhead-metrics", railheadSCC} {
		get(t, c, &securityv1.SecurityContextConstraints{ObjectMeta: meta("", name)})
	}
	a.does(t, "setup", "status", "--follow")
	a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "Nothing to do")
	scc := &securityv1.SecurityContextConstraints{ObjectMeta: meta("", railheadSCC)}
	null := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/priority", "value": null}]`))
	if err := c.Patch(t.Context(), scc, null); err != nil || scc.Priority != nil {
		t.Fatalf("priority %v, %v", scc.Priority, err)
	}
	a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "Nothing to do")
	takenBack(t)
}
