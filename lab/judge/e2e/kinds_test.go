package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestKinds: the examples of Kubernetes' own documentation go through inject and kubectl apply, and Kubernetes' own
// controllers make their pods.
func TestKinds(t *testing.T) {
	const ns = "kinds"
	setUp(t)
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " " + c.Name + "\n" }, moreNodes(t)...)
	readsCronJobs(t)
	u := engineer(t, "k-kind", ns)
	for _, s := range kindStories() {
		t.Run(strings.ReplaceAll(s.name, "/", " "), func(t *testing.T) { s.tell(t, u, ns) })
	}
	t.Run("changed by hand", func(t *testing.T) { isChanged(t, u, ns) })
	for _, command := range []string{"status", "doctor", "delete"} {
		u.ends(t, 2, command, "cronjob/hello", "-n", ns).silent(t).says(t,
			"cronjob/hello: a CronJob has no pods of its own: name the Job or TrainJob whose pods are made from it")
	}
}

// isChanged: somebody takes a part of the injection out of the live object. inject --check says what and where, and
// blames none of its field managers: who removes fields is not recorded.
func isChanged(t *testing.T, u user, ns string) {
	s := workloadStory{
		name: "statefulset/web", manifest: web, train: "nginx", pods: []string{"web-0", "web-1"}, files: true,
	}
	u.stdin = s.inject(t, u, ns)
	s.made(t, ns)
	run := kubectlProgram(t, u)
	run("", "-n", ns, "patch", s.name, "--type=json",
		`--patch=[{"op": "remove", "path": "/spec/template/spec/initContainers"}]`)
	r := u.ends(t, 1, s.injects(ns, "--check")...)
	r.prints(t, "not all of it reached StatefulSet web: ", "init container railhead-pod-files", "[injection-kept]")
	if strings.Contains(r.out, "field manager of StatefulSet web") {
		t.Errorf("it blames a client that removed nothing:\n%s", r.out)
	}
	run("", "-n", ns, "delete", s.name, "service/nginx")
}

// kindStories are of the kinds of Kubernetes. The manifests are those of content/en/examples of kubernetes/website, by
// the path there.
func kindStories() []workloadStory {
	three := func(pattern string) []string { return []string{pattern, pattern, pattern} }
	return []workloadStory{
		{name: "pod/nginx", manifest: simplePod, train: "nginx", pods: []string{"nginx"}, files: true},
		{
			name: "deployment/nginx-deployment", manifest: nginxDeployment, train: "nginx", files: true,
			pods: three("nginx-deployment-*"),
		},
		{name: "replicaset/frontend", manifest: frontend, train: "php-redis", files: true, pods: three("frontend-*")},
		{name: "statefulset/web", manifest: web, train: "nginx", files: true, pods: []string{"web-0", "web-1"}},
		{
			name: "daemonset/fluentd-elasticsearch", manifest: fluentd, train: "fluentd-elasticsearch", files: true,
			pods: append(three("fluentd-elasticsearch-*"), "fluentd-elasticsearch-*"),
		},
		{name: "job/pi", manifest: pi, train: "pi", pods: []string{"pi-*"}},
		{
			name:     fmt.Sprintf("job/hello-%d", newYear().Unix()/60), // kubernetes pkg/controller/cronjob getJobName
			manifest: hello, train: "hello", pods: []string{"hello-*"}, then: missesRun,
		},
		{ // a kind that railhead does not know
			name: "replicationcontroller/nginx", manifest: replication, train: "nginx", files: true,
			flags: []string{"--template-path=spec.template"}, pods: three("nginx-*"),
		},
	}
}

// newYear is the last time at which the CronJob was to run.
func newYear() time.Time { return time.Date(time.Now().UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC) }

// readsCronJobs lets Kueue, where it runs, read the owner of a CronJob's Job. Kueue 0.11 does that before it admits any
// Job and has no right to it, so that its webhook would not answer.
func readsCronJobs(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: meta("", "e2e-cronjobs"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"get", "list", "watch"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta("", role.Name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:kueue-system",
		}},
	}
	create(t, openShift.Client(), role, binding)
	remove(t, openShift.Client(), role, binding)
}

// missesRun lets the CronJob's controller think that it missed the last run, so that it makes the Job at once.
func missesRun(t *testing.T, _ user, ns string) {
	patch := fmt.Appendf(nil, `{"status": {"lastScheduleTime": %q}}`, newYear().Add(-time.Hour).Format(time.RFC3339))
	cronJob := &batchv1.CronJob{ObjectMeta: meta(ns, "hello")}
	err := openShift.Client().Status().Patch(t.Context(), cronJob, client.RawPatch(types.MergePatchType, patch))
	if err != nil {
		t.Fatal(err)
	}
}

const (
	simplePod = `# pods/simple-pod.yaml
apiVersion: v1
kind: Pod
metadata:
  name: nginx
spec:
  containers:
  - name: nginx
    image: nginx:1.14.2
    ports:
    - containerPort: 80
`
	nginxDeployment = `# controllers/nginx-deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
  labels:
    app: nginx
spec:
  replicas: 3
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.14.2
        ports:
        - containerPort: 80
`
	frontend = `# controllers/frontend.yaml
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: frontend
  labels:
    app: guestbook
    tier: frontend
spec:
  # modify replicas according to your case
  replicas: 3
  selector:
    matchLabels:
      tier: frontend
  template:
    metadata:
      labels:
        tier: frontend
    spec:
      containers:
      - name: php-redis
        image: us-docker.pkg.dev/google-samples/containers/gke/gb-frontend:v5
`
	// without its volume claims: the cluster has no storage, and the scheduler would wait for it.
	web = `# application/web/web-parallel.yaml
apiVersion: v1
kind: Service
metadata:
  name: nginx
  labels:
    app: nginx
spec:
  ports:
  - port: 80
    name: web
  clusterIP: None
  selector:
    app: nginx
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
spec:
  serviceName: "nginx"
  podManagementPolicy: "Parallel"
  replicas: 2
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: registry.k8s.io/nginx-slim:0.24
        ports:
        - containerPort: 80
          name: web
`
	// on the nodes with GPUs, in the namespace of the command line, and without its volumes of the host.
	fluentd = `# controllers/daemonset.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: fluentd-elasticsearch
  labels:
    k8s-app: fluentd-logging
spec:
  selector:
    matchLabels:
      name: fluentd-elasticsearch
  template:
    metadata:
      labels:
        name: fluentd-elasticsearch
    spec:
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations:
      # these tolerations are to have the daemonset runnable on control plane nodes
      # remove them if your control plane nodes should not run pods
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
        effect: NoSchedule
      - key: node-role.kubernetes.io/master
        operator: Exists
        effect: NoSchedule
      containers:
      - name: fluentd-elasticsearch
        image: quay.io/fluentd_elasticsearch/fluentd:v5.0.1
        resources:
          limits:
            memory: 200Mi
          requests:
            cpu: 100m
            memory: 200Mi
      terminationGracePeriodSeconds: 30
`
	replication = `# controllers/replication.yaml
apiVersion: v1
kind: ReplicationController
metadata:
  name: nginx
spec:
  replicas: 3
  selector:
    app: nginx
  template:
    metadata:
      name: nginx
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: nginx
        ports:
        - containerPort: 80
`
	pi = `# controllers/job.yaml
apiVersion: batch/v1
kind: Job
metadata:
  name: pi
spec:
  template:
    spec:
      containers:
      - name: pi
        image: perl:5.34.0
        command: ["perl",  "-Mbignum=bpi", "-wle", "print bpi(2000)"]
      restartPolicy: Never
  backoffLimit: 4
`
	// once a year: every minute, it would make more Jobs meanwhile.
	hello = `# application/job/cronjob.yaml
apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  schedule: "0 0 1 1 *"
  timeZone: Etc/UTC
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: hello
            image: busybox:1.28
            imagePullPolicy: IfNotPresent
            command:
            - /bin/sh
            - -c
            - date; echo Hello from the Kubernetes cluster
          restartPolicy: OnFailure
`
)
