package podcli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/schematest"
	"github.com/railhead/railhead/internal/wire"
)

// outputs are the commands that print JSON, with the types that they print.
var outputs = map[string]schematest.Output{
	"detect":   {Command: "railhead-pod detect -o json", Type: reflect.TypeFor[detection]()},
	"env":      {Command: "railhead-pod env -o json", Type: reflect.TypeFor[[]nccl.Var]()},
	"doctor":   {Command: "railhead-pod doctor -o json", Type: reflect.TypeFor[diagnosis]()},
	"wire":     {Command: "railhead-pod wire -o json", Type: reflect.TypeFor[wire.Motion]()},
	"snapshot": {Command: "railhead-pod snapshot", Type: reflect.TypeFor[host.Snapshot](), Version: host.SchemaVersion},
}

// TestSchemas: every command that prints JSON has a published schema, which follows from the Go types.
func TestSchemas(t *testing.T) {
	for _, c := range commandTable {
		output := c.build(Streams{}).flags.Lookup("output")
		prints := output != nil && slices.Contains(strings.Split(output.Value.Type(), "|"), "json")
		_, has := outputs[c.name]
		if has != (prints || c.name == "snapshot") {
			t.Errorf("railhead-pod %s: prints JSON %t, has a schema %t", c.name, prints, has)
		}
	}
	for _, o := range outputs {
		o.Compare(t, *update)
		for _, sample := range o.Samples(t) {
			schematest.Open(t, o.Name()).HoldsValue(t, "a sample of "+o.Command, sample)
		}
	}
}

// TestOutputs: what the commands print of every recorded machine is as published, without any other property.
func TestOutputs(t *testing.T) {
	held := map[string]*schematest.Published{}
	for name, o := range outputs {
		held[name] = schematest.Open(t, o.Name())
	}
	holds := func(args ...string) []byte {
		out, _, _ := cli(args...)
		if out == "" && args[0] == "env" { // there is no rail
			out = "[]"
		}
		held[args[0]].Holds(t, strings.Join(args, " "), []byte(out))
		return []byte(out)
	}
	for _, file := range hosts(t) {
		holds("detect", "-o", "json", "--topology", "--root", file)
		holds("doctor", "-o", "json", "--expect-rate", "401", "--root", file)
		holds("env", "-o", "json", "--root", file)
		var s host.Snapshot
		if err := json.Unmarshal(holds("snapshot", "--root", file), &s); err != nil {
			t.Fatal(err)
		}
		held["detect"].HoldsValue(t, "detect --scope host", detect(s, rail.Host, false))
		for _, scope := range []string{string(rail.Host), scopeNode} {
			judge := target{machine: machine{scope: scope}}
			held["doctor"].HoldsValue(t, "doctor --scope "+scope, judge.judge(s))
		}
		for _, policy := range []nccl.Policy{{Mode: nccl.Auto, Override: true}, {Mode: nccl.TCP}} {
			held["env"].HoldsValue(t, "env", append([]nccl.Var{}, decide(s, rail.Pod, policy).vars...))
		}
		earlier := s
		if s.Earlier != nil {
			earlier = *s.Earlier
		}
		held["wire"].HoldsValue(t, "wire of "+filepath.Base(file), wire.Between(earlier.Wire, s))
	}
	golden, err := filepath.Glob(fmt.Sprintf("../../testdata/snapshots/v%d/*.json", host.SchemaVersion))
	if err != nil || len(golden) == 0 {
		t.Fatal(len(golden), err)
	}
	for _, file := range golden {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		held["snapshot"].HoldsForReaders(t, file, text)
	}
	holds("wire", "-o", "json", "--every", "100ms")
	for name, schema := range held {
		if least := len(hosts(t)); schema.Count() < least {
			t.Errorf("railhead-pod %s: %d outputs, want at least %d", name, schema.Count(), least)
		}
	}
}
