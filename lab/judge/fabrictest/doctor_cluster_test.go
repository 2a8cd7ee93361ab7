//go:build vm

package fabrictest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/probe"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/image"
)

// doctor runs railhead doctor and returns what it found, and what it said of how it went.
func (s site) doctor(t *testing.T, args ...string) ([]finding, said) {
	t.Helper()
	r := s.railhead(t, append([]string{"doctor", "-o", "json", "--pod-binary=amd64=" + s.podBinary}, args...)...)
	var d rules.Diagnosis
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Fatalf("railhead doctor %s ends with %d: %v\n%s%s", strings.Join(args, " "), r.code, err, r.out, r.err)
	}
	return problems(d), r
}

// named wants doctor to name a fault first, and nothing else but what it finds in the cluster without one.
func (s site) named(t *testing.T, row *story, before []finding, args ...string) said {
	t.Helper()
	view := row.fault.Doctor.View
	found, r := s.doctor(t, args...)
	row.diagnosed(t, findings{view: found}, findings{view: before})
	return r
}

// calm wants doctor to find no more in the cluster than it did before.
func (s site) calm(t *testing.T, before []finding, args ...string) {
	t.Helper()
	found, _ := s.doctor(t, args...)
	fresh := slices.DeleteFunc(beside(found, before), ofRunningTests)
	if len(fresh) > 0 {
		t.Errorf("after it was healed doctor finds %v", fresh)
	}
}

// looksAtNode wants doctor to look at a node through a pod with privileges, and that pod to be gone whatever happens.
func (s site) looksAtNode(t *testing.T, ns string) {
	t.Helper()
	node := s.Machines[0].Spec.Config.Name
	args := []string{"node/" + node, "-n", ns, "--probe-image=" + image.PerfImage}
	found, r := s.doctor(t, args...)
	if strings.Contains(r.err, "No privileged pod") {
		t.Errorf("the pod has no privileges:\n%s", r.err)
	}
	translated := func(f finding) bool { return f.Check == nccl.IOMMUPassthrough && f.About == "node/"+node }
	if !slices.ContainsFunc(found, translated) {
		t.Errorf("doctor does not see that the IOMMU of %s translates: %v", node, found)
	}
	t.Logf("doctor says of %s: %v", node, found)
	s.probeIsGone(t, ns, node)

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out, errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Main(ctx, "railhead", append([]string{"--kubeconfig=" + s.kubeconfig, "doctor", "--pod-binary=amd64=" + s.podBinary}, args...), "test",
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 120})
	}()
	s.probeComes(t, ns, node)
	interrupt()
	select {
	case c := <-code:
		if c == 0 {
			t.Errorf("interrupted, doctor ends with 0:\n%s%s", out.String(), errs.String())
		}
	case <-time.After(patience):
		t.Fatal("doctor does not end when it is interrupted")
	}
	s.probeIsGone(t, ns, node)
}

// probe is the pod that looks at a node.
func (s site) probe(t *testing.T, ns, node string) (there bool) {
	t.Helper()
	var pods corev1.PodList
	probes := client.MatchingLabels{plan.LabelComponent: probe.Component}
	if err := s.ControlPlane.Client().List(t.Context(), &pods, client.InNamespace(ns), probes); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == node })
}

func (s site) probeComes(t *testing.T, ns, node string) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(100 * time.Millisecond); !s.probe(t, ns, node); {
		select {
		case <-tick:
		case <-late:
			t.Fatal("no pod comes to look at the node")
		}
	}
}

func (s site) probeIsGone(t *testing.T, ns, node string) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(200 * time.Millisecond); s.probe(t, ns, node); {
		select {
		case <-tick:
		case <-late:
			t.Fatal("the pod that looked at the node is still there")
		}
	}
}

// ofRunningTests is a finding about a fault of a pod: such faults are made on all nodes at the same time, each in a
// namespace of its own.
func ofRunningTests(f finding) bool {
	text := f.String()
	return slices.ContainsFunc(fault.All(), func(x fault.Fault) bool { return x.Namespace != "" && strings.Contains(text, x.Namespace+"/") })
}
