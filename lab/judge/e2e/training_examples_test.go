//go:build workloads

package e2e_test

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/lab/controlplane/assets"
)

// workloadStories are the examples of the controllers' own projects.
func workloadStories() []workloadStory {
	stories := []workloadStory{
		{name: "job/queued", manifest: queuedJob, train: "train", pods: []string{"queued-0-*", "queued-1-*"}, then: queued},
		{
			name: "jobset/pytorch", program: assets.JobSet, train: "pytorch",
			examples: []string{"site/static/examples/pytorch/resnet-cifar10/resnet.yaml"},
			pods: []string{
				"pytorch-workers-0-0-*", "pytorch-workers-0-1-*", "pytorch-workers-0-2-*", "pytorch-workers-0-3-*",
			},
		},
		{
			name: "trainjob/llama", program: assets.Trainer, manifest: trainJob, train: "node", files: true,
			examples: []string{"manifests/base/runtimes/torch_distributed.yaml"},
			pods:     []string{"llama-node-0-0-*", "llama-node-0-1-*"},
		},
		{
			name: "trainjob/local", program: assets.Trainer, train: "node", files: true,
			manifest: strings.NewReplacer("llama", "local", "{name: torch", "{kind: TrainingRuntime, name: torch").
				Replace(trainJob),
			examples: []string{"manifests/base/runtimes/torch_distributed.yaml"},
			change:   []string{"kind: ClusterTrainingRuntime", "kind: TrainingRuntime"},
			pods:     []string{"local-node-0-0-*", "local-node-0-1-*"},
		},
		{
			name: "mpijob/tensorflow-benchmarks", program: assets.MPI, train: "tensorflow-benchmarks", files: true,
			examples: []string{"examples/v2beta1/tensorflow-benchmarks/tensorflow-benchmarks.yaml"},
			pods: []string{
				"tensorflow-benchmarks-worker-0", "tensorflow-benchmarks-worker-1", "tensorflow-benchmarks-launcher-*",
			},
			without: 1, helpers: 1,
		},
		{
			name: "leaderworkerset/vllm", program: assets.LeaderWorkerSet, train: "vllm-",
			examples: []string{"docs/examples/vllm/GPU/lws.yaml"},
			pods:     []string{"vllm-0", "vllm-0-1", "vllm-1", "vllm-1-1"},
		},
		{
			name: "job.batch.volcano.sh/lm-mpi-job", program: assets.Volcano, train: "mpiworker", files: true,
			examples: []string{"example/integrations/mpi/mpi-example.yaml"}, flags: []string{"--container=mpiworker"},
			pods:    []string{"lm-mpi-job-mpimaster-0", "lm-mpi-job-mpiworker-0", "lm-mpi-job-mpiworker-1"},
			without: 1,
		},
	}
	return slices.Concat(stories, operatorStories(), rayStories())
}

// erasedStory is a workload whose controller replaces what inject adds.
type erasedStory struct {
	workloadStory
	compared, diagnosed []string // what inject --check and doctor print
}

func erasedStories() []erasedStory {
	const perNode = "trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 8}}, "
	ray := func(name, example, indent string, more ...string) erasedStory {
		item, next := "\n"+indent+"- ", "\n"+indent+"  "
		s := erasedStory{
			workloadStory: workloadStory{
				name: name, program: assets.Ray, train: "ray-worker", examples: []string{example},
				change:  []string{item + "name: ray-worker ", item + "command: [python, x.py]" + next + "name: ray-worker "},
				flags:   []string{"--container=ray-worker", "--wrap=always"},
				pods:    append([]string{"head", "worker"}, more...),
				without: 1 + len(more),
			},
			diagnosed: []string{"[injection-kept]", "command of container ray-worker", "ray.io/overwrite-container-cmd"},
		}
		s.compared = append(slices.Clone(s.diagnosed), ": kuberay-operator")
		return s
	}
	return []erasedStory{
		{
			workloadStory: workloadStory{
				name: "trainjob/llama", program: assets.Trainer, train: "node", files: true,
				manifest: strings.Replace(trainJob, "trainer: {", perNode, 1),
				examples: []string{"manifests/base/runtimes/torch_distributed.yaml"}, pods: []string{"0", "1"},
			},
			compared: []string{
				"resource openshift.io/eno5np0rdma of container node", "resourcesPerNode",
				"field manager of JobSet llama: trainer",
			},
			diagnosed: []string{
				"[pod-resources]", "only its init container requests openshift.io/eno5np0rdma",
				"resourcesPerNode of TrainJob llama replaces",
			},
		},
		{
			workloadStory: workloadStory{
				name: "trainjob/llama", program: assets.Trainer, manifest: trainJob, train: "node",
				flags:    []string{"--wrap=always"},
				examples: []string{"manifests/base/runtimes/torch_distributed.yaml"}, pods: []string{"0", "1"},
			},
			compared:  []string{"command of container node", "command, env and resourcesPerNode in spec.trainer of the TrainJob"},
			diagnosed: []string{"[injection-kept]", "no container has its command", "in spec.trainer of the TrainJob"},
		},
		ray("raycluster/raycluster-kuberay", "config/samples/ray-cluster.sample.yaml", "        "),
		ray("rayjob/rayjob-sample", "config/samples/ray-job.sample.yaml", "          ", "submitter"),
	}
}

// operatorStories returns the stories of the training operator.
func operatorStories() []workloadStory {
	return []workloadStory{
		{
			name: "pytorchjob/pytorch-simple", program: assets.Training, train: "pytorch",
			examples: []string{"examples/pytorch/simple.yaml"},
			pods:     []string{"pytorch-simple-master-0", "pytorch-simple-worker-0"},
		},
		{
			name: "tfjob/tfjob-simple", program: assets.Training, train: "tensorflow",
			examples: []string{"examples/tensorflow/simple.yaml"},
			pods:     []string{"tfjob-simple-worker-0", "tfjob-simple-worker-1"},
		},
		{
			name: "xgboostjob/xgboost-dist-iris-test-train", program: assets.Training, train: "xgboost", files: true,
			examples: []string{"examples/xgboost/xgboostjob.yaml"},
			pods: []string{
				"xgboost-dist-iris-test-train-master-0", "xgboost-dist-iris-test-train-worker-0",
				"xgboost-dist-iris-test-train-worker-1",
			},
		},
		{
			name: "paddlejob/paddle-simple-gpu", program: assets.Training, train: "paddle",
			examples: []string{"examples/paddlepaddle/simple-gpu.yaml"},
			pods:     []string{"paddle-simple-gpu-worker-0", "paddle-simple-gpu-worker-1"},
		},
		{
			name: "jaxjob/jaxjob-simple", program: assets.Training, train: "jax",
			examples: []string{"examples/jax/cpu-demo/demo.yaml"},
			pods:     []string{"jaxjob-simple-worker-0", "jaxjob-simple-worker-1"},
		},
	}
}

// rayStories returns the stories of KubeRay. No Ray answers in the heads, so a RayService serves nothing.
func rayStories() []workloadStory {
	var stories []workloadStory
	for _, s := range [][2]string{
		{"raycluster/raycluster-kuberay", "ray-cluster"}, {"rayjob/rayjob-sample", "ray-job"},
		{"rayservice/rayservice-sample", "ray-service"},
	} {
		_, name, _ := strings.Cut(s[0], "/")
		story := workloadStory{
			name: s[0], program: assets.Ray, train: "ray-worker", files: true,
			examples: []string{"config/samples/" + s[1] + ".sample.yaml"}, flags: []string{"--container=ray-worker"},
			pods: []string{name + "*-head-*", name + "*-worker-*"}, without: 1,
		}
		if s[1] == "ray-job" { // its submitter comes when the others are ready
			story.pods, story.without, story.helpers = append(story.pods, name+"-?????"), 2, 1
		}
		stories = append(stories, story)
	}
	return stories
}

const queuedJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: queued, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: example.invalid/pytorch
        command: [torchrun, train.py]
        resources: {limits: {nvidia.com/gpu: 8, cpu: 8, memory: 32Gi}}
`

const trainJob = `
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, train.py]}
`

// queues admits the Jobs of namespace w-job if it covers what they request.
const queues = `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu%s]
    flavors:
    - name: h100
      resources:
      - {name: cpu, nominalQuota: 512}
      - {name: memory, nominalQuota: 4Ti}
      - {name: nvidia.com/gpu, nominalQuota: 16}
%s---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: research, namespace: w-job}
spec: {clusterQueue: research}
`
