package examine

import (
	"errors"
	"io"
	"testing"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/report"
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
		subject bundle.Subject
		want    error
	}{
		"no such namespace":    {read, bundle.Subject{Namespace: "trian"}, errNoNamespace},
		"of a job":             {read, bundle.Subject{Namespace: "trian", Job: "h-kim"}, errNoNamespace},
		"it exists":            {read, bundle.Subject{Namespace: "train"}, nil},
		"it may not be read":   {forbidden, bundle.Subject{Namespace: "trian"}, nil},
		"a node needs none":    {read, bundle.Subject{Namespace: "trian", Nodes: []string{"gpu-0"}}, nil},
		"nor does the cluster": {read, bundle.Subject{Cluster: true}, nil},
	} {
		e := examiner{Options: Options{Live: &report.Live{W: io.Discard}}}
		if _, err := e.choose(test.state, &test.subject); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
