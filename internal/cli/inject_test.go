package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/workload"
)

// TestInjectTellsOfTCP: mode auto without rails tells that the pods get none, and why; stdout has only the manifest.
func TestInjectTellsOfTCP(t *testing.T) {
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\n" +
		"spec: {containers: [{name: c, image: i, command: [x]}]}\n"
	served := cluster.State{Server: cluster.Server{Groups: []string{cluster.NetworkGroup}}}
	for name, c := range map[string]struct {
		state cluster.State
		want  []string
	}{
		"attachments are not read": {served, []string{
			"Note: Mode auto uses TCP: the network attachments of namespace train could not be read.",
			"whether namespace train has rails is unknown: its network attachments could not be read",
		}},
		"no Multus": {cluster.State{}, []string{
			"Note: Mode auto uses TCP: the cluster has no network attachments",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			both := []byte(text + "---\n" + strings.Replace(text, "name: a", "name: b", 1))
			before, err := manifests.Read(both)
			if err != nil {
				t.Fatal(err)
			}
			var out, told bytes.Buffer
			a := &app{Streams: Streams{Out: &out, Err: &told}}
			options := job.Options{Mode: nccl.Auto, PodImage: "registry.example.com/railhead-pod:1"}
			i, err := a.injected(injection{text: both, before: before, options: options},
				map[string]cluster.State{"train": c.state})
			if err == nil {
				err = a.writeInjected(i)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, told.String())
			}
			for _, want := range c.want {
				if strings.Count(told.String(), want) != 1 {
					t.Errorf("%q is not there once:\n%s", want, told.String())
				}
			}
			if strings.Count(told.String(), "Note: ") != 1 || strings.Contains(out.String(), "Note") {
				t.Errorf("stdout:\n%s\nstderr:\n%s", out.String(), told.String())
			}
		})
	}
}

// TestCheckOfUnsuitable: --check of a manifest that cannot be injected does not know, and does not talk of writing.
func TestCheckOfUnsuitable(t *testing.T) {
	before, err := manifests.Read([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	a := &app{Streams: Streams{Err: &told}}
	_, err = a.injected(injection{compare: true, before: before}, nil)
	var coded exit.Error
	if !errors.As(err, &coded) || coded.Code != exit.Unknown || coded.Error() != "nothing was compared" {
		t.Errorf("%v", err)
	}
	if !strings.Contains(told.String(), "railhead does not know where Service has pod templates") {
		t.Errorf("stderr: %s", told.String())
	}
}

// TestCheckOfRuntime: a runtime of the whole cluster is compared with the JobSets of a namespace.
func TestCheckOfRuntime(t *testing.T) {
	const template = "{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: 'rail-0,rail-1', railhead.dev/injected: files}}, " +
		"spec: {containers: [{name: node, env: [{name: RAILHEAD_MODE, value: rdma}]}]}}"
	jobs := "{replicatedJobs: [{name: node, template: {spec: {template: " + template + "}}}]}"
	all, err := manifests.Read([]byte("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n" +
		"metadata: {name: torch}\nspec: {template: {spec: " + jobs + "}}\n---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n" +
		"metadata: {name: llama, namespace: train, ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, " +
		"name: llama, controller: true}]}\nspec: " + jobs + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	runtimes, _ := workload.Of("ClusterTrainingRuntime")
	jobSets, _ := workload.Of("JobSet")
	s := cluster.State{
		Read:      []cluster.Kind{cluster.Workloads, cluster.Pods},
		TrainJobs: []cluster.TrainJob{{Namespace: "train", Name: "llama", Runtime: "torch"}},
		Workloads: []cluster.Workload{
			{Kind: "TrainJob", Namespace: "train", Name: "llama"}, kube.Workload(jobSets, all[1].Object),
		},
	}
	var shown bytes.Buffer
	report.Findings(&shown, checkManifest(kube.Workload(runtimes, all[0].Object), "train", s), report.Full)
	if shown.Len() > 0 {
		t.Errorf("the same template:\n%s", shown.String())
	}
	s.Workloads[1].Templates[0].Annotations = nil
	if report.Findings(&shown, checkManifest(kube.Workload(runtimes, all[0].Object), "train", s), report.Full); !strings.Contains(shown.String(),
		"without annotation k8s.v1.cni.cncf.io/networks") {
		t.Errorf("without attachments:\n%s", shown.String())
	}
}
