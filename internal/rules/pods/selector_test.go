package pods

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// The nodeSelector of a pod is judged by the nodes, before the scheduler's reasons of all the others.
func TestNodeSelector(t *testing.T) {
	const message = "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node " +
		"affinity/selector."
	nodes := func(cordoned string) cluster.State {
		s := cluster.State{Read: []cluster.Kind{cluster.Nodes}}
		for _, name := range []string{"gpu-0", "gpu-1", "gpu-2"} {
			s.Nodes = append(s.Nodes, cluster.Node{
				Name: name, Ready: true, Unschedulable: name == cordoned,
				Labels: map[string]string{"kubernetes.io/hostname": name, "rack": "r1"},
			})
		}
		return s
	}
	for name, test := range map[string]struct {
		selector map[string]string
		node     string // spec.nodeName
		cordoned string
		status   check.Status
		says     string
		never    string
	}{
		"a label that no node has, and another node is cordoned": {
			selector: map[string]string{"rack": "r9"}, cordoned: "gpu-0",
			status: check.Fail, says: "no node has the label rack=r9 of its nodeSelector", never: "uncordon",
		},
		"labels that no node has together": {
			selector: map[string]string{"kubernetes.io/hostname": "gpu-9", "rack": "r1"}, cordoned: "gpu-0",
			status: check.Fail, says: "no node has the label kubernetes.io/hostname=gpu-9", never: "rack=r1 of",
		},
		"pinned to a node that is cordoned": {
			selector: map[string]string{"kubernetes.io/hostname": "gpu-2"}, cordoned: "gpu-2",
			status: check.Warn, says: "may run only on 1 node, by its nodeSelector kubernetes.io/hostname=gpu-2: " +
				"gpu-2: cordoned", never: "no node has these labels",
		},
		"pinned to a node that takes pods": {
			selector: map[string]string{"kubernetes.io/hostname": "gpu-2"}, cordoned: "",
			status: check.Fail, says: "Nodes have the labels of its nodeSelector", never: "no node has these labels",
		},
		"a node whose labels its selector excludes": {
			selector: map[string]string{"rack": "r2"}, node: "gpu-1", cordoned: "gpu-0",
			status: check.Fail, says: "is on node gpu-1, whose labels its own nodeSelector excludes: rack is r1, not r2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := message
			if test.cordoned == "" {
				text = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
			}
			p := cluster.Pod{
				Namespace: "train", Name: "h-kim-0", UID: "u", Phase: "Pending", NodeSelector: test.selector,
				Unscheduled: text,
			}
			s := nodes(test.cordoned)
			o, found := Explain(p, nil, s)
			if test.node != "" {
				p.Node = test.node
				o.Finding, found = target{pod: p, s: s}.unfit(text), true
			}
			got := o.Summary
			if o.Fix != nil {
				got += " " + o.Fix.Text
			}
			if !found || o.Check != NodeSelection || o.Status != test.status || !strings.Contains(got, test.says) {
				t.Errorf("%s %s: %s\nwant %s node-selection: %s", o.Status, o.Check, got, test.status, test.says)
			}
			if test.never != "" && strings.Contains(got, test.never) {
				t.Errorf("%q is in %s", test.never, got)
			}
		})
	}
}
