//go:build chaos

package chaostest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// story is a command and the one that undoes it.
type story struct {
	name         string
	does, undoes []string   // command lines
	needs        [][]string // command lines that prepare the cluster
	// doubles names an object of which an interrupted run may leave another one until it is undone.
	doubles string
}

// lane is a control plane and the stories that are told on it, one after the other.
type lane struct {
	name    string
	stories []story
}

const namespace = "chaos"

func lanes() []lane {
	cluster := []string{"setup", "cluster", "--yes"}
	rollback := []string{"setup", "rollback", "--yes"}
	ready := []string{"setup", "namespace", namespace, "--users=ml-team", "--pod-binary=amd64=" + programs.pod, "--yes"}
	var deploys []story
	for _, kind := range []string{"job", "statefulset", "jobset"} {
		name := "h-kim-" + kind
		s := story{
			name:  "deploy-" + kind,
			needs: [][]string{cluster, ready},
			does: []string{
				"deploy", name, "-n", namespace, "--kind=" + kind, "--image=example.invalid/pytorch:2.9",
				"--pod-binary=amd64=" + programs.pod, "--disruption-budget", "--yes",
			},
			undoes: []string{"delete", name, "-n", namespace, "--yes"},
		}
		deploys = append(deploys, s)
	}
	return []lane{
		{"nodes", []story{{name: "cluster", does: cluster, undoes: rollback}}},
		{"webhook", []story{{
			name:   "webhook",
			does:   []string{"setup", "webhook", "--image=example.invalid/railhead:1", "--certificate=railhead", "--yes"},
			undoes: rollback,
			// A run that is interrupted between the Secret and the Deployment that names it. The key of the Secret
			// would be needed to go on with it, and railhead does not read Secrets.
			doubles: "secrets railhead-system/" + webhookSecret,
		}}},
		{"others", []story{
			{name: "metrics", does: []string{"setup", "metrics", "--image=example.invalid/railhead:1", "--yes"}, undoes: rollback},
			{
				name:  "namespace",
				needs: [][]string{cluster},
				does:  ready, undoes: []string{"setup", "rollback", "namespace", namespace, "--yes"},
			},
		}},
		{"jobs", deploys},
	}
}

// chosen returns the stories that a list names; all if it is empty.
func (l lane) chosen(names []string) []story {
	return slices.DeleteFunc(slices.Clone(l.stories), func(s story) bool {
		return len(names) > 0 && !slices.Contains(names, s.name)
	})
}

// options are an OpenShift with the JobSet controller.
func options() controlplane.Options {
	o := controlplane.OpenShift()
	o.Workloads, o.Reboot = []assets.Program{assets.JobSet}, reboot
	return o
}

// small returns shape.Born with one node for the control plane, and no worker but those with GPUs: rollouts take less
// time then.
func small() shape.Cluster {
	kept := func(name string) bool { return name == "master-0" || strings.HasPrefix(name, "gpu-") }
	born := shape.Born()
	born.Nodes = slices.DeleteFunc(born.Nodes, func(n *corev1.Node) bool { return !kept(n.Name) })
	born.Objects = slices.DeleteFunc(born.Objects, func(o client.Object) bool {
		return o.GetObjectKind().GroupVersionKind().Kind == "SriovNetworkNodeState" && !kept(o.GetName())
	})
	return born
}
