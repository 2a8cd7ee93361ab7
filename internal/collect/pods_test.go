package collect

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/workload"
)

func TestContainer(t *testing.T) {
	pod := cluster.Pod{
		Containers: []cluster.Container{
			{Name: "install", Init: true},
			{Name: "proxy"},
			{Name: "worker", Running: true},
		},
	}
	if got := Container(pod, ""); got != "worker" {
		t.Errorf("the first that runs: %s", got)
	}
	if got := Container(pod, "proxy"); got != "proxy" {
		t.Errorf("the chosen: %s", got)
	}
	pod.Containers = append(pod.Containers, cluster.Container{Name: "train", GPUs: true})
	if got := Container(pod, ""); got != "train" {
		t.Errorf("the one that trains: %s", got)
	}
}

// A misspelt namespace is not a healthy one without pods. One that may not be read is not missing.
func TestNoNamespace(t *testing.T) {
	kinds := []cluster.Kind{cluster.Namespaces}
	read := cluster.State{Read: kinds, Namespaces: []cluster.Namespace{{Name: "train"}}}
	forbidden := cluster.State{Read: kinds, Problems: []cluster.Problem{{Kind: cluster.Namespaces, Err: "forbidden"}}}
	for name, test := range map[string]struct {
		state   cluster.State
		subject workload.Subject
		want    error
	}{
		"no such namespace":    {read, workload.Subject{Namespace: "trian"}, errNoNamespace},
		"of a job":             {read, workload.Subject{Namespace: "trian", Job: "h-kim"}, errNoNamespace},
		"it exists":            {read, workload.Subject{Namespace: "train"}, nil},
		"it may not be read":   {forbidden, workload.Subject{Namespace: "trian"}, nil},
		"a node needs none":    {read, workload.Subject{Namespace: "trian", Nodes: []string{"gpu-0"}}, nil},
		"nor does the cluster": {read, workload.Subject{Cluster: true}, nil},
	} {
		e := examiner{Options: Options{Live: &report.Live{W: io.Discard}}}
		if _, err := e.choose(test.state, workload.Family{}, &test.subject); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// twoPods is a cluster in which Ctrl-C arrives after the first of two pods has answered.
type twoPods struct {
	standIn
	interrupt context.CancelFunc
}

func (p *twoPods) Read(context.Context, kube.Want) (cluster.State, error) {
	pod := func(name string) cluster.Pod {
		containers := []cluster.Container{{Name: "train", Running: true}}
		return cluster.Pod{Namespace: "train", Name: name, Containers: containers}
	}
	return cluster.State{Read: []cluster.Kind{cluster.Pods}, Pods: []cluster.Pod{pod("a"), pod("b")}}, nil
}

func (p *twoPods) Snapshots(
	ctx context.Context, visits []kube.Visit, _ kube.VisitOptions, tell func(kube.Visited),
) error {
	tell(kube.Visited{Visit: visits[0]})
	p.interrupt()
	tell(kube.Visited{Visit: visits[1], Err: context.Cause(ctx)})
	return ctx.Err()
}

// TestInterrupted: a pod that Ctrl-C left no time to answer is not reported as unreachable. For wire, Ctrl-C is the
// usual end.
func TestInterrupted(t *testing.T) {
	for name, test := range map[string]struct {
		examine func(context.Context, Cluster, Options) error
		says    string
	}{
		"doctor": {func(ctx context.Context, c Cluster, o Options) error {
			b, _, err := Run(ctx, c, o)
			if len(b.Machines) != 1 || b.Machines[0].Unreached != "" {
				t.Errorf("machines: %+v", b.Machines)
			}
			return err
		}, "Examining 2 pods\nInterrupted: 1 of 2 pods answered.\n"},
		"wire": {func(ctx context.Context, c Cluster, o Options) error {
			_, err := Wire(ctx, c, o)
			return err
		}, "Examining 2 pods\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			var said strings.Builder
			o := Options{
				Subject: workload.Subject{Namespace: "train", Pods: []string{"a", "b"}}, Live: &report.Live{W: &said},
			}
			if err := test.examine(ctx, &twoPods{interrupt: stop}, o); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if said.String() != test.says {
				t.Errorf("said %q, want %q", said.String(), test.says)
			}
		})
	}
}
