package e2e_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDeployData: a job with data, a home, a budget and a probe is made, found unchanged, and taken away.
func TestDeployData(t *testing.T) {
	const ns = "data"
	setUp(t)
	u := engineer(t, "d-ata", ns)
	c := openShift.Client()
	claims := map[string]corev1.PersistentVolumeAccessMode{"imagenet": corev1.ReadOnlyMany, "disk": corev1.ReadWriteOnce}
	for name, mode := range claims {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta(ns, name)}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")}
		claim.Spec.StorageClassName = new("")
		create(t, c, claim)
		claim.Status.Phase, claim.Status.AccessModes = corev1.ClaimBound, claim.Spec.AccessModes
		if err := c.Status().Update(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	create(t, c, &corev1.Secret{ObjectMeta: meta(ns, "token")}, &corev1.ConfigMap{ObjectMeta: meta(ns, "set")})
	before := objectsOf(t, openShift, ns)
	job := func(claim string) []string {
		return append(deploy("h-kim", ns, "--volume=data=pvc:"+claim, "--volume=token=secret:token:/token:ro",
			"--volume=set=configmap:set:/set:ro", "--volume=scratch=emptydir:2Ti:/scratch", "--label=team=vision",
			"--annotation=example.com/owner=h-kim, r-sato", "--priority-class=system-node-critical", "--scheduler=mine",
			"--grace-period=10m", "--disruption-budget", "--startup-probe", "--gdr-level=PHB", "--guaranteed",
			"--cpu=16", "--memory=64Gi", "--no-wait"), "--", "torchrun", "train.py")
	}
	u.ends(t, 1, job("disk:/data")...).silent(t).says(t, "claim disk can be mounted on one node only, but the pods run on 2 nodes [volume-usable]", "nothing was written")
	u.ends(t, 1, job("imagenet:/data")...).silent(t).says(t, "Add :ro: --volume data=pvc:imagenet:/data:ro")
	u.ends(t, 1, deploy("h-kim", ns, "--queue=team-a")...).says(t, "the cluster has no Kueue")
	once := job("imagenet:/data:ro")
	accepted(t, asUser(t, openShift, "d-ata"), documents(t, u.does(t, append([]string{once[0], "-o", "yaml"}, once[1:]...)...).out))
	u.does(t, once...).silent(t).says(t, "created PodDisruptionBudget h-kim", "created Job h-kim", "The nodes of h-kim cannot be drained while its pods run")
	var made batchv1.Job
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "h-kim"}, &made); err != nil {
		t.Fatal(err)
	}
	var budget policyv1.PodDisruptionBudget
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "h-kim"}, &budget); err != nil || budget.Spec.MinAvailable.IntValue() != 2 {
		t.Errorf("budget %+v, %v", budget.Spec, err)
	}
	pod := made.Spec.Template
	if pod.Labels["team"] != "vision" || pod.Annotations["example.com/owner"] != "h-kim, r-sato" || pod.Spec.PriorityClassName != "system-node-critical" ||
		pod.Spec.SchedulerName != "mine" ||
		*pod.Spec.TerminationGracePeriodSeconds != int64(10*time.Minute/time.Second) || pod.Spec.Containers[0].StartupProbe == nil {
		t.Errorf("pods %+v", pod)
	}
	var level string
	for _, v := range pod.Spec.Containers[0].Env {
		if v.Name == "RAILHEAD_GDR_LEVEL" {
			level = v.Value
		}
	}
	if level != "PHB" {
		t.Errorf("GPUDirect's level is %q", level)
	}
	eventually(t, "the pods exist, with all their volumes, and are of the class Guaranteed", func() error {
		pods := podsOf(t, openShift, ns, "h-kim")
		for _, p := range pods {
			mounted := map[string]bool{}
			for _, m := range p.Spec.Containers[0].VolumeMounts {
				mounted[m.MountPath] = true
			}
			if p.Status.QOSClass != corev1.PodQOSGuaranteed ||
				!mounted["/data"] || !mounted["/token"] || !mounted["/set"] || !mounted["/scratch"] {
				return fmt.Errorf("%s is %s, mounts %v", p.Name, p.Status.QOSClass, mounted)
			}
			leastPrivilege(t, p)
		}
		if len(pods) != 2 {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	u.ends(t, 1, deploy("node", ns, "--volume=m=hostpath:/srv:/m:ro")...).silent(t).says(t,
		"may use no SCC that allows hostPath volumes", "nothing was written")
	u.does(t, once...).silent(t).says(t, "Wait until the pods of h-kim run")
	u.ends(t, 1, append([]string{once[0], "--kind=statefulset"}, once[1:]...)...).silent(t).says(t, "h-kim already exists as a Job, so it cannot be deployed as a StatefulSet")
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t).says(t, "deleted Job h-kim", "deleted PodDisruptionBudget h-kim")
	hostVolumes(t, u, ns)
	eventually(t, "nothing is left", func() error {
		after, err := objectsOf(t, openShift, ns), c.Get(t.Context(), client.ObjectKeyFromObject(&budget), &budget)
		if !maps.Equal(before, after) || client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("objects %v, before %v, budget %w", after, before, err)
		}
		return nil
	})
}

// hostVolumes: with an SCC that allows them, pods have folders of the node and of an NFS server.
func hostVolumes(t *testing.T, u user, ns string) {
	t.Helper()
	const role = "system:openshift:scc:hostmount-anyuid"
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta(ns, "hostmount"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "railhead-sa"}},
	}
	create(t, openShift.Client(), binding)
	u.does(t, deploy("node", ns, "--volume=m=hostpath:/srv:/m:ro", "--volume=n=nfs:10.0.0.1:/export:/n")...).silent(t).
		says(t, "node: 2 of 2 pods ready")
	for _, p := range podsOf(t, openShift, ns, "node") {
		if got := p.Annotations["openshift.io/scc"]; got != "hostmount-anyuid" {
			t.Errorf("%s was admitted by %s", p.Name, got)
		}
	}
	u.does(t, "delete", "node", "-n", ns, "--yes").silent(t)
	if err := openShift.Client().Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
}
