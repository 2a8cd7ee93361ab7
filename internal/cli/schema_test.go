package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/schematest"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/workload"
)

var updateGenerated = flag.Bool("update", false, "rewrite docs/schemas and docs/reference; read the difference as you read code")

// outputs are the JSON that commands print or save, with the types that they encode.
var outputs = []schematest.Output{
	{Command: "railhead inventory -o json", Type: reflect.TypeFor[clusterrules.Inventory]()},
	{Command: "railhead status -o json", Type: reflect.TypeFor[jobStatus]()},
	{Command: "railhead doctor -o json", Type: reflect.TypeFor[rules.Verdict](), Version: rules.DiagnosisSchema},
	{Command: "railhead explain -o json", Type: reflect.TypeFor[story.Story](), Version: story.StorySchema},
	{Command: "railhead wire -o json", Type: reflect.TypeFor[wire.Job]()},
	{Command: "railhead wire --save FILE", Type: reflect.TypeFor[wire.Series](), Version: wire.SeriesVersion},
	{Command: "railhead bench -o json", Type: reflect.TypeFor[bench.Result](), Version: bench.ResultVersion},
	{Command: "railhead bench diff -o json", Type: reflect.TypeFor[benchDiff]()},
}

// TestSchemas: every command with -o json has a published schema, which follows from the Go types.
func TestSchemas(t *testing.T) {
	var want, got []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		output := c.Flags().Lookup("output")
		if output != nil && slices.Contains(strings.Split(output.Value.Type(), "|"), "json") {
			want = append(want, c.CommandPath()+" -o json")
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{flags: &kube.Flags{}}).root("railhead"))
	for _, o := range outputs {
		o.Compare(t, *updateGenerated)
		schema := schematest.Open(t, o.Name())
		for _, sample := range o.Samples(t) {
			schema.HoldsValue(t, "a sample of "+o.Command, sample)
		}
		if strings.HasSuffix(o.Command, " json") {
			got = append(got, o.Command)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) || len(want) < 7 {
		t.Errorf("commands with -o json: %q\nschemas: %q", want, got)
	}
}

// TestOutputs: what the commands print is as published, without any other property. Values of clusters are encoded as
// the commands do; internal/benchrun holds benches against their schema.
func TestOutputs(t *testing.T) {
	held := map[string]*schematest.Published{}
	for _, o := range outputs {
		held[o.Name()] = schematest.Open(t, o.Name())
	}
	prints := func(name string, args ...string) {
		t.Helper()
		got := run(append(args, "-o", "json")...)
		held[name].Holds(t, strings.Join(args, " ")+": "+got.err, []byte(got.out))
	}
	for _, s := range trainingStates(t) {
		held["railhead-inventory"].HoldsValue(t, "an inventory", clusterrules.InventoryOf(s))
		held["railhead-status"].HoldsValue(t, "a status", statusOf(s))
	}
	logsAsPublished(t, prints, held["railhead-explain"])
	everyMachine := archiveOfMachines(t)
	for _, archive := range []string{everyMachine, "../../testdata/bundles/v1.tgz"} {
		prints("railhead-doctor", "doctor", "--from", archive)
		prints("railhead-doctor", "doctor", "--from", archive, "--autopsy", "loc-prot-err")
	}
	jobs, series := recordedMotion(t)
	for i, job := range jobs {
		held["railhead-wire"].HoldsValue(t, fmt.Sprint("job ", i), job)
	}
	held["railhead-wire-save"].HoldsValue(t, "a series", series)
	old, slower := resultFile(t, "a.json", "6.12.1", 390, 391, 392), resultFile(t, "b.json", "6.12.9", 350, 351, 352)
	prints("railhead-bench-diff", "bench", "diff", old, slower)
	text, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	held["railhead-bench"].Holds(t, old, text)
	for name, schema := range held {
		if schema.Count() == 0 {
			t.Errorf("no output of %s was looked at", name)
		}
	}
}

// trainingStates are a healthy cluster, one in which a pod is pending, one that could not be read, and nothing.
func trainingStates(t *testing.T) []cluster.State {
	t.Helper()
	pending := rulestest.Training(t)
	rulestest.Pending(&pending, "h-kim-1", "FailedScheduling", "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
	unread := cluster.State{
		Read:     []cluster.Kind{cluster.Nodes, cluster.Objects},
		Problems: []cluster.Problem{{Kind: cluster.Nodes, Err: "forbidden"}, {Kind: cluster.Objects, Err: "forbidden"}},
	}
	return []cluster.State{rulestest.Training(t), pending, unread, {}}
}

// statusOf is the status of the training job.
func statusOf(s cluster.State) jobStatus {
	f := workload.Family{Workload: cluster.Workload{Namespace: "train", Name: "h-kim"}}
	for _, p := range s.Pods {
		if p.Namespace == f.Namespace {
			f.Pods = append(f.Pods, p)
		}
	}
	return newJobStatus(jobState{ref: workload.Ref{Name: f.Name}, ns: f.Namespace, state: s, Family: f})
}

// logsAsPublished holds the stories of all recorded logs against their schema.
func logsAsPublished(t *testing.T, prints func(name string, args ...string), schema *schematest.Published) {
	t.Helper()
	fixtures, err := filepath.Glob("../../testdata/logs/*.txtar")
	if err != nil || len(fixtures) < 100 {
		t.Fatal(len(fixtures), err)
	}
	for _, fixture := range fixtures {
		archive, err := txtar.ParseFile(fixture)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		for _, f := range archive.Files {
			if err := os.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		prints("railhead-explain", "explain", folder)
	}
	golden, err := filepath.Glob("../../testdata/logs/*.json")
	if err != nil || len(golden) == 0 {
		t.Fatal(err)
	}
	for _, name := range golden {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		schema.Holds(t, name, text)
	}
}

// recordings are the recorded machines, each as a pod.
func recordings(t *testing.T) (all []rules.Machine) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/hosts/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		all = append(all, rules.Machine{
			Ref: check.PodRef("train", name), Node: "node-" + name, Snapshot: rulestest.Recorded(t, name),
		})
	}
	return all
}

// archiveOfMachines saves all recorded machines as pods of one cluster.
func archiveOfMachines(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.tgz")
	b := bundle.Bundle{
		Manifest: bundle.Manifest{Subject: workload.Subject{Namespace: "train"}},
		State:    rulestest.Training(t),
		Machines: append(recordings(t), rules.Machine{Ref: check.PodRef("train", "gone"), Unreached: "no such pod"}),
	}
	if err := writeFile(file, func(w io.Writer) error { return bundle.Write(w, b) }); err != nil {
		t.Fatal(err)
	}
	return file
}

// recordedMotion returns the traffic of the recorded machines: of each, and of all together.
func recordedMotion(t *testing.T) (jobs []wire.Job, series wire.Series) {
	t.Helper()
	var members []wire.Member
	for _, m := range recordings(t) {
		before := m.Snapshot
		if before.Earlier != nil {
			before = *before.Earlier
		}
		member := wire.Member{Ref: m.Ref, Node: m.Node, Motion: wire.Between(before.Wire, m.Snapshot)}
		members = append(members, member)
		jobs = append(jobs, wire.Together([]wire.Member{member}, true))
	}
	for i, job := range append(jobs, wire.Together(members, true)) {
		series.Add(time.Unix(int64(i), 0).UTC(), job)
	}
	return append(jobs, wire.Together(members, true)), series
}
