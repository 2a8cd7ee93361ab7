package e2e_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	before := objectsOf(t, openShift, ns)
	job := func(claim string) []string {
		return append(deploy("h-kim", ns, "--volume=data=pvc:"+claim, "--label=team=vision", "--annotation=example.com/owner=h-kim, r-sato",
			"--priority-class=system-node-critical", "--grace-period=10m", "--disruption-budget", "--startup-probe", "--gdr-level=PHB", "--guaranteed",
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
		*pod.Spec.TerminationGracePeriodSeconds != int64(10*time.Minute/time.Second) || pod.Spec.Containers[0].StartupProbe == nil {
		t.Errorf("pods %+v", pod)
	}
	u.does(t, once...).silent(t).says(t, "Wait until the pods of h-kim run")
	u.ends(t, 1, append([]string{once[0], "--kind=statefulset"}, once[1:]...)...).silent(t).says(t, "h-kim already exists as a Job, so it cannot be deployed as a StatefulSet")
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t).says(t, "deleted Job h-kim", "deleted PodDisruptionBudget h-kim")
	eventually(t, "nothing is left", func() error {
		after, err := objectsOf(t, openShift, ns), c.Get(t.Context(), client.ObjectKeyFromObject(&budget), &budget)
		if !maps.Equal(before, after) || client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("objects %v, before %v, budget %w", after, before, err)
		}
		return nil
	})
}
