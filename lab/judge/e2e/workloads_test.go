package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
)

// gpuPods is a template of pods that ask for GPUs.
func gpuPods(name, gpus string, change func(*corev1.PodTemplateSpec)) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	labels := map[string]string{"app": name}
	limits := corev1.ResourceList{"nvidia.com/gpu": apiresource.MustParse(gpus)}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "train", Image: "example.invalid/train", Resources: corev1.ResourceRequirements{Limits: limits}}},
	}}
	if change != nil {
		change(&template)
	}
	return template, &metav1.LabelSelector{MatchLabels: labels}
}

// event waits until a controller has reported something about an object whose name begins with a word.
func event(t *testing.T, ns, kind, name, reason string) {
	t.Helper()
	eventually(t, kind+" "+name+" reports "+reason, func() error {
		var events corev1.EventList
		if err := openShift.Client().List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			o := e.InvolvedObject
			return o.Kind == kind && strings.HasPrefix(o.Name, name) && e.Reason == reason
		}) {
			return fmt.Errorf("%d other events", len(events.Items))
		}
		return nil
	})
}

// TestWorkloadsWithoutPods: doctor and status explain workloads that railhead did not deploy and that have no pods.
func TestWorkloadsWithoutPods(t *testing.T) {
	const ns = "unborn"
	setUp(t)
	u, c := engineer(t, "p-unborn", ns), openShift.Client()
	two := int32(2)
	t.Run("suspended, scaled in, and without GPUs", func(t *testing.T) {
		yes, none := true, int32(0)
		template, selector := gpuPods("idle", "8", nil)
		once := template
		once.Spec.RestartPolicy = corev1.RestartPolicyNever
		idle := []client.Object{
			&appsv1.StatefulSet{ObjectMeta: meta(ns, "idle"), Spec: appsv1.StatefulSetSpec{Replicas: &none, Selector: selector, Template: template}},
			&batchv1.Job{ObjectMeta: meta(ns, "queued"), Spec: batchv1.JobSpec{Suspend: &yes, Template: once}},
		}
		create(t, c, idle...)
		remove(t, c, idle...)
		u.does(t, "doctor", "-n", ns).prints(t, "Nothing is wrong")
		u.does(t, "status", "idle", "-n", ns).silent(t)
	})
	t.Run("a StatefulSet that PodSecurity refuses", func(t *testing.T) {
		baseline := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`))
		if err := c.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, baseline); err != nil {
			t.Fatal(err)
		}
		role := openshift.UseSCC("privileged")
		role.Name = "unborn-privileged"
		grant := &rbacv1.RoleBinding{
			ObjectMeta: meta(ns, "privileged"),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: ns}},
		}
		template, selector := gpuPods("llm", "8", func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "unborn-eno5np0"}
			p.Spec.HostNetwork = true
		})
		set := &appsv1.StatefulSet{ObjectMeta: meta(ns, "llm"), Spec: appsv1.StatefulSetSpec{Replicas: &two, Selector: selector, Template: template}}
		create(t, c, role, grant, set)
		remove(t, c, role, grant, set)
		event(t, ns, "StatefulSet", "llm", "FailedCreate")
		d := diagnosis(t, u.ends(t, 1, "doctor", "-n", ns, "-o", "json"))
		if got := found(d); !slices.Equal(got, []string{"fail pod-security"}) {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
		u.ends(t, 1, "doctor", "llm", "-n", ns).prints(t, "Job llm in namespace unborn: 0 pods examined",
			`the Pod Security level "baseline:latest" of namespace unborn refuses llm-0`)
		administers(t, openShift, ns, "p-alone")
		alone := as(t, openShift, "p-alone").ends(t, 1, "doctor", "-n", ns)
		alone.prints(t, "[pod-security]", "you may not list nodes: an administrator can")
		if strings.Contains(alone.out, "pods could not be read") {
			t.Errorf("the pods of the namespace could be read:\n%s", alone.out)
		}
		u.ends(t, 1, "status", "llm", "-n", ns).silent(t).says(t, "Job llm has 0 of 2 pods.", "[pod-security]")
	})
	t.Run("a Deployment that exceeds a quota", func(t *testing.T) {
		quota := &corev1.ResourceQuota{ObjectMeta: meta(ns, "gpus"), Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"requests.nvidia.com/gpu": apiresource.MustParse("4")},
		}}
		create(t, c, quota)
		remove(t, c, quota)
		eventually(t, "the quota counts", func() error {
			if len(get(t, c, quota).Status.Hard) == 0 {
				return fmt.Errorf("no status")
			}
			return nil
		})
		template, selector := gpuPods("serve", "8", nil)
		d := &appsv1.Deployment{ObjectMeta: meta(ns, "serve"), Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: selector, Template: template}}
		create(t, c, d)
		remove(t, c, d)
		event(t, ns, "ReplicaSet", "serve", "FailedCreate")
		u.ends(t, 1, "doctor", "-n", ns).prints(t, "quota gpus of namespace unborn: a pod of Deployment serve requests requests.nvidia.com/gpu=8", "event FailedCreate of ReplicaSet/serve-")
	})
	t.Run("a Deployment that no node fits", func(t *testing.T) {
		template, selector := gpuPods("big", "99", nil)
		d := &appsv1.Deployment{ObjectMeta: meta(ns, "big"), Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: selector, Template: template}}
		create(t, c, d)
		remove(t, c, d)
		event(t, ns, "Pod", "big", "FailedScheduling")
		u.ends(t, 1, "doctor", "big", "-n", ns).prints(t, "Job big in namespace unborn: 0 pods examined", "[insufficient-resource]")
		u.ends(t, 1, "status", "big", "-n", ns).prints(t, "big-", "Pending")
	})
	t.Run("a network that does not exist, in the template of pods that are refused", func(t *testing.T) {
		template, _ := gpuPods("stray", "1", func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "nowhere"}
			p.Spec.ServiceAccountName, p.Spec.RestartPolicy = "nobody", corev1.RestartPolicyNever
		})
		job := &batchv1.Job{ObjectMeta: meta(ns, "stray"), Spec: batchv1.JobSpec{Template: template}}
		create(t, c, job)
		remove(t, c, job)
		event(t, ns, "Job", "stray", "FailedCreate")
		d := diagnosis(t, u.ends(t, 1, "doctor", "stray", "-n", ns, "-o", "json"))
		if got := found(d); !slices.Contains(got, "fail nad-missing") || !strings.Contains(d.Problems[0].Summary, "nowhere") {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
	})
	t.Run("a Job whose account does not exist", func(t *testing.T) {
		template, _ := gpuPods("lost", "1", func(p *corev1.PodTemplateSpec) {
			p.Spec.ServiceAccountName, p.Spec.RestartPolicy = "nobody", corev1.RestartPolicyNever
		})
		job := &batchv1.Job{ObjectMeta: meta(ns, "lost"), Spec: batchv1.JobSpec{Template: template}}
		create(t, c, job)
		remove(t, c, job)
		event(t, ns, "Job", "lost", "FailedCreate")
		u.ends(t, 1, "doctor", "-n", ns).prints(t, "service account nobody does not exist in namespace unborn [admission-refused]")
		u.ends(t, 3, "doctor", "lst", "-n", ns)
	})
}
