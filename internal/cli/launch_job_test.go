package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/plan"
)

// ofJob is a pod of the job h-kim.
func ofJob(name string, change func(*cluster.Pod)) cluster.Pod {
	p := runningPod(name)
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
			[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", nil), ofJob("h-kim-10", nil), ofJob("h-kim-11", nil), ofJob("h-kim-2", nil)},
			[]string{"0 h-kim-0", "1 h-kim-1", "2 h-kim-2", "10 h-kim-10", "11 h-kim-11"},
		},
		"pods of a JobSet": {
			[]cluster.Pod{ofJob("h-kim-worker-0-0-x7kzq", index("0")), ofJob("h-kim-worker-0-1-2abcd", index("1"))},
			[]string{"0 h-kim-worker-0-0-x7kzq", "1 h-kim-worker-0-1-2abcd"},
		},
		"one is being replaced": {
			[]cluster.Pod{ofJob("w-0-aaaaa", index("0")), ofJob("w-1-bbbbb", func(p *cluster.Pod) { index("1")(p); p.Deleted = true }), ofJob("w-1-ccccc", index("1"))},
			[]string{"0 w-0-aaaaa", "1 w-1-ccccc"},
		},
		"one is being deleted": {
			[]cluster.Pod{ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted = true })},
			[]string{"0 h-kim-0"},
		},
		"pods of others": {
			[]cluster.Pod{ofJob("h-kim-0", func(p *cluster.Pod) { p.Namespace = "other" }), ofJob("x-0", func(p *cluster.Pod) { p.Labels = nil })},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, target := range targets(cluster.State{Pods: c.pods}, "h-kim", "train") {
				got = append(got, strings.NewReplacer("rank ", "", " (pod ", " ", ")", "").Replace(target.String()))
				if target.container != trainContainer {
					t.Errorf("container %q", target.container)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// planned is the objects that deploy writes for a job, as the server has them.
func planned(t *testing.T, o plan.JobOptions) cluster.State {
	t.Helper()
	s := cluster.State{
		Server: cluster.Server{Version: "v1.36.3", Minor: 36, Groups: []string{"apps", cluster.JobSetGroup}},
		Read:   []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas, cluster.Objects},
		Nodes: []cluster.Node{
			{Name: "a", Ready: true, Arch: "amd64", Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38, "pods": 100}},
			{Name: "b", Ready: true, Arch: "amd64", Allocatable: cluster.Resources{"cpu": 64000, "memory": 1 << 38, "pods": 100}},
		},
		Namespaces:      []cluster.Namespace{{Name: "train"}},
		ServiceAccounts: []cluster.ServiceAccount{{Namespace: "train", Name: "default"}},
	}
	o.Name, o.Namespace, o.Mode, o.GPUs, o.Nodes = "h-kim", "train", nccl.TCP, plan.NoGPUs, 2
	o.Image, o.Programs = "registry.example.com/torch:2.9", []plan.Program{plan.NewProgram("amd64", []byte("program"))}
	p, findings := plan.Job(s, o)
	if check.Worst(findings) == check.Fail {
		t.Fatalf("no plan: %v", findings)
	}
	for _, c := range p.Changes() {
		s.Objects = append(s.Objects, cluster.Object{
			APIVersion: c.Object.GetAPIVersion(), Kind: c.Object.GetKind(), Namespace: c.Object.GetNamespace(), Name: c.Object.GetName(), Fields: c.Object.Object,
		})
	}
	return s
}

// TestWaits holds the recognition of waiting pods to what deploy really writes.
func TestWaits(t *testing.T) {
	type result struct {
		Known, Waits bool
		Pods         int
	}
	for name, c := range map[string]struct {
		options plan.JobOptions
		want    result
	}{
		"without a command":            {plan.JobOptions{}, result{true, true, 2}},
		"JobSet without a command":     {plan.JobOptions{Kind: plan.JobSet}, result{true, true, 2}},
		"with a command":               {plan.JobOptions{Command: []string{"torchrun", "train.py"}}, result{true, false, 2}},
		"JobSet with a command":        {plan.JobOptions{Kind: plan.JobSet, Command: []string{"torchrun", "train.py"}}, result{true, false, 2}},
		"with a script":                {plan.JobOptions{Script: &plan.Script{Name: "train.py", Content: []byte("print()")}}, result{true, false, 2}},
		"the user's own sleep":         {plan.JobOptions{Command: []string{"/bin/sleep", "infinity"}}, result{true, true, 2}},
		"a shell that trains":          {plan.JobOptions{Command: []string{"sh", "-c", "python train.py"}}, result{true, false, 2}},
		"a shell that sleeps at first": {plan.JobOptions{Command: []string{"sh", "-c", "sleep 3; python train.py"}}, result{true, false, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w, known := workloadOf(planned(t, c.options), "h-kim", "train")
			if diff := cmp.Diff(c.want, result{known, w.waits(), w.pods}); diff != "" {
				t.Errorf("command %q: %s", w.command, diff)
			}
		})
	}
	if _, known := workloadOf(planned(t, plan.JobOptions{}), "h-kim", "other"); known {
		t.Error("a job of another namespace")
	}
}

func TestBusy(t *testing.T) {
	forbidden := cluster.State{Problems: []cluster.Problem{{Kind: cluster.Objects, Err: "statefulsets.apps is forbidden"}}}
	for name, c := range map[string]struct {
		state cluster.State
		code  int
		says  string
	}{
		"waiting":                        {planned(t, plan.JobOptions{}), 0, ""},
		"training":                       {planned(t, plan.JobOptions{Command: []string{"torchrun", "train.py"}}), exitFault, "the pods run a command of their own (/railhead/bin/railhead-pod run -- torchrun train.py): a second training"},
		"unread":                         {forbidden, exitUnknown, "is not known: statefulsets.apps is forbidden; --force starts"},
		"pods without their StatefulSet": {cluster.State{}, exitUnknown, "its StatefulSet or JobSet is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			err := busy(c.state, "h-kim", "train")
			var coded exitError
			if errors.As(err, &coded); coded.code != c.code || c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d: %v", coded.code, err)
			}
		})
	}
}

func TestNotReady(t *testing.T) {
	pulling := ofJob("h-kim-1", func(p *cluster.Pod) {
		p.Ready, p.Phase, p.Node = false, "Pending", "gpu-2"
		p.Containers = []cluster.Container{{Name: trainContainer, Waiting: "ContainerCreating"}}
	})
	for name, c := range map[string]struct {
		pods []cluster.Pod
		want []string
	}{
		"all ready":              {[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", nil)}, nil},
		"one is being made":      {[]cluster.Pod{ofJob("h-kim-0", nil), pulling}, []string{"h-kim-1: ContainerCreating (gpu-2)"}},
		"one is not there":       {[]cluster.Pod{ofJob("h-kim-0", nil)}, []string{"1 pod not made: waiting (their controller makes them)"}},
		"one has ended":          {[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", func(p *cluster.Pod) { p.Phase, p.Ready = "Succeeded", false })}, []string{"h-kim-1: Succeeded (no node yet)"}},
		"one is being deleted":   {[]cluster.Pod{ofJob("h-kim-0", nil), ofJob("h-kim-1", func(p *cluster.Pod) { p.Deleted = true })}, []string{"h-kim-1: Terminating (no node yet)"}},
		"the job has no pod yet": {nil, []string{"2 pods not made: waiting (their controller makes them)"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, notReady(cluster.State{Pods: c.pods}, "h-kim", "train", 2)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoJobText(t *testing.T) {
	s := planned(t, plan.JobOptions{})
	for name, want := range map[string]string{
		"h-kin": "there is no job h-kin in namespace train; did you mean h-kim?",
		"other": "there is no job other in namespace train; there are h-kim",
	} {
		if diff := cmp.Diff(want, noJobText(s, name, "train")); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff("there is no job x in namespace train, and no other: 'railhead deploy x -n train' makes it", noJobText(cluster.State{}, "x", "train")); diff != "" {
		t.Error(diff)
	}
	forbidden := cluster.State{Problems: []cluster.Problem{{Kind: cluster.Objects, Err: "statefulsets.apps is forbidden"}}}
	if diff := cmp.Diff("there is no job x in namespace train; which there are cannot be read: statefulsets.apps is forbidden", noJobText(forbidden, "x", "train")); diff != "" {
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
		"it runs":      {ofJob("h-kim-0", nil), true, ""},
		"not ready":    {ofJob("h-kim-0", func(p *cluster.Pod) { p.Ready = false }), true, ""},
		"deleted":      {cluster.Pod{}, false, "the pod was deleted"},
		"replaced":     {ofJob("h-kim-0", func(p *cluster.Pod) { p.UID = "another" }), true, "the pod was replaced by a new one of its name"},
		"evicted":      {ofJob("h-kim-0", func(p *cluster.Pod) { p.Phase, p.Reason = "Failed", "Evicted" }), true, "the pod failed: Evicted"},
		"drained":      {ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted = true }), true, "the pod is being deleted (evicted, drained, or deleted by someone)"},
		"its end said": {ofJob("h-kim-0", func(p *cluster.Pod) { p.Deleted, p.Message = true, "node shutdown" }), true, "the pod is being deleted: no reason is given: node shutdown"},
		"out of memory": {ofJob("h-kim-0", func(p *cluster.Pod) {
			p.Containers = []cluster.Container{{Name: trainContainer, Restarts: 1, Running: true, ExitCode: &code, Ended: "OOMKilled"}}
		}), true, "container train ended: OOMKilled (exit code 137)"},
		"ended for good": {ofJob("h-kim-0", func(p *cluster.Pod) { p.Containers = []cluster.Container{{Name: trainContainer, ExitCode: &code}} }), true, "container train ended: no reason is given (exit code 137)"},
		"another container's end": {ofJob("h-kim-0", func(p *cluster.Pod) {
			p.Containers = append(p.Containers, cluster.Container{Name: "proxy", Restarts: 4})
		}), true, ""},
		"restarted once long ago": {ofJob("h-kim-0", func(p *cluster.Pod) { p.Containers[0].ExitCode = &code }), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lossOf(runningPod("h-kim-0"), c.now, c.there, trainContainer)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNetworkText(t *testing.T) {
	rdma := nccllog.Verdict{Network: nccllog.RDMA, Names: []string{"IB"}, Channels: 64, Direct: 64, Ranks: 16, Of: 16, Devices: []string{"mlx5_6", "mlx5_7"}}
	tcp := nccllog.Verdict{Network: nccllog.TCP, Names: []string{"Socket"}, Channels: 64, Ranks: 16, Of: 16, Devices: []string{"eth0"}}
	mixed := nccllog.Verdict{Network: nccllog.Mixed, Names: []string{"IB", "Socket"}, Channels: 64, Ranks: 16, Of: 16, OnTCP: []string{"rank 3 on h-kim-0"}}
	for name, c := range map[string]struct {
		give networkCase
		want string
	}{
		"RDMA":                     {networkCase{verdict: rdma, seen: true, mode: nccl.RDMA}, "RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7)"},
		"RDMA, and it failed":      {networkCase{verdict: rdma, seen: true, failed: true}, "RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7); set up before the run failed"},
		"RDMA, a pod is gone":      {networkCase{verdict: rdma, seen: true, failed: true, unread: 1}, "RDMA: 64 channels over NET/IB with GPUDirect on all 16 ranks (mlx5_6, mlx5_7); set up before the run failed; NCCL's log of 1 pod could not be read"},
		"TCP in mode rdma":         {networkCase{verdict: tcp, seen: true, mode: nccl.RDMA}, "TCP: 64 channels over NET/Socket on all 16 ranks (eth0), though RDMA was asked for (mode rdma): over four 400 Gb/s rails it was measured 85 times as fast"},
		"TCP in no mode":           {networkCase{verdict: tcp, seen: true}, "TCP: 64 channels over NET/Socket on all 16 ranks (eth0), though RDMA was asked for (mode rdma): over four 400 Gb/s rails it was measured 85 times as fast"},
		"TCP in mode auto":         {networkCase{verdict: tcp, seen: true, mode: nccl.Auto}, "TCP: 64 channels over NET/Socket on all 16 ranks (eth0) (mode auto); over four 400 Gb/s rails RDMA was measured 85 times as fast"},
		"TCP on purpose":           {networkCase{verdict: tcp, seen: true, mode: nccl.TCP}, "TCP: 64 channels over NET/Socket on all 16 ranks (eth0), as asked for (mode tcp)"},
		"one rank on TCP":          {networkCase{verdict: mixed, seen: true, mode: nccl.RDMA}, "mixed: rank 3 on h-kim-0 on TCP; 64 channels over NET/IB and NET/Socket on all 16 ranks, though RDMA was asked for (mode rdma): over four 400 Gb/s rails it was measured 85 times as fast"},
		"one pod":                  {networkCase{verdict: nccllog.Verdict{Network: nccllog.OneNode}, seen: true, pods: 1}, "one node: no network between nodes was used"},
		"each pod for itself":      {networkCase{verdict: nccllog.Verdict{Network: nccllog.OneNode}, seen: true, pods: 2}, "one node: no network between nodes was used; each of the 2 pods trained by itself: does the command use MASTER_ADDR, NNODES and NODE_RANK?"},
		"no NCCL":                  {networkCase{}, "not known: no line of NCCL was seen: the command does not use NCCL, or ended before it did"},
		"NCCL logs warnings alone": {networkCase{debug: "WARN"}, "not known: no line of NCCL was seen: NCCL_DEBUG=WARN is set, so NCCL was not asked; -e NCCL_DEBUG=INFO -e NCCL_DEBUG_SUBSYS=INIT,ENV,NET asks it"},
		"NCCL said nothing":        {networkCase{debug: "info"}, "not known: no line of NCCL was seen: the command does not use NCCL, or ended before it did"},
		"into the user's file":     {networkCase{debug: "INFO", debugFile: "/tmp/nccl.%h"}, "not known: no line of NCCL was seen: NCCL_DEBUG and NCCL_DEBUG_FILE are set, so they are in /tmp/nccl.%h"},
		"chosen alone":             {networkCase{seen: true, verdict: nccllog.Verdict{Chosen: []string{"IB"}}}, "not known: NCCL chose IB, but no channel between nodes was seen"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, networkText(c.give)); diff != "" {
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
		"a directory":         {[]string{"a"}, "is a directory: name its files, each with --copy"},
		"no such file":        {[]string{"c.py"}, "no such file"},
		"two of the one name": {[]string{"a/train.py", "b/train.py"}, "would both be train.py in the pods"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for _, p := range c.paths {
				paths = append(paths, filepath.Join(dir, p))
			}
			if _, err := openFiles(paths); err == nil || !strings.Contains(err.Error(), c.says) {
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
		"3\nabc  -\n": "3 bytes arrived of 4",
		"4\nabd  -\n": "the copy is damaged, or the file changed meanwhile: its SHA-256 is abd, not abc",
		"":            "the pod does not say what arrived",
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

func TestLaunchFlags(t *testing.T) {
	for name, c := range map[string]struct {
		flags launchFlags
		says  string
	}{
		"nothing":               {launchFlags{}, ""},
		"values of any kind":    {launchFlags{env: []string{"A=", "B=a=b,c", "_c1=x y"}}, ""},
		"no value":              {launchFlags{env: []string{"A"}}, `-e "A" is not NAME=VALUE`},
		"no name":               {launchFlags{env: []string{"=A"}}, "is not NAME=VALUE"},
		"a name with a blank":   {launchFlags{env: []string{"A B=1"}}, "is not NAME=VALUE"},
		"what ends the options": {launchFlags{env: []string{"--"}}, "is not NAME=VALUE"},
		"negative time":         {launchFlags{timeout: -1}, "cannot be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.flags.check(); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestSpokenCommand(t *testing.T) {
	for want, argv := range map[string][]string{
		"torchrun --nnodes=2 train.py":    {"torchrun", "--nnodes=2", "train.py"},
		`sh -c "echo \"a b\"\nexit 3" ""`: {"sh", "-c", "echo \"a b\"\nexit 3", ""},
		`"\x1b[m"`:                        {"\x1b[m"},
		strings.Repeat("x", 200) + " ...": {strings.Repeat("x", 1000)},
	} {
		if diff := cmp.Diff(want, spokenCommand(argv)); diff != "" {
			t.Error(diff)
		}
	}
}
