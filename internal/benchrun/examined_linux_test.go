package benchrun

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/launch/launchtest"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/workload"
)

// jobState has the pods of the job h-kim, which run a command.
func jobState(targets []launch.Target, command ...string) cluster.State {
	s := cluster.State{SchemaVersion: 1, Read: []cluster.Kind{cluster.Pods, cluster.Objects}}
	for _, t := range targets {
		p := t.Pod
		p.Containers = slices.Clone(p.Containers)
		p.Containers[0].Command = command
		s.Pods = append(s.Pods, p)
	}
	return s
}

// examined returns doctor's examination of the trial's pods, before it measures.
func (b *benchTrial) examined(t *testing.T, command ...string) bundle.Bundle {
	t.Helper()
	seen := bundle.Bundle{
		Manifest: bundle.Manifest{Version: "v1.0.0", Taken: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
			Subject: workload.Subject{Job: "h-kim", Namespace: "train"}},
		State: jobState(b.targets, command...),
	}
	for i, x := range b.targets {
		s := rulestest.Recorded(t, []string{"pod-roce-4vf", "pod-roce-4vf-node-b"}[i%2])
		seen.Machines = append(seen.Machines, rules.Machine{Ref: check.PodRef("train", x.Pod.Name), Node: x.Pod.Node, Group: "job/h-kim", Snapshot: s})
	}
	return seen
}

// doctored measures between the trial's pods as doctor does.
func (b *benchTrial) doctored(ctx context.Context, seen bundle.Bundle, force bool) (bundle.Bundle, error) {
	o := Defaults()
	o.Plan, o.Duration, o.Force = Quick, time.Second, force
	again, machines, left := fromExamination(b.local, seen, seen.State.Pods, "", o, b.live)
	again.id, again.fleet.Spare, again.grace, again.daemonTime = b.id, b.fleet.Spare, b.grace, b.daemonTime
	r, err := again.runKnown(ctx, machines, left)
	seen.Bench = &r
	return bundle.Clean(seen), err
}

// MeasuredArchive returns an archive of an examination of six pods, one of which has a slow NIC.
func MeasuredArchive(t *testing.T) (file string, seen bundle.Bundle) {
	t.Helper()
	b := newBenchTrial(t, 6)
	b.rateOf(t, 2, "mlx5_11", "200.00")
	seen, err := b.doctored(t.Context(), b.examined(t, "sleep", "infinity"), false)
	if err != nil {
		t.Fatal(err)
	}
	launchtest.WaitGone(t, b.id)
	file = filepath.Join(t.TempDir(), "h-kim.tgz")
	archive, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := bundle.Write(archive, seen); err != nil {
		t.Fatal(err)
	}
	return file, seen
}

// withoutPerftest returns a directory with the programs of this machine, but for those of perftest.
func withoutPerftest(t *testing.T) string {
	t.Helper()
	all, dir := filepath.Dir(lookPath(t, "timeout")), t.TempDir()
	programs, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if strings.HasPrefix(p.Name(), "ib_") {
			continue
		}
		if err := os.Symlink(filepath.Join(all, p.Name()), filepath.Join(dir, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Where all is well, that is said of what was measured, and of nothing else.
func TestDoctorMeasuresWell(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 3)
	last := b.targets[2].Pod.Name
	own := b.local.Pods[last]
	for i, e := range own.Env {
		if strings.HasPrefix(e, "PATH=") {
			own.Env[i] = "PATH=" + withoutPerftest(t)
		}
	}
	b.local.Pods[last] = own
	seen, err := b.doctored(t.Context(), b.examined(t, "sleep", "infinity"), false)
	if err != nil {
		t.Fatal(err)
	}
	d := rules.Diagnose(rules.Case{State: seen.State, Machines: rules.JudgeAll(seen.Machines), Bench: seen.Bench})
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

// Nothing is measured while a command trains, and that is said.
func TestDoctorMeasuresNotBesideTraining(t *testing.T) {
	t.Parallel()
	const other = "its job has a command of its own, and measuring would slow it down: wait for it, or use --force"
	for name, command := range map[string][]string{
		"a job with a command":     {"/railhead/bin/railhead-pod", "run", "--", "torchrun", "--token=x"},
		"the command of the image": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchTrial(t, 2)
			seen := b.examined(t, command...)
			got, err := b.doctored(t.Context(), seen, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"h-kim-0, h-kim-1: " + other, "the matrix: it needs two pods with rails"}, got.Bench.Skipped); diff != "" {
				t.Error(diff)
			}
			if d := rules.Diagnose(rules.Case{State: got.State, Machines: rules.JudgeAll(got.Machines), Bench: got.Bench}); !d.Unknown() {
				t.Errorf("what was not measured is healthy: %+v", d.Problems)
			}
			if b.met(t) != "" {
				t.Error("it was measured")
			}
			if b, _, _ := fromExamination(b.local, seen, seen.State.Pods, "", Options{Force: true}, b.live); len(b.targets) != 2 {
				t.Errorf("with --force: %v", b.targets)
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
	got, err := b.doctored(t.Context(), seen, false)
	if err != nil || len(got.Bench.Skipped) == 0 {
		t.Fatalf("%v, %v", err, got.Bench.Skipped)
	}
	launchtest.Has(t, got.Bench.Skipped[0],
		"a launch is running there, and measuring would slow it down: wait for it, or use --force")
	stop()
}

// Ctrl-C while doctor measures leaves no server behind.
func TestDoctorMeasuresInterrupted(t *testing.T) {
	t.Parallel()
	b := newBenchTrial(t, 2)
	b.rate(t, "mlx5_6", "hang")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.live.W = &launchtest.Text{When: map[string]func(){"search, round 1": stop}}
	if _, err := b.doctored(ctx, b.examined(t, "sleep", "infinity"), false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	launchtest.WaitGone(t, b.id)
}

// met returns the notes of the stand-ins for perftest.
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
