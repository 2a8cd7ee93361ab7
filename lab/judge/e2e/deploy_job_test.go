package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// TestDeployIndexedJob: a Job runs the command once, its pods have the names that the rendezvous needs, and nothing of it is left.
func TestDeployIndexedJob(t *testing.T) {
	const ns, index = "once", "batch.kubernetes.io/job-completion-index"
	setUp(t)
	u := engineer(t, "j-once", ns)
	before := objectsOf(t, openShift, ns)
	once := deploy("h-kim", ns, "--kind=job")
	u.does(t, once...).silent(t).says(t, "apply  Job once/h-kim  (runs 2 pods, once)", "h-kim: 2 of 2 pods ready")
	pods := podsOf(t, openShift, ns, "h-kim")
	if len(pods) != 2 || pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Fatalf("pods %v", pods)
	}
	for i, p := range pods {
		leastPrivilege(t, p)
		env := map[string]string{}
		for _, v := range p.Spec.Containers[0].Env {
			if env[v.Name] = v.Value; v.ValueFrom != nil {
				env[v.Name] = v.ValueFrom.FieldRef.FieldPath
			}
		}
		if env["MASTER_ADDR"] != "h-kim-0.h-kim-headless.once.svc" || env["NODE_RANK"] != "metadata.annotations['"+index+"']" ||
			p.Annotations[index] != fmt.Sprint(i) || p.Spec.Hostname != fmt.Sprint("h-kim-", i) || p.Spec.Subdomain != "h-kim-headless" {
			t.Errorf("%s: host %s.%s, %v, annotations %v", p.Name, p.Spec.Hostname, p.Spec.Subdomain, env, p.Annotations)
		}
	}
	u.does(t, once...).silent(t).says(t, "Nothing to do")
	u.ends(t, 1, append(once, "--image=example.invalid/pytorch:3.0")...).silent(t).says(t,
		"h-kim exists with other settings, and a Job cannot be changed", "railhead delete h-kim -n once", "nothing was written")
	u.does(t, deploy("h-kim", ns)...).silent(t).says(t, "Nothing to do") // without --kind, what exists stays
	u.ends(t, 1, deploy("h-kim", ns, "--kind=statefulset")...).silent(t).says(t, "h-kim already exists as a Job, so it cannot be deployed as a StatefulSet")
	u.does(t, "status", "h-kim", "-n", ns).prints(t, "h-kim-0-", "h-kim-1-", railheadSCC)
	u.ends(t, 1, "delete", "sts/h-kim", "-n", ns, "--yes").silent(t).says(t, "there is no statefulset/h-kim in namespace once",
		"To delete the job of 'railhead deploy': railhead delete job/h-kim -n once")
	u.ends(t, 1, "restart", "h-kim", "-n", ns, "--yes").silent(t).says(t, "the pods of job/h-kim cannot be restarted", "railhead delete job/h-kim -n once")
	if left := podsOf(t, openShift, ns, "h-kim"); len(left) != 2 {
		t.Fatalf("%d pods are left of a job that was not deleted", len(left))
	}
	kubectlProgram(t, u)("", "-n", ns, "delete", "pod", pods[1].Name) // why restart refuses: it fails the Job
	eventually(t, "the Job has failed", func() error {
		r := u.railhead(t, "status", "h-kim", "-n", ns)
		return unless(r.code == 1 && strings.Contains(r.out+r.err, "BackoffLimitExceeded"), r.out+r.err)
	})
	u.does(t, "delete", "job/h-kim", "-n", ns, "--yes").silent(t).says(t, "deleted Job h-kim")
	eventually(t, "nothing is left", func() error {
		if after, pods := objectsOf(t, openShift, ns), podsOf(t, openShift, ns, "h-kim"); !maps.Equal(before, after) || len(pods) > 0 {
			return fmt.Errorf("objects %v, before %v; %d pods", after, before, len(pods))
		}
		return nil
	})
}
