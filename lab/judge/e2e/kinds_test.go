package e2e_test

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestKinds: the examples of Kubernetes' own documentation go through inject and kubectl apply, and Kubernetes' own
// controllers make their pods.
func TestKinds(t *testing.T) {
	const ns = "kinds"
	setUp(t)
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " " + c.Name + "\n" }, moreNodes(t)...)
	u := engineer(t, "k-kind", ns)
	for _, s := range kindStories() {
		t.Run(strings.ReplaceAll(s.name, "/", " "), func(t *testing.T) { s.tell(t, u, ns) })
	}
	for _, command := range []string{"status", "doctor", "delete"} {
		u.ends(t, 2, command, "cronjob/hello", "-n", ns).silent(t).says(t,
			"cronjob/hello: a CronJob has no pods of its own: name the Job or TrainJob whose pods are made from it")
	}
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
			name: "job/hello-now", manifest: hello, train: "hello", pods: []string{"hello-now-*"},
			then: func(t *testing.T, u user, ns string) {
				kubectlProgram(t, u)("", "-n", ns, "create", "job", "hello-now", "--from=cronjob/hello")
			},
		},
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
	// suspended: its schedule would make more Jobs meanwhile
	hello = `# application/job/cronjob.yaml
apiVersion: batch/v1
kind: CronJob
metadata:
  name: hello
spec:
  schedule: "* * * * *"
  suspend: true
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
