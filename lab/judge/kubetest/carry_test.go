package kubetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
)

const (
	headless = `{apiVersion: v1, kind: Service, metadata: {namespace: carry, name: h-kim-headless, labels: {app.kubernetes.io/managed-by: railhead}},
		spec: {clusterIP: None, selector: {a: b}, ports: [{name: master, port: 29500}]}}`
	other = `{apiVersion: v1, kind: Service, metadata: {namespace: carry, name: h-kim-headless, labels: {app.kubernetes.io/managed-by: railhead}},
		spec: {clusterIP: None, selector: {a: b}, ports: [{name: master, port: 29501}]}}`
	gone = `{apiVersion: v1, kind: Service, metadata: {namespace: carry, name: h-kim-headless}}`
)

func TestCarry(t *testing.T) {
	namespace(t, openShift, "carry")
	c, counted := admin(t, openShift)
	read := func() {
		t.Helper()
		if _, err := c.Read(t.Context(), kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: "carry", Job: "h-kim"}); err != nil {
			t.Fatal(err)
		}
		counted.take()
	}
	counted.take()
	for _, step := range []struct {
		what   string
		change plan.Change
		dry    kube.DryRun
		want   kube.Outcome
	}{
		{"asked first", apply(t, headless), true, kube.Created},
		{"made", apply(t, headless), false, kube.Created},
		{"made again", apply(t, headless), false, kube.Unchanged},
		{"another port, asked first", apply(t, other), true, kube.Configured},
		{"as it is, asked", apply(t, headless), true, kube.Unchanged},
		{"another port", apply(t, other), false, kube.Configured},
		{"merged", plan.Change{Verb: plan.Merge, Object: object(t, strings.Replace(gone, "}}", ", labels: {x: z}}}", 1))}, false, kube.Configured},
		{"merged again", plan.Change{Verb: plan.Merge, Object: object(t, strings.Replace(gone, "}}", ", labels: {x: z}}}", 1))}, false, kube.Unchanged},
		{"deletion asked", remove(t, gone), true, kube.Deleted},
		{"deleted", remove(t, gone), false, kube.Deleted},
		{"deleted again", remove(t, gone), false, kube.Unchanged},
		{"made anew", apply(t, headless), false, kube.Created},
	} {
		got, err := c.Carry(t.Context(), step.change, step.dry)
		if err != nil || got != step.want {
			t.Errorf("%s: %q, %v; want %q", step.what, got, err, step.want)
		}
		if made := counted.take(); len(made) != 1 {
			t.Errorf("%s took %d calls: %v", step.what, len(made), made)
		}
	}
	t.Run("by another process that has read it", func(t *testing.T) {
		c, counted = admin(t, openShift)
		read()
		if got, err := c.Carry(t.Context(), apply(t, headless), false); err != nil || got != kube.Unchanged {
			t.Errorf("%q, %v; want unchanged", got, err)
		}
	})
	t.Run("of another one than was read", func(t *testing.T) {
		change := remove(t, gone)
		change.Object.SetUID("not-its-uid")
		_, err := c.Carry(t.Context(), change, false)
		if !is[*kube.Refused](err) || !strings.Contains(err.Error(), "was changed or recreated since it was read") {
			t.Errorf("%v, want a conflict", err)
		}
	})
}

func TestCarryEveryKindThatPlansWrite(t *testing.T) {
	namespace(t, openShift, "every-kind")
	c, _ := admin(t, openShift)
	const labels = "labels: {app.kubernetes.io/managed-by: railhead, machineconfiguration.openshift.io/role: none}"
	all := []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: every-kind, name: x, " + labels + "}, immutable: true, binaryData: {a: YQ==}}",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: every-kind, name: x, " + labels + "}}",
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: every-kind, name: x, " + labels + "}, spec: {serviceName: x, replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: every-kind, " + labels + "}, rules: [{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [every-kind], verbs: [use]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: every-kind, name: x, " + labels + "}, rules: []}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: every-kind, name: x, " + labels + "}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: every-kind}, subjects: [{kind: ServiceAccount, namespace: every-kind, name: x}]}",
		"{apiVersion: security.openshift.io/v1, kind: SecurityContextConstraints, metadata: {name: every-kind, " + labels + "}, priority: null, defaultAddCapabilities: [], requiredDropCapabilities: [], allowHostDirVolumePlugin: false, allowHostIPC: false, allowHostNetwork: false, allowHostPID: false, allowHostPorts: false, allowPrivilegedContainer: false, allowedCapabilities: [IPC_LOCK], readOnlyRootFilesystem: false, runAsUser: {type: MustRunAsRange}, seLinuxContext: {type: MustRunAs}, volumes: [downwardAPI]}",
		"{apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfig, metadata: {name: every-kind, " + labels + "}, spec: {kernelArguments: [iommu=pt], config: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/crio/crio.conf.d/99-x.conf, mode: 420, contents: {source: 'data:,a%0A'}}]}}}}",
		"{apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {namespace: every-kind, name: x, " + labels + "}, spec: {config: '{\"type\":\"macvlan\"}'}}",
		"{apiVersion: sriovnetwork.openshift.io/v1, kind: SriovNetwork, metadata: {namespace: every-kind, name: x, " + labels + "}, spec: {resourceName: eno5np0rdma, networkNamespace: every-kind}}",
		"{apiVersion: sriovnetwork.openshift.io/v1, kind: SriovNetworkNodePolicy, metadata: {namespace: every-kind, name: x, " + labels + "}, spec: {resourceName: x, numVfs: 1, nodeSelector: {no: node}, nicSelector: {pfNames: [eno5np0]}}}",
	}
	for _, text := range all {
		change := apply(t, text)
		if got, err := c.Carry(t.Context(), change, false); err != nil || got != kube.Created {
			t.Errorf("%s: %q, %v", change.Object.GetKind(), got, err)
		}
	}
	reader, _ := admin(t, openShift)
	s, err := reader.Read(t.Context(), kube.Want{Kinds: everything()})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, text := range all {
		o := object(t, text)
		want = append(want, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		found := false
		for _, read := range s.Objects {
			found = found || read.Kind == o.GetKind() && read.Namespace == o.GetNamespace() && read.Name == o.GetName() && read.APIVersion == o.GetAPIVersion()
		}
		if found {
			got = append(got, want[len(want)-1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("what is written is read as ours:", diff)
	}
	if grants := s.GrantsTo("every-kind", "every-kind", "x"); len(grants) != 1 || grants[0].By != "RoleBinding/x" {
		t.Errorf("grants %+v", grants)
	}
	for _, m := range s.MachineConfigs {
		if m.Name == "every-kind" && (len(m.Files) != 1 || m.Files[0].Content != "a\n" || m.KernelArguments[0] != "iommu=pt") {
			t.Errorf("machine config %+v", m)
		}
	}
	for _, text := range all {
		change := apply(t, text)
		if got, err := reader.Carry(t.Context(), change, false); err != nil || got != kube.Unchanged {
			t.Errorf("%s again: %q, %v", change.Object.GetKind(), got, err)
		}
		change.Verb = plan.Delete
		if got, err := reader.Carry(t.Context(), change, false); err != nil || got != kube.Deleted {
			t.Errorf("%s deleted: %q, %v", change.Object.GetKind(), got, err)
		}
	}
}

func TestCarryIsRefused(t *testing.T) {
	namespace(t, openShift, "refuse")
	namespace(t, openShift, "dying")
	create(t, openShift,
		"{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: refuse, name: few}, spec: {hard: {count/secrets: 0}}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: taken}, data: {a: theirs}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: dying, name: holds, finalizers: [railhead.dev/test]}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: lingers, finalizers: [railhead.dev/test]}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: refuse, name: pods}, rules: [{apiGroups: [''], resources: [pods], verbs: [create, patch]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: refuse, name: pods}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: pods}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]}")
	for _, text := range []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: dying}}", "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: lingers}}",
	} {
		o := object(t, text)
		if err := openShift.Client().Delete(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for _, in := range []string{"dying/holds", "refuse/lingers"} {
				ns, name, _ := strings.Cut(in, "/")
				held := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: "+ns+", name: "+name+"}}")
				_ = openShift.Client().Patch(t.Context(), &held, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			}
		})
	}
	eventually(t, "the quota is reckoned", func() bool {
		q := object(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}}")
		err := openShift.Client().Get(t.Context(), client.ObjectKey{Namespace: "refuse", Name: "few"}, &q)
		hard, _, _ := nested(q.Object, "status", "hard")
		return err == nil && hard
	})
	boss, _ := admin(t, openShift)
	dev, _ := as(t, openShift, "dev")
	for name, test := range map[string]struct {
		client *kube.Client
		change plan.Change
		as     func(error) bool
		says   []string
	}{
		"field of another manager": {boss, apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: taken}, data: {a: ours}}"),
			is[*kube.Refused], []string{"ConfigMap refuse/taken", ".data.a belongs to ", "give the field up"}},
		"forbidden in a namespace": {dev, apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: mine}}"),
			is[*kube.Forbidden], []string{"dev may not patch configmaps", "namespace refuse", "railhead setup namespace refuse --users user:dev"}},
		"forbidden in the cluster": {dev, apply(t, "{apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfig, metadata: {name: mine}}"),
			is[*kube.Forbidden], []string{"dev may not patch machineconfigs.machineconfiguration.openshift.io", "cluster administrator"}},
		"quota": {boss, apply(t, "{apiVersion: v1, kind: Secret, metadata: {namespace: refuse, name: one}}"),
			is[*kube.Refused], []string{"Secret refuse/one is refused: exceeded quota: few"}},
		"SCC admission": {dev, apply(t, "{apiVersion: v1, kind: Pod, metadata: {namespace: refuse, name: p}, spec: {containers: [{name: c, image: i, securityContext: {capabilities: {add: [IPC_LOCK]}}}]}}"),
			is[*kube.Refused], []string{"Pod refuse/p is refused: unable to validate against any security context constraint", "capability may not be added"}},
		"schema": {boss, apply(t, "{apiVersion: v1, kind: Service, metadata: {namespace: refuse, name: s}, spec: {ports: [{port: 99999}]}}"),
			is[*kube.Refused], []string{"Service refuse/s is refused: ", "spec.ports[0].port"}},
		"schema of a CRD": {boss, apply(t, "{apiVersion: sriovnetwork.openshift.io/v1, kind: SriovNetwork, metadata: {namespace: refuse, name: s}, spec: {vlan: 9999, resourceName: x}}"),
			is[*kube.Refused], []string{"spec.vlan"}},
		"name too long": {boss, apply(t, "{apiVersion: v1, kind: Service, metadata: {namespace: refuse, name: "+strings.Repeat("a", 64)+"}, spec: {ports: [{port: 1}]}}"),
			is[*kube.Refused], []string{"must be no more than 63"}},
		"namespace that is not there": {boss, apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: nowhere, name: x}}"),
			is[*kube.Refused], []string{`there is no namespace "nowhere"`}},
		"object that is not there": {boss, plan.Change{Verb: plan.Merge, Object: object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: none}, data: {a: b}}")},
			is[*kube.Refused], []string{"there is no such object"}},
		"kind that is not there": {boss, apply(t, "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {namespace: refuse, name: x}}"),
			is[*kube.Refused], []string{"there is no kind JobSet (jobset.x-k8s.io/v1alpha2) on this server"}},
		"namespace that is being deleted": {boss, apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: dying, name: x}}"),
			is[*kube.Refused], []string{"ConfigMap dying/x", "being deleted"}},
		"object that is being deleted": {boss, apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: refuse, name: lingers}}"),
			is[*kube.Refused], []string{"ConfigMap refuse/lingers", "being deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dry := range []kube.DryRun{true, false} {
				outcome, err := test.client.Carry(t.Context(), test.change, dry)
				if err == nil {
					t.Fatalf("%s, want an error", outcome)
				}
				if !test.as(err) {
					t.Errorf("%T %v is of another type", err, err)
				}
				for _, words := range test.says {
					if !strings.Contains(err.Error(), words) {
						t.Errorf("%q does not say %q", err, words)
					}
				}
			}
		})
	}
}

func nested(o map[string]any, path ...string) (bool, any, error) {
	var value any = o
	for _, name := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return false, nil, nil
		}
		if value, ok = m[name]; !ok {
			return false, nil, nil
		}
	}
	return true, value, nil
}

// is reports whether an error is of a type.
func is[T error](err error) bool { return errors.As(err, new(T)) }
