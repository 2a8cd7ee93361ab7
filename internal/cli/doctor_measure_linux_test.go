package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
)

// jobState has the pods of the job h-kim, and what runs them with a command.
func jobState(targets []target, command ...any) cluster.State {
	labels := map[string]any{"app.kubernetes.io/instance": "h-kim", "app.kubernetes.io/component": "job"}
	s := cluster.State{SchemaVersion: 1, Read: []cluster.Kind{cluster.Pods, cluster.Objects}, Objects: []cluster.Object{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "train", Name: "h-kim", Fields: map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec": map[string]any{"replicas": int64(len(targets)), "template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": trainContainer, "command": command},
			}}}},
		},
	}}}
	for _, t := range targets {
		s.Pods = append(s.Pods, t.pod)
	}
	return s
}

// examined is what doctor knows of the trial's pods before it measures.
func (b *benchTrial) examined(t *testing.T, command ...any) bundle.Bundle {
	t.Helper()
	seen := bundle.Bundle{
		Manifest: bundle.Manifest{Version: "v1.0.0", Taken: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Subject: bundle.Subject{Job: "h-kim", Namespace: "train"}},
		State:    jobState(b.targets, command...),
	}
	for i, x := range b.targets {
		s := recordedPod(t, []string{"pod-roce-4vf", "pod-roce-4vf-node-b"}[i%2])
		seen.Machines = append(seen.Machines, rules.Machine{Name: "pod/train/" + x.pod.Name, Node: x.pod.Node, Group: "job/h-kim", Snapshot: s})
	}
	return seen
}

// doctored lets doctor measure between the trial's pods.
func (b *benchTrial) doctored(t *testing.T, ctx context.Context, seen bundle.Bundle, f doctorFlags, streams Streams) (bundle.Bundle, error) {
	t.Helper()
	targets, looks, left := f.toMeasure(seen, seen.State.Pods)
	b.targets = targets
	quick := f.quickBench()
	quick.duration = time.Second
	r, err := b.measureKnown(ctx, streams, quick, seen.Manifest.Subject, looks, left)
	seen.Bench = &r
	return bundle.Clean(seen), err
}

// A NIC that is slow is what doctor finds when it measures, in every form, and again in the archive that it keeps.
func TestDoctorMeasures(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 6)
	b.rateOf(t, 2, "mlx5_11", "200.00")
	seen, err := b.doctored(t, t.Context(), b.examined(t, "sleep", "infinity"), doctorFlags{}, Streams{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, b.id)
	file := filepath.Join(t.TempDir(), "h-kim.tgz")
	if err := writeFile(file, func(w io.Writer) error { return bundle.Write(w, seen) }); err != nil {
		t.Fatal(err)
	}
	text, _, code := doctorRun(t, "doctor", "--from", file)
	if code != exitFault {
		t.Errorf("exit code %d", code)
	}
	has(t, text, "measured: 60 links between 6 pods, in ",
		"fail: NIC mlx5_11 of node gpu-3 (pod h-kim-2) rail rail-4: 200.0 Gb/s where 391.1 Gb/s is healthy, on 5 links [bench-fabric]",
		"fix (admin): This NIC is slow with all others")
	if first := strings.Index(text, "[bench-fabric]"); first > strings.Index(text+"fail: ", "warn: ") && strings.Contains(text, "warn: ") {
		t.Errorf("it does not come first:\n%s", text)
	}
	out, _, _ := doctorRun(t, "doctor", "--from", file, "-o", "json")
	var v struct {
		Problems []struct{ Check, Status, Subject string }
		Measured struct {
			Pods, Links int
			Skipped     []string
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if v.Measured.Pods != 6 || v.Measured.Links != 60 || v.Measured.Skipped != nil || v.Problems[0].Check != "bench-fabric" || v.Problems[0].Status != "fail" {
		t.Errorf("%+v", v)
	}
	var direct bytes.Buffer
	a := &app{streams: Streams{Out: &direct, Err: io.Discard}}
	if err := a.pronounce(seen, doctorFlags{failOn: "fail", format: "json", autopsy: "none"}); err == nil {
		t.Error("it ends well")
	}
	if diff := cmp.Diff(direct.String(), out); diff != "" {
		t.Errorf("the archive says something else:\n%s", diff)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := readReport("h-kim.tgz", raw)
	if err != nil || len(page.page.Links) != 1 {
		t.Errorf("a page without what was measured: %v, %d", err, len(page.page.Links))
	}
}

// Where all is well, that is said of what was measured, and of nothing else.
func TestDoctorMeasuresWell(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 3)
	last := b.targets[2].pod.Name
	own := b.local.pods[last]
	for i, e := range own.env {
		if strings.HasPrefix(e, "PATH=") {
			own.env[i] = "PATH=" + t.TempDir() + ":" + filepath.Dir(lookPath(t, "timeout"))
		}
	}
	b.local.pods[last] = own
	seen, err := b.doctored(t, t.Context(), b.examined(t, "sleep", "infinity"), doctorFlags{}, Streams{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	d := diagnose(seen, false)
	if d.Measured.Pods != 2 || d.Measured.Links != 4 {
		t.Errorf("%+v", d.Measured)
	}
	var found []string
	for _, p := range d.Problems {
		if strings.HasPrefix(string(p.Check), "bench-") {
			found = append(found, p.Status.String()+": "+p.Summary)
		}
	}
	if diff := cmp.Diff([]string{"unknown: 1 of 3 pods could not be measured: h-kim-2: the image has no ib_write_bw (perftest)"}, found); diff != "" {
		t.Error(diff)
	}
}

// Nothing is measured beside what trains, and that is said.
func TestDoctorMeasuresNotBesideTraining(t *testing.T) {
	t.Parallel()
	const other = "its job has a command of its own, and measuring beside it would slow both: wait for it, or say --force"
	for name, c := range map[string]struct {
		command []any
		foreign bool
		says    string
	}{
		"a job with a command":      {[]any{"/railhead/bin/railhead-pod", "run", "--", "torchrun", "--token=x"}, false, "h-kim-0, h-kim-1: " + other},
		"pods that nobody knows of": {[]any{"sleep", "infinity"}, true, "h-kim-0, h-kim-1: whether it trains is not known, and measuring beside a training slows both; --force measures all the same"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchTrial(t, 2)
			seen := b.examined(t, c.command...)
			if c.foreign {
				seen.State.Objects = nil
			}
			got, err := b.doctored(t, t.Context(), seen, doctorFlags{}, Streams{Err: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.says, "the matrix: it takes two pods with rails"}, got.Bench.Skipped); diff != "" {
				t.Error(diff)
			}
			if d := diagnose(got, false); !d.Unknown() {
				t.Errorf("what was not measured is healthy: %+v", d.Problems)
			}
			if b.met(t) != "" {
				t.Error("it was measured")
			}
			if targets, _, _ := (doctorFlags{force: true}).toMeasure(seen, seen.State.Pods); len(targets) != 2 {
				t.Errorf("with --force: %v", targets)
			}
		})
	}
}

// A launch that runs in the pods is left alone.
func TestDoctorMeasuresNotBesideLaunch(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	seen := b.examined(t, "sleep", "infinity")
	stop := b.launched(t)
	got, err := b.doctored(t, t.Context(), seen, doctorFlags{}, Streams{Err: io.Discard})
	if err != nil || len(got.Bench.Skipped) == 0 {
		t.Fatalf("%v, %v", err, got.Bench.Skipped)
	}
	has(t, got.Bench.Skipped[0], "a launch runs there, and measuring beside it would slow both: wait for it, or say --force")
	stop()
}

// Ctrl-C while doctor measures leaves no server behind.
func TestDoctorMeasuresInterrupted(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	b.rate(t, "mlx5_6", "hang")
	b.fleet.Spare = bench.Fleet{}.Spare + time.Minute
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := &words{when: map[string]func(){"search, round 1": stop}}
	if _, err := b.doctored(t, ctx, b.examined(t, "sleep", "infinity"), doctorFlags{}, Streams{Out: io.Discard, Err: said}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	waitGone(t, b.id)
}

// met is what the stand-ins of the fabric noted.
func (b *benchTrial) met(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.fabric, "met"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}
