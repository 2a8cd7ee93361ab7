//go:build vm

package fabrictest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/vm"
)

// sick is a pod that has a fault.
type sick struct {
	site
	ns    string // of jobs that are deployed next to it
	node  *vm.VM
	fault fault.Fault
	run   perf.Exec // in its container
}

// podFaults wants each fault of a pod to be seen and told, and to go again: half of them on each node at the same
// time, for each has a processor of its own.
func (s site) podFaults(t *testing.T, ns string) {
	before, _ := s.doctor(t, "--cluster")
	for i, v := range s.Machines {
		t.Run("on "+v.Spec.Config.Name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, x := range fault.All() {
				if x.Namespace == "" {
					continue
				}
				if n++; n%len(s.Machines) == i {
					t.Run(x.Name, func(t *testing.T) { s.podFault(t, ns, x, v, before) })
				}
			}
		})
	}
}

func (s site) podFault(t *testing.T, ns string, x fault.Fault, v *vm.VM, before []finding) {
	told, ok := podStories[x.Name]
	if !ok {
		t.Fatal("no row says what this fault leaves to see")
	}
	row := tells(t, x)
	m := fault.On(s.Fabric, v)
	t.Cleanup(func() {
		if err := x.Heal(context.WithoutCancel(t.Context()), m); err != nil {
			t.Error(err)
		}
	})
	if err := x.Make(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	row.made = true
	s.named(t, row, before, fault.Pod, "-n", x.Namespace)
	told(t, sick{s, ns, v, x, s.inPod(t, x)}, row)
	if err := x.Heal(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	var left corev1.Namespace
	if err := s.ControlPlane.Client().Get(t.Context(), client.ObjectKey{Name: x.Namespace}, &left); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("namespace %s: %v", x.Namespace, err)
	}
	s.returns(t, m)
	s.calm(t, before, "--cluster")
	row.healed = true
}

// returns waits until the machine has its virtual functions back from the pod.
func (s site) returns(t *testing.T, m *fault.Machine) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(time.Second); ; {
		away := ""
		for _, card := range m.Config.Cards {
			functions, err := m.Functions(t.Context(), card)
			if err != nil {
				away = err.Error()
			}
			for _, f := range functions {
				if f.Netns != "" {
					away = f.Netdev + " is in " + f.Netns
				}
			}
		}
		if away == "" {
			return
		}
		select {
		case <-tick:
		case <-late:
			t.Fatalf("virtual functions of %s are not back: %s", m.Config.Name, away)
		}
	}
}

// inPod runs commands in the container that has a fault, as `kubectl exec` does.
func (s site) inPod(t *testing.T, x fault.Fault) perf.Exec {
	t.Helper()
	flags, set := &kube.Flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlags(set)
	if err := set.Parse([]string{"--kubeconfig=" + s.kubeconfig}); err != nil {
		t.Fatal(err)
	}
	c, err := flags.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, argv ...string) (perf.Result, error) {
		var out, errs strings.Builder
		code, err := c.Exec(ctx, kube.PodRef{Namespace: x.Namespace, Name: fault.Pod}, kube.ExecOptions{Container: fault.Pod, Command: argv, Stdout: &out, Stderr: &errs})
		return perf.Result{Stdout: out.String(), Stderr: errs.String(), Code: code}, err
	}
}

// shell runs lines of shell in the container and returns what they print, whatever their exit code.
func (p sick) shell(t *testing.T, lines string) perf.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := p.run(ctx, "sh", "-c", lines)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sees wants words in what lines of shell print.
func (p sick) sees(t *testing.T, row *story, lines, words string) {
	t.Helper()
	if r := p.shell(t, lines); !strings.Contains(r.Stdout+r.Stderr, words) {
		t.Errorf("the fault is not there: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
		return
	}
	row.saw = words
}

// railhead runs railhead-pod in the container and wants an exit code and words.
func (p sick) railhead(t *testing.T, args string, code int, words ...string) {
	t.Helper()
	r := p.shell(t, fault.PodProgram+" "+args)
	if r.Code != code {
		t.Errorf("%s ends with %d\n%s%s", args, r.Code, r.Stdout, r.Stderr)
	}
	for _, w := range words {
		if !strings.Contains(r.Stdout+r.Stderr, w) {
			t.Errorf("%s does not say %q:\n%s%s", args, w, r.Stdout, r.Stderr)
		}
	}
}

// refuses wants the pod to be refused in mode rdma, for a reason, and a loud fallback in mode auto.
func (p sick) refuses(t *testing.T, row *story, loud string, why ...string) {
	t.Helper()
	const refused = 125
	p.railhead(t, "run -- echo started", refused, append(why, "not started")...)
	p.railhead(t, "run --mode auto -- echo started", 0, append(why, loud, "started\n")...)
	row.said = strings.Join(why, " ")
}
