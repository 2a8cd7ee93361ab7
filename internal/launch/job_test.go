package launch

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/workload"
)

// ofJob is a pod of the job h-kim.
func ofJob(name string, change func(*cluster.Pod)) cluster.Pod {
	p := launchtest.RunningPod(name)
	if change != nil {
		change(&p)
	}
	return p
}

func index(n string) func(*cluster.Pod) {
	return func(p *cluster.Pod) {
		p.Annotations = map[string]string{"batch.kubernetes.io/job-completion-index": n}
	}
}

func TestTargets(t *testing.T) {
	for name, c := range map[string]struct {
		pods []cluster.Pod
		want []string
	}{
		"twelve pods of a StatefulSet": {
			[]cluster.Pod{
				ofJob("h-kim-0", nil),
				ofJob("h-kim-1", nil),
				ofJob("h-kim-10", nil),
				ofJob("h-kim-11", nil),
				ofJob("h-kim-2", nil),
			},
			[]string{"0 h-kim-0", "1 h-kim-1", "2 h-kim-2", "10 h-kim-10", "11 h-kim-11"},
		},
		"pods of a JobSet": {
			[]cluster.Pod{ofJob("h-kim-worker-0-0-x7kzq", index("0")), ofJob("h-kim-worker-0-1-2abcd", index("1"))},
			[]string{"0 h-kim-worker-0-0-x7kzq", "1 h-kim-worker-0-1-2abcd"},
		},
		"one is being replaced": {
			[]cluster.Pod{
				ofJob("w-0-aaaaa", index("0")),
				ofJob("w-1-bbbbb", func(p *cluster.Pod) { index("1")(p); p.Deleted = true }),
				ofJob("w-1-ccccc", index("1")),
			},
			[]string{"0 w-0-aaaaa", "1 w-1-ccccc"},
		},
		"one is being deleted": {
			[]cluster.Pod{ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted = true })},
			[]string{"0 h-kim-0"},
		},
		"pods of others": {
			[]cluster.Pod{
				ofJob("h-kim-0", func(p *cluster.Pod) { p.Namespace = "other" }),
				ofJob("x-0", func(p *cluster.Pod) { p.Labels = nil }),
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, target := range Targets(lookup(cluster.State{Pods: c.pods})) {
				got = append(got, strings.NewReplacer("rank ", "", " (pod ", " ", ")", "").Replace(target.String()))
				if target.Container != "train" {
					t.Errorf("container %q", target.Container)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// lookup returns the job h-kim, without pods if there is none.
func lookup(s cluster.State) workload.Family {
	f, _ := workload.Lookup(s, workload.Ref{Name: "h-kim"}, "train")
	return f
}

// planned is the objects that deploy writes for a job, as the server has them.
func planned(t *testing.T, o job.Options) cluster.State {
	t.Helper()
	s := cluster.State{
		Server: cluster.Server{Version: "v1.36.3", Minor: 36, Groups: []string{"apps", cluster.JobSetGroup}},
		Read: []cluster.Kind{
			cluster.Nodes,
			cluster.Pods,
			cluster.Namespaces,
			cluster.ServiceAccounts,
			cluster.Quotas,
			cluster.Objects,
		},
		Nodes: []cluster.Node{
			{
				Name:        "a",
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38, "pods": 100},
			},
			{
				Name:        "b",
				Ready:       true,
				Arch:        "amd64",
				Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38, "pods": 100},
			},
		},
		Namespaces:      []cluster.Namespace{{Name: "train"}},
		ServiceAccounts: []cluster.ServiceAccount{{Namespace: "train", Name: "default"}},
	}
	o.Name, o.Namespace, o.Mode, o.GPUs, o.Nodes = "h-kim", "train", nccl.TCP, job.NoGPUs, 2
	o.Image, o.Programs = "registry.example.com/torch:2.9", []delivery.Program{delivery.Packed("amd64", []byte("program"))}
	p, findings := job.Deploy(s, o)
	if check.Worst(findings) == check.Fail {
		t.Fatalf("no plan: %v", findings)
	}
	for _, c := range p.Changes() {
		s.Objects = append(s.Objects, cluster.Object{
			APIVersion: c.Object.GetAPIVersion(), Kind: c.Object.GetKind(),
			Namespace: c.Object.GetNamespace(), Name: c.Object.GetName(), Fields: c.Object.Object,
		})
	}
	return s
}

// runs returns a pod that runs a command.
func runs(command ...string) Target {
	return Target{Container: "train", Pod: cluster.Pod{
		Name:       "h-kim-0",
		Containers: []cluster.Container{{Name: "proxy", Command: []string{"sleep", "1"}}, {Name: "train", Command: command}},
	}}
}

// deployed returns a pod with the command that deploy writes.
func deployed(t *testing.T, o job.Options) Target {
	t.Helper()
	k, object, ok := workload.Find(planned(t, o), "h-kim", "train")
	if !ok {
		t.Fatal("no workload was planned")
	}
	containers, _ := workload.Field(k.PodTemplates(object.Fields)[0], "spec.containers").([]any)
	container, _ := containers[0].(map[string]any)
	var command []string
	for _, word := range container["command"].([]any) {
		command = append(command, word.(string))
	}
	return runs(command...)
}

// TestWaits has what deploy really writes, and commands of users.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		pod  Target
		want bool
	}{
		"without a command":              {deployed(t, job.Options{}), true},
		"JobSet without a command":       {deployed(t, job.Options{Kind: job.JobSet}), true},
		"with a command":                 {deployed(t, job.Options{Command: []string{"torchrun", "train.py"}}), false},
		"JobSet with a command":          {deployed(t, job.Options{Kind: job.JobSet, Command: []string{"torchrun"}}), false},
		"with a script":                  {deployed(t, job.Options{Script: &job.Script{Name: "train.py", Content: []byte("print()")}}), false},
		"the user's own sleep":           {deployed(t, job.Options{Command: []string{"/bin/sleep", "infinity"}}), true},
		"a shell that trains":            {runs("sh", "-c", "python train.py"), false},
		"a shell that sleeps":            {runs("/bin/bash", "-c", "sleep infinity"), true},
		"a shell that sleeps for ever":   {runs("sh", "-c", "while true; do sleep 30; done"), true},
		"a shell that sleeps at first":   {runs("sh", "-c", "sleep 3; python train.py"), false},
		"a shell that sleeps and trains": {runs("sh", "-c", "sleep 3&&python train.py"), false},
		"tail":                           {runs("tail", "-f", "/dev/null"), true},
		"the command of the image":       {runs(), false},
	} {
		if got := c.pod.Waits(); got != c.want {
			t.Errorf("%s: %t: %q", name, got, c.pod.command())
		}
	}
}

func TestBusy(t *testing.T) {
	for name, c := range map[string]struct {
		pods []Target
		says string
	}{
		"waiting": {[]Target{deployed(t, job.Options{})}, ""},
		"one trains": {
			[]Target{runs("sleep", "1d"), deployed(t, job.Options{Command: []string{"torchrun", "train.py"}})},
			"the pods run a command of their own (/railhead/bin/railhead-pod run -- torchrun train.py), which uses " +
				"the same GPUs",
		},
		"the command of the image": {[]Target{runs()}, "the pods run a command of their own (that of their image), which"},
	} {
		err := Busy(c.pods, "h-kim", "train")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotReady(t *testing.T) {
	pulling := ofJob("h-kim-1", func(p *cluster.Pod) {
		p.Ready, p.Phase, p.Node = false, "Pending", "gpu-2"
		p.Containers = []cluster.Container{{Name: "train", Waiting: "ContainerCreating"}}
	})
	for name, c := range map[string]struct {
		pods []cluster.Pod
		want []string
	}{
		"all ready": {[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", nil)}, nil},
		"one is being made": {
			[]cluster.Pod{ofJob("h-kim-0", nil), pulling},
			[]string{"h-kim-1: ContainerCreating (gpu-2)"},
		},
		"one is not there": {
			[]cluster.Pod{ofJob("h-kim-0", nil)},
			[]string{"1 pod missing: waiting (the controller creates them)"},
		},
		"one has ended": {
			[]cluster.Pod{
				ofJob("h-kim-0", nil),
				ofJob("h-kim-1", func(p *cluster.Pod) { p.Phase, p.Ready = "Succeeded", false }),
			},
			[]string{"h-kim-1: Succeeded (no node yet)"},
		},
		"one is being deleted": {
			[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", func(p *cluster.Pod) { p.Deleted = true })},
			[]string{"h-kim-1: Terminating (no node yet)"},
		},
		"the job has no pod yet": {nil, []string{"2 pods missing: waiting (the controller creates them)"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.State{Pods: c.pods}
			f := lookup(s)
			f.Namespace, f.Name, f.Size = "train", "h-kim", 2
			if diff := cmp.Diff(c.want, NotReady(s, f)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNotReadyOfOthers has an MPIJob, whose launcher has ended.
func TestNotReadyOfOthers(t *testing.T) {
	f := workload.Family{Workload: cluster.Workload{Kind: "MPIJob", Name: "tests", Namespace: "train", Size: 4, Wanted: 4}}
	launcher := cluster.Pod{Name: "launcher", Phase: "Succeeded", Labels: map[string]string{
		"training.kubeflow.org/job-role": "launcher",
	}}
	f.Pods = []cluster.Pod{{Name: "w-0", Phase: "Running", Ready: true}, {Name: "w-1", Phase: "Pending"}, launcher}
	want := []string{"w-1: Pending (no node yet)", "1 pod missing: waiting (-)"}
	if diff := cmp.Diff(want, NotReady(cluster.State{}, f)); diff != "" {
		t.Error(diff)
	}
}

func TestNoJobText(t *testing.T) {
	s := planned(t, job.Options{})
	for name, want := range map[string]string{
		"h-kin": "there is no job h-kin in namespace train; did you mean h-kim?",
		"other": "there is no job other in namespace train; its jobs are h-kim",
	} {
		if diff := cmp.Diff(want, NoJobText(s, workload.Ref{Name: name}, "train")); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff("there is no job x in namespace train; create it with 'railhead deploy x -n train'",
		NoJobText(cluster.State{}, workload.Ref{Name: "x"}, "train")); diff != "" {
		t.Error(diff)
	}
	forbidden := cluster.State{
		Problems: []cluster.Problem{{Kind: cluster.Objects, Err: "statefulsets.apps is forbidden"}},
	}
	if diff := cmp.Diff("there is no job x in namespace train; its jobs cannot be listed: "+
		"statefulsets.apps is forbidden", NoJobText(forbidden, workload.Ref{Name: "x"}, "train")); diff != "" {
		t.Error(diff)
	}
}

func TestLossOf(t *testing.T) {
	code := 137
	for name, c := range map[string]struct {
		now   cluster.Pod
		there bool
		want  string
	}{
		"it runs":   {ofJob("h-kim-0", nil), true, ""},
		"not ready": {ofJob("h-kim-0", func(p *cluster.Pod) { p.Ready = false }), true, ""},
		"deleted":   {cluster.Pod{}, false, "the pod was deleted"},
		"replaced":  {ofJob("h-kim-0", func(p *cluster.Pod) { p.UID = "another" }), true, "the pod was replaced"},
		"evicted": {
			ofJob("h-kim-0", func(p *cluster.Pod) { p.Phase, p.Reason = "Failed", "Evicted" }),
			true,
			"the pod failed: Evicted",
		},
		"drained": {
			ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted = true }),
			true,
			"the pod is being deleted (evicted, drained or deleted)",
		},
		"its end said": {
			ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted, p.Message = true, "node shutdown" }),
			true,
			"the pod is being deleted: no reason given: node shutdown",
		},
		"out of memory": {ofJob("h-kim-0", func(p *cluster.Pod) {
			p.Containers = []cluster.Container{
				{Name: "train", Restarts: 1, Running: true, ExitCode: &code, Ended: "OOMKilled"},
			}
		}), true, "container train ended: OOMKilled (exit code 137)"},
		"ended for good": {
			ofJob("h-kim-0", func(p *cluster.Pod) {
				p.Containers = []cluster.Container{
					{Name: "train", ExitCode: &code},
				}
			}),
			true,
			"container train ended: no reason given (exit code 137)",
		},
		"another container's end": {ofJob("h-kim-0", func(p *cluster.Pod) {
			p.Containers = append(p.Containers, cluster.Container{Name: "proxy", Restarts: 4})
		}), true, ""},
		"restarted once long ago": {
			ofJob("h-kim-0", func(p *cluster.Pod) { p.Containers[0].ExitCode = &code }),
			true,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want,
				lossReason(launchtest.RunningPod("h-kim-0"), c.now, c.there, "train")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWatched: a pod that the watch leaves out looks deleted, and its rank would be given up.
func TestWatched(t *testing.T) {
	labelled := func(name, instance string) Target {
		p := launchtest.RunningPod(name)
		p.Labels = map[string]string{"app.kubernetes.io/instance": instance}
		return Target{Pod: p}
	}
	want := kube.Want{Kinds: []cluster.Kind{cluster.Pods}, Namespace: "train"}
	ofJob, all := want, want
	ofJob.Job, all.Detail = "h-kim", true
	for name, c := range map[string]struct {
		targets []Target
		want    kube.Want
	}{
		"of deploy":             {[]Target{labelled("a", "h-kim"), labelled("b", "h-kim")}, ofJob},
		"one has another label": {[]Target{labelled("a", "h-kim"), labelled("b", "")}, all},
		"without labels":        {[]Target{labelled("a", ""), labelled("b", "")}, all},
	} {
		if diff := cmp.Diff(c.want, New(nil, Streams{}, c.targets, nil).watched()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNetworkLine(t *testing.T) {
	over := func(transport story.Transport, networks ...string) story.Run {
		return story.Run{
			Ranks: 16, Network: story.Network{Transport: transport}, GPUDirect: story.GPUDirectYes,
			Traffic: story.Traffic{Networks: networks, Channels: 64, Ranks: 16, Devices: []string{"mlx5_6", "mlx5_7"}},
		}
	}
	rdma, tcp, mixed := over(story.RDMA, "IB"), over(story.TCP, "Socket"), over(story.MixedTransport, "IB", "Socket")
	tcp.Traffic.Devices = []string{"eth0"}
	mixed.Traffic.OnTCP, mixed.GPUDirect = []string{"rank 3 on h-kim-0"}, story.GPUDirectNo
	single := story.Run{Network: story.Network{Transport: story.NoTransport}}
	failed := over(story.Unconnected, "IB")
	failed.Network.Why = "NET/IB was chosen, but the run failed while its connections were set up: it carried no data"
	moved := Readings{Taken: 4, Moving: 3, Best: wire.Job{
		Proof: wire.RDMA, Processes: 16, Rails: 8, Machines: 2, Sent: wire.Amount{Packets: 1, Rate: 40e9},
	}}
	half, storage, broken := moved, moved, moved
	half.Quiet, storage.Moving, broken.Lost = 1, 0, 1
	refused := Readings{Taken: 2, Best: wire.Job{Proof: wire.NotProved, Why: "permission denied"}}
	plugin := over(story.Plugin, "gIB")
	plugin.Network.Name, plugin.Traffic.Devices = "gIB", nil
	for name, c := range map[string]struct {
		give NetworkLine
		want string
	}{
		"RDMA": {
			NetworkLine{Run: rdma, Seen: true, Settings: Settings{Mode: string(nccl.RDMA)}},
			"RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7), by NCCL's log",
		},
		"RDMA, and it failed": {
			NetworkLine{Run: rdma, Seen: true, Failed: true},
			"RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7), by NCCL's log; set up " +
				"before the run failed",
		},
		"RDMA, a pod is gone": {
			NetworkLine{Run: rdma, Seen: true, Failed: true, Unread: 1},
			"RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7), by NCCL's log; set up " +
				"before the run failed; the NCCL log of 1 pod could not be read",
		},
		"TCP in mode rdma": {
			NetworkLine{Run: tcp, Seen: true, Settings: Settings{Mode: string(nccl.RDMA)}},
			"TCP: 64 channels over NET/Socket on all 16 ranks (eth0), by NCCL's log, although the mode is " +
				"rdma: over four 400 Gb/s rails RDMA was measured 85 times as fast",
		},
		"TCP in no mode": {
			NetworkLine{Run: tcp, Seen: true},
			"TCP: 64 channels over NET/Socket on all 16 ranks (eth0), by NCCL's log, although the mode is " +
				"rdma: over four 400 Gb/s rails RDMA was measured 85 times as fast",
		},
		"TCP in mode auto": {
			NetworkLine{Run: tcp, Seen: true, Settings: Settings{Mode: string(nccl.Auto)}},
			"TCP: 64 channels over NET/Socket on all 16 ranks (eth0), by NCCL's log (mode auto); over " +
				"four 400 Gb/s rails RDMA was measured 85 times as fast",
		},
		"TCP on purpose": {
			NetworkLine{Run: tcp, Seen: true, Settings: Settings{Mode: string(nccl.TCP)}},
			"TCP: 64 channels over NET/Socket on all 16 ranks (eth0), by NCCL's log, as requested (mode tcp)",
		},
		"one rank on TCP": {
			NetworkLine{Run: mixed, Seen: true, Settings: Settings{Mode: string(nccl.RDMA)}},
			"mixed: rank 3 on h-kim-0 on TCP; 64 channels over NET/IB and NET/Socket without GPUDirect on all 16 " +
				"ranks (mlx5_6, mlx5_7), by NCCL's log, although the mode is rdma: over four " +
				"400 Gb/s rails RDMA was measured 85 times as fast",
		},
		"one pod": {
			NetworkLine{Run: single, Seen: true, Pods: 1},
			"one node: no network between nodes was used, by NCCL's log",
		},
		"each pod for itself": {
			NetworkLine{Run: single, Seen: true, Pods: 2},
			"one node: no network between nodes was used, by NCCL's log; each of the 2 pods trained alone; " +
				"check that the command uses MASTER_ADDR, NNODES and NODE_RANK",
		},
		"no NCCL": {
			NetworkLine{},
			"not known: NCCL logged nothing; the command does not use NCCL, or ended before using it",
		},
		"no NCCL, and a rank did not start": {
			NetworkLine{Pods: 2, Unstarted: 1}, "not known: NCCL logged nothing; 1 of 2 ranks did not start",
		},
		"a run that failed because a rank did not start": {
			NetworkLine{Run: rdma, Seen: true, Failed: true, Pods: 2, Unstarted: 1, Unread: 1},
			"RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7), by NCCL's log; set up " +
				"before the run failed; 1 of 2 ranks did not start; the NCCL log of 1 pod could not be read",
		},
		"NCCL logs warnings alone": {
			NetworkLine{Settings: Settings{Debug: "WARN"}},
			"not known: NCCL logged nothing, because NCCL_DEBUG=WARN is set; use -e NCCL_DEBUG=INFO -e " +
				"NCCL_DEBUG_SUBSYS=INIT,ENV,NET",
		},
		"NCCL said nothing": {
			NetworkLine{Settings: Settings{Debug: "info"}},
			"not known: NCCL logged nothing; the command does not use NCCL, or ended before using it",
		},
		"no part of NCCL is selected": {
			NetworkLine{Settings: Settings{Debug: "INFO", Silent: true}},
			"not known: NCCL logged nothing, because NCCL_DEBUG_SUBSYS has no word that NCCL knows, which silences " +
				"even its warnings: use -e NCCL_DEBUG_SUBSYS=INIT,ENV,NET",
		},
		"into the user's file": {
			NetworkLine{Settings: Settings{Debug: "INFO", DebugFile: "/tmp/nccl.%h"}},
			"not known: NCCL logged nothing here, because NCCL_DEBUG_FILE sends its log to /tmp/nccl.%h",
		},
		"chosen alone": {
			NetworkLine{Seen: true, Run: story.Run{Network: story.Network{Why: "no line shows it"}}},
			"not known: no line shows it",
		},
		"never connected": {
			NetworkLine{Seen: true, Run: failed, Failed: true},
			"none: NET/IB was chosen, but the run failed while its connections were set up: it " +
				"carried no data, by NCCL's log",
		},
		"no NCCL, and the kernel shows RDMA": {
			NetworkLine{Wire: moved},
			"RDMA: 16 processes on 8 rails of 2 pods, 40 GB/s, by the kernel's queue pairs in 3 of 4 readings",
		},
		"no NCCL, and one pod moves nothing": {
			NetworkLine{Wire: half},
			"RDMA: 16 processes on 8 rails of 2 pods, 40 GB/s, by the kernel's queue pairs in 3 of 4 readings; no " +
				"packet of 1 pod",
		},
		"no NCCL, and the network broke connections": {
			NetworkLine{Wire: broken},
			"RDMA: 16 processes on 8 rails of 2 pods, 40 GB/s, by the kernel's queue pairs in 3 of 4 readings; " +
				"connections were lost in 1 reading",
		},
		"no NCCL, and the kernel shows no queue pair": {
			NetworkLine{Wire: Readings{Taken: 1, Best: wire.Job{Proof: wire.NoConnection}}},
			"not known: NCCL logged nothing; the command does not use NCCL, or ended before using it; the kernel's " +
				"queue pairs, read 1 time: not RDMA: no queue pair is connected",
		},
		"NCCL chose, and the kernel was not read": {
			NetworkLine{Seen: true, Run: story.Run{Network: story.Network{Why: "no line shows it"}}, Wire: refused},
			"not known: no line shows it; the kernel's queue pairs, read 2 times: unknown: the queue pairs could not " +
				"be read: permission denied",
		},
		"RDMA, but not between the pods": {
			NetworkLine{Settings: Settings{Debug: "info"}, Wire: storage},
			"not known: NCCL logged nothing; the command does not use NCCL, or ended before using it; the kernel's " +
				"queue pairs, read 4 times: RDMA: 16 processes on 8 rails of 2 pods, 40 GB/s; no connection between " +
				"two of these pods was seen",
		},
		"the log says TCP, whatever the kernel shows": {
			NetworkLine{Run: tcp, Seen: true, Settings: Settings{Mode: string(nccl.TCP)}, Wire: moved},
			"TCP: 64 channels over NET/Socket on all 16 ranks (eth0), by NCCL's log, as requested (mode tcp)",
		},
		"a plugin, and the kernel shows RDMA": {
			NetworkLine{Run: plugin, Seen: true, Wire: moved},
			"plugin gIB: 64 channels over NET/gIB with GPUDirect on all 16 ranks; its name does not say whether it " +
				"uses RDMA, by NCCL's log; RDMA: 16 processes on 8 rails of 2 pods, 40 GB/s, by the kernel's queue " +
				"pairs in 3 of 4 readings",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.give.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpenFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/train.py", "b/train.py"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		paths []string
		says  string
	}{
		"a directory":         {[]string{"a"}, "is a directory: copy its files one by one with --copy"},
		"no such file":        {[]string{"c.py"}, "no such file"},
		"two of the one name": {[]string{"a/train.py", "b/train.py"}, "would have the same name in the pods: train.py"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, p := range c.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			if _, err := OpenFiles(paths); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestArrived(t *testing.T) {
	f := file{size: 4, sha256: "abc"}
	for said, want := range map[string]string{
		"4\nabc  -\n": "",
		"4\n":         "", // the image has no sha256sum
		" 4 abc -":    "",
		"3\nabc  -\n": "3 of 4 bytes arrived",
		"4\nabd  -\n": "the copy differs from the file: its SHA-256 is abd, not abc",
		"":            "the pod did not report the size of the copy",
	} {
		got := ""
		if err := f.arrived(said); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestSpokenCommand(t *testing.T) {
	for want, argv := range map[string][]string{
		"torchrun --nnodes=2 train.py":    {"torchrun", "--nnodes=2", "train.py"},
		`sh -c "echo \"a b\"\nexit 3" ""`: {"sh", "-c", "echo \"a b\"\nexit 3", ""},
		`"\x1b[m"`:                        {"\x1b[m"},
		strings.Repeat("x", 200) + " ...": {strings.Repeat("x", 1000)},
	} {
		if diff := cmp.Diff(want, commandLine(argv)); diff != "" {
			t.Error(diff)
		}
	}
}

// printer is a pod whose scripts print a text.
type printer string

func (p printer) Exec(_ context.Context, _ kube.PodRef, o kube.ExecOptions) (int, error) {
	echo := strings.Fields(kube.Framed(""))
	_, err := io.WriteString(o.Stdout, string(p)+echo[len(echo)-1]+"\n")
	return 0, err
}

func (p printer) Watch(context.Context, kube.Want) iter.Seq2[cluster.State, error] { return nil }

// TestRunsLongCommand: Linux takes arguments of up to 128 KiB, as of python -c, and JSON may double their quotes. The
// exit code comes after the command.
func TestRunsLongCommand(t *testing.T) {
	text := "id=a\nstarted=2026-03-02T10:00:00.000000000Z\nnote=" + `{"Command":["` + strings.Repeat("x", 250<<10) + `"]}` +
		"\nexit=1 2026-03-02T10:00:01.000000000Z\n"
	runs, err := Runs(t.Context(), printer(text), []Target{{Pod: launchtest.RunningPod("a")}})
	if err != nil || len(runs) != 1 || runs[0].Code == nil || len(runs[0].Command) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}
