package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

// TestInjectFlags: every flag of inject changes what it writes, or is refused.
func TestInjectFlags(t *testing.T) {
	const text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec: {serviceAccountName: railhead, " +
		"containers: [{name: c, image: i, command: [x], env: [{name: MY, value: '0'}]}, {name: d, image: i, command: [y]}]}\n"
	folder := t.TempDir()
	binary, another := "--pod-binary=amd64="+filepath.Join(folder, "one"), "--pod-binary=amd64="+filepath.Join(folder, "another")
	for _, name := range []string{"one", "another"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := rulestest.Training(t)
	s.Server.Version, s.Server.Minor = "v1.34.2", 34
	s.Read = append(s.Read, cluster.RuntimeClasses)
	s.RuntimeClasses = []cluster.RuntimeClass{{Name: "nvidia"}}
	for i := range s.SCCs {
		s.SCCs[i].Volumes, s.SCCs[i].AllowedCapabilities, s.SCCs[i].RunAsUser = []string{"*"}, []string{"IPC_LOCK"}, "RunAsAny"
	}
	cases := map[string]struct {
		args     []string
		manifest string // text
		refused  string // else the manifest changes
	}{
		"mode":              {args: []string{"--mode=tcp"}},
		"gpus":              {args: []string{"--gpus=4"}},
		"gpu-resource":      {args: []string{"--gpu-resource=amd.com/gpu"}, refused: "--gpu-resource is amd.com/gpu, but container c has no GPU without --gpus"},
		"network":           {args: []string{"--network=rail0"}},
		"claims":            {args: []string{"--claims"}, refused: "the cluster has no resource claims"},
		"env":               {args: []string{"-e", "MY=1"}},
		"pod-image":         {args: []string{"--pod-image=registry.example.com/railhead-pod:1"}},
		"image-volume":      {args: []string{"--pod-image=registry.example.com/railhead-pod:1", "--image-volume"}},
		"pod-binary":        {args: []string{another}},
		"preflight":         {args: []string{"--preflight=fail"}},
		"gdr-level":         {args: []string{"--gdr-level=SYS"}},
		"service-account":   {args: []string{"--service-account=other"}, refused: "--service-account is other, but container c has serviceAccountName railhead"},
		"scc":               {args: []string{"--scc=nonesuch"}, refused: "SCC nonesuch does not exist"},
		"privileged":        {args: []string{"--privileged"}, refused: "service account railhead may use no SCC that allows privileged containers"},
		"memlock":           {args: []string{"--memlock=node"}},
		"shm":               {args: []string{"--shm=3Gi"}},
		"cpu":               {args: []string{"--cpu=3"}},
		"memory":            {args: []string{"--memory=3Gi"}},
		"ephemeral-storage": {args: []string{"--ephemeral-storage=3Gi"}},
		"toleration":        {args: []string{"--toleration=a=b"}},
		"runtime-class":     {args: []string{"--runtime-class=nvidia"}},
		"container":         {args: []string{"--container=d"}},
		"template-path": {
			args:     []string{"--template-path=spec.worker"},
			manifest: "apiVersion: example.com/v1\nkind: Train\nmetadata: {name: a, namespace: train}\nspec: {worker: {spec: {containers: [{name: c, image: i, command: [x]}]}}}\n",
		},
		"wrap": {args: []string{"--wrap=never"}},
	}
	inject := func(args []string, text string) (out, told string) {
		t.Helper()
		var j jobFlags
		cmd := &cobra.Command{}
		j.addManifest(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		o, err := j.options(cmd, nil)
		if err != nil {
			t.Fatal(err)
		}
		before, err := manifests.Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		a := &app{Streams: Streams{Out: &stdout, Err: &stderr}}
		i, err := a.injected(injection{text: []byte(text), before: before, options: o}, map[string]cluster.State{"train": s})
		if err == nil {
			err = a.writeInjected(i)
		}
		return stdout.String(), fmt.Sprint(stderr.String(), err)
	}
	plain, _ := inject([]string{binary}, text)
	var j jobFlags
	cmd := &cobra.Command{}
	j.addManifest(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		c, ok := cases[f.Name]
		if f.Name == "check" { // writes nothing
			return
		}
		if !ok {
			t.Errorf("no case of --%s", f.Name)
		}
		if f.Name != "pod-binary" && f.Name != "pod-image" && f.Name != "image-volume" {
			c.args = append(c.args, binary)
		}
		out, told := inject(c.args, cmp.Or(c.manifest, text))
		switch {
		case c.refused != "" && (out != "" || !strings.Contains(told, c.refused)):
			t.Errorf("--%s: not refused with %q:\n%s%s", f.Name, c.refused, out, told)
		case c.refused == "" && (out == "" || out == plain || out == text):
			t.Errorf("--%s changes nothing:\n%s%s", f.Name, out, told)
		}
	})
	for _, flag := range []string{"script", "image", "nodes", "run-as-user", "volume"} {
		if cmd.Flags().Lookup(flag) != nil {
			t.Errorf("inject has --%s, which a manifest has", flag)
		}
	}
}

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
