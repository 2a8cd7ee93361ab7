package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// queueing returns a training cluster with Kueue.
func queueing() cluster.State {
	s := plantest.Training()
	s.Server.Groups = append(s.Server.Groups, cluster.KueueGroup)
	s.Read = append(s.Read, cluster.LocalQueues)
	s.LocalQueues = []cluster.LocalQueue{
		{Namespace: "train", Name: "team-a", ClusterQueue: "research"},
		{Namespace: "train", Name: "team-b", ClusterQueue: "none", Inactive: "Can't submit new workloads to clusterQueue"},
		{Namespace: "other", Name: "team-c", ClusterQueue: "research"},
	}
	return s
}

func TestSchedulingPrechecks(t *testing.T) {
	fails := []string{"fail job-request"}
	busy := func(s *cluster.State) {
		s.Pods = append(s.Pods, cluster.Pod{
			Namespace: "other", Name: "x-0", Node: "gpu-1", Phase: "Running", Requests: cluster.Resources{"nvidia.com/gpu": 8},
		})
	}
	queue := func(o *Options) { o.Scheduling.Queue = "team-a" }
	pair := func(key, value string) map[string]string { return map[string]string{key: value} }
	runPrechecks(t, queueing, map[string]precheck{
		"a label": {o: func(o *Options) { o.Scheduling.Labels = pair("team", "vision") }},
		"a label with a blank": {o: func(o *Options) { o.Scheduling.Labels = pair("team", "my team") }, want: fails,
			says: []string{`"team=my team"`}},
		"a label of railhead": {
			o:    func(o *Options) { o.Scheduling.Labels = pair("app.kubernetes.io/instance", "x") },
			want: fails, says: []string{"a valid label that railhead does not set itself"},
		},
		"an annotation with a blank": {o: func(o *Options) { o.Scheduling.Annotations = pair("my owner", "x") },
			want: fails},
		"a queue with a blank": {o: func(o *Options) { o.Scheduling.Queue = "team a" }, want: fails,
			says: []string{"--queue"}},
		"half a second": {o: func(o *Options) { o.Scheduling.GracePeriod = time.Second / 2 }, want: fails,
			says: []string{"whole seconds"}},
		"guaranteed without memory": {
			o:    func(o *Options) { o.Guaranteed, o.CPU = true, "32" },
			want: fails, says: []string{"--guaranteed is given without --cpu and --memory"},
		},
		"a queue without Kueue": {
			s: func(s *cluster.State) { *s = plantest.Training() }, o: queue,
			want: []string{"fail server-support"}, says: []string{"the cluster has no Kueue"},
		},
		"a queue of another namespace": {
			o:    func(o *Options) { o.Scheduling.Queue = "team-c" },
			want: fails,
			says: []string{`--queue is "team-c", but must be a LocalQueue of namespace train: team-a, team-b`},
		},
		"a queue that admits nothing": {
			o:    func(o *Options) { o.Scheduling.Queue = "team-b" },
			want: []string{"warn queue-admission"},
			says: []string{"queue team-b admits nothing now: Can't submit new workloads to clusterQueue"},
		},
		"queues are not read": {
			s: func(s *cluster.State) { *s = plantest.Unread(*s, cluster.LocalQueues) }, o: queue,
			want: []string{"unknown job-request"}, says: []string{"LocalQueue of namespace train team-a exists could not be read"},
		},
		"classes that exist": {o: func(o *Options) {
			o.Scheduling.PriorityClass, o.Scheduling.RuntimeClass = "training", "nvidia"
		}},
		"a class misspelt": {
			o:    func(o *Options) { o.Scheduling.PriorityClass = "trainnig" },
			want: fails, says: []string{"must be a PriorityClass: training", "Did you mean training?"},
		},
		"no such runtime class": {
			o:    func(o *Options) { o.Scheduling.RuntimeClass = "kata" },
			want: fails, says: []string{"must be a RuntimeClass: nvidia"},
		},
		"no free node": {s: busy, want: []string{"fail free-nodes"}},
		"no free node, in a queue": {
			s: busy, o: queue, says: []string{"1 of the 2 nodes that h-kim needs are free now: it waits in queue team-a"},
		},
		"no fitting node, in a queue": {
			o:    func(o *Options) { o.Nodes = 3; queue(o) },
			want: []string{"fail free-nodes"},
		},
		"a distance that NCCL does not know": {
			o:    func(o *Options) { o.Startup.GDRLevel = "near" },
			want: fails, says: []string{"--gdr-level is near, but must be LOC, PIX, PXB, PHB or SYS"},
		},
		"a probe of no rails": {
			o:    func(o *Options) { o.Startup.StartupProbe, o.Mode = true, nccl.TCP },
			want: fails, says: []string{"--startup-probe is given with --mode tcp"},
		},
		"an unknown preflight": {o: func(o *Options) { o.Startup.Preflight = "maybe" }, want: fails},
		"one leaf":             {s: leaves("a", "a"), o: func(o *Options) { o.Scheduling.Leaf = LeafRequire }},
		"two leaves": {
			s: leaves("a", "b"), o: func(o *Options) { o.Scheduling.Leaf = LeafRequire },
			want: []string{"fail free-nodes"}, says: []string{"no leaf switch has the 2 nodes that h-kim needs"},
		},
		"two leaves are allowed": {s: leaves("a", "b")},
		"no leaf is known": {
			o:    func(o *Options) { o.Scheduling.Leaf = LeafRequire },
			want: []string{"fail free-nodes"}, says: []string{"--leaf-label"},
		},
		"a budget": {
			o:    func(o *Options) { o.Scheduling.DisruptionBudget = true },
			says: []string{"cannot be drained while its pods run, so node updates wait for it"},
		},
	})
}

// leaves labels the nodes with their leaf switches.
func leaves(names ...string) func(*cluster.State) {
	return func(s *cluster.State) {
		for i, name := range names {
			s.Nodes[i].Labels["fabric.topograph.run/tier-0"] = name
		}
	}
}

func TestLeafAffinity(t *testing.T) {
	const label = "fabric.topograph.run/tier-0"
	for name, c := range map[string]struct {
		o    func(*Options)
		want string // the rule for the label
	}{
		"by default": {func(*Options) {}, "podAffinity: preferredDuringScheduling"},
		"required": {func(o *Options) { o.Scheduling.Leaf = LeafRequire },
			"podAffinity: requiredDuringScheduling"},
		"any":                                    {func(o *Options) { o.Scheduling.Leaf = LeafAny }, ""},
		"one pod":                                {func(o *Options) { o.Type = Single }, ""},
		"another label, which nodes do not have": {func(o *Options) { o.Scheduling.LeafLabel = "leaf" }, ""},
	} {
		s, o := plantest.Training(), jobOptions()
		leaves("a", "a")(&s)
		c.o(&o)
		p, findings := Deploy(s, o)
		text := strings.Join(strings.Fields(plantest.Manifests(t, p, findings)), " ")
		if strings.Contains(text, "topologyKey: "+label) != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q:\n%s", name, c.want, text)
		}
	}
}

// TestQueued: a job that Kueue holds waits, unless its queue will never admit it.
func TestQueued(t *testing.T) {
	o := jobOptions()
	o.Kind, o.Scheduling.Queue = "", "team-a"
	p, findings := Deploy(queueing(), o)
	if len(p.Steps) == 0 || !slices.Contains(p.Steps[len(p.Steps)-1].Watch, cluster.JobObjects) {
		t.Fatalf("watches %+v\n%s", p.Steps, plantest.Wording(findings))
	}
	held := plantest.With(queueing(), plantest.Live(p))
	live := held.Objects[len(held.Objects)-1]
	live.Fields["spec"].(map[string]any)["suspend"] = true
	live.Fields["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Suspended", "status": "True"}}}
	event := func(message string) []cluster.Event {
		return []cluster.Event{{
			Namespace: "train", Object: "Workload/job-h-kim-1a2b3", Type: "Warning", Reason: "Pending", Message: message,
		}}
	}
	for name, c := range map[string]struct {
		events []cluster.Event
		says   string
		stuck  check.ID
	}{
		"nothing is known":  {says: "h-kim: Job h-kim is suspended: a queue has not admitted it"},
		"others are before": {events: event("couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed"), says: "has not admitted it"},
		"it never will": {
			events: event("ClusterQueue gpus is inactive"), says: "admits nothing", stuck: pods.QueueAdmission,
		},
	} {
		held.Events = c.events
		got := Done("h-kim", "train", 2)(held)
		var stuck check.ID
		if got.Stuck != nil {
			stuck = got.Stuck.Check
		}
		if got.Done || got.Queued != (c.stuck == "") || stuck != c.stuck || !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if again, findings := Deploy(held, o); !again.Empty() || check.Worst(findings) == check.Fail {
		t.Errorf("a second run: %+v\n%s", again, plantest.Wording(findings))
	}
}

// TestAdmitted: a job to whose pods Kueue added what its ResourceFlavor says is as it was deployed.
func TestAdmitted(t *testing.T) {
	for queue, unchanged := range map[string]bool{"team-a": true, "": false} {
		o := jobOptions()
		o.Kind, o.Scheduling.Queue, o.Scheduling.Tolerations = IndexedJob, queue, []cluster.Taint{{Key: "gpu"}}
		p, findings := Deploy(queueing(), o)
		if len(p.Steps) == 0 {
			t.Fatal(plantest.Wording(findings))
		}
		admitted := plantest.With(queueing(), plantest.Live(p))
		live := admitted.Objects[len(admitted.Objects)-1].Fields
		tolerations := workload.Field(live, "spec.template.spec.tolerations").([]any)
		flavor := map[string]any{"key": "flavor", "operator": "Exists"}
		pod := workload.Field(live, "spec.template.spec").(map[string]any)
		pod["tolerations"] = append(tolerations, flavor)
		pod["nodeSelector"] = map[string]any{"flavor": "h100"}
		_, findings = Deploy(admitted, o)
		if got := check.Worst(findings) != check.Fail; got != unchanged {
			t.Errorf("queue %q: it is taken for unchanged: %t\n%s", queue, got, plantest.Wording(findings))
		}
	}
}

// TestBudgetOfOldServers: a server that does not know the policy would refuse the field.
func TestBudgetOfOldServers(t *testing.T) {
	for minor, want := range map[int]bool{0: false, 26: false, 27: true} {
		s, o := queueing(), jobOptions()
		s.Server.Minor, o.Kind, o.Scheduling.DisruptionBudget = minor, IndexedJob, true
		p, findings := Deploy(s, o)
		if got := strings.Contains(plantest.Manifests(t, p, findings), "unhealthyPodEvictionPolicy: AlwaysAllow"); got != want {
			t.Errorf("1.%d: %t", minor, got)
		}
	}
}

// TestBudgetNoLongerAskedFor: a budget that stays would keep nodes from being drained.
func TestBudgetNoLongerAskedFor(t *testing.T) {
	o := jobOptions()
	o.Scheduling.DisruptionBudget = true
	p, findings := Deploy(plantest.Training(), o)
	if check.Worst(findings) == check.Fail {
		t.Fatal(plantest.Wording(findings))
	}
	o.Scheduling.DisruptionBudget = false
	p, _ = Deploy(withPods(plantest.With(plantest.Training(), plantest.Live(p)), o, true), o)
	changes := p.Changes()
	if len(changes) != 1 || changes[0].Verb != plan.Delete || changes[0].Object.GetKind() != "PodDisruptionBudget" {
		t.Errorf("changes %v", changes)
	}
}
