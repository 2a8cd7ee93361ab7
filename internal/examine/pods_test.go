package examine

import (
	"testing"

	"github.com/railhead/railhead/internal/cluster"
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
