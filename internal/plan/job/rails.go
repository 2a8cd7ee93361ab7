package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// attachments are the rails of the namespace for the job. One that is there and gives nothing is a fault: the job would
// be slower than it looks.
func (j *placement) attachments() []cluster.Rail {
	if len(j.o.Networks) > 0 {
		j.named()
	}
	var usable []cluster.Rail
	for _, r := range j.wanted(j.s.Rails(j.o.Namespace)) {
		switch {
		case r.Usable():
			usable = append(usable, r)
		case r.RDMA || len(j.o.Networks) > 0:
			j.deaf(r)
		}
	}
	if len(usable) > 0 || check.Worst(j.findings) == check.Fail {
		return usable
	}
	if !j.s.Knows(cluster.Networks) {
		j.unknown(
			RailsAttached, cluster.Networks,
			"the network attachments of namespace "+j.o.Namespace+" could not be read",
		)
	}
	j.fail(RailsAttached, check.Named(
		check.Namespace, j.o.Namespace,
	), "no pod can have a rail: "+j.noRails(), check.Evidence{
		Source: "network-attachment-definitions of " + j.o.Namespace,
		Got:    "0 rails",
		Want:   "1 or more",
	},
		check.Fix{
			Text:     "Give the namespace its rails, or train over TCP.",
			Who:      check.Admin,
			Commands: []string{j.setUp(), j.deploy("--mode tcp")},
		})
	return nil
}

// wanted are the rails that are asked for by name, or all.
func (j *request) wanted(rails []cluster.Rail) []cluster.Rail {
	if len(j.o.Networks) == 0 {
		return rails
	}
	return slices.DeleteFunc(rails, func(r cluster.Rail) bool { return !slices.Contains(j.o.Networks, r.Network) })
}

// named judges the attachments that are asked for by name.
func (j *placement) named() {
	var has []string
	for _, r := range j.s.Rails(j.o.Namespace) {
		has = append(has, r.Network)
	}
	for _, name := range j.o.Networks {
		if slices.Contains(has, name) || !j.s.Knows(cluster.Networks) {
			continue
		}
		fix := check.Fix{
			Text:     "Name one that is there, or set the namespace up.",
			Who:      check.User,
			Commands: []string{"kubectl -n " + j.o.Namespace + " get network-attachment-definitions", j.setUp()},
		}
		if near := words.Nearest(name, has); len(near) > 0 {
			fix.Text = "Did you mean " + strings.Join(near, " or ") + "?"
		}
		j.fail(pods.NADMissing, check.Ref{
			Kind:      check.Attachment,
			Namespace: j.o.Namespace,
			Name:      name,
		}, fmt.Sprintf("network attachment %s is not there in namespace %s", name, j.o.Namespace),
			check.Evidence{
				Source: "network-attachment-definitions of " + j.o.Namespace,
				Got:    cmp.Or(strings.Join(has, ", "), "none"),
				Want:   name,
			}, fix)
	}
}

// deaf says that an attachment of the namespace brings no device.
func (j *placement) deaf(r cluster.Rail) {
	var offered []string
	for _, o := range j.s.RDMAOffers() {
		if len(o.Nodes()) > 0 {
			offered = append(offered, o.Resource)
		}
	}
	fix := check.Fix{
		Text: "Name a resource that nodes offer in the attachment, or leave it out with --network.",
		Who:  check.Admin,
		Commands: []string{
			fmt.Sprintf("kubectl -n %s get network-attachment-definition %s -o yaml", r.Namespace, r.Network),
		},
	}
	if near := words.Nearest(r.Resource, offered); len(near) > 0 {
		fix.Text = "Nodes offer " + strings.Join(
			near, ", ",
		) + ": name the right one in the attachment, or leave it out with --network."
	}
	j.fail(clusterrules.NetworkResource, check.Ref{
		Kind:      check.Attachment,
		Namespace: r.Namespace,
		Name:      r.Network,
	}, fmt.Sprintf("pods get no RDMA device through attachment %s: %s", r.Network, r.Reason),
		check.Evidence{
			Source: "annotation k8s.v1.cni.cncf.io/resourceName",
			Got:    cmp.Or(r.Resource, "none"),
			Want:   "one of " + cmp.Or(strings.Join(offered, ", "), "none"),
		}, fix)
}

// noRails is why the namespace has no rail.
func (j *request) noRails() string {
	if !j.s.Knows(cluster.Networks) && j.s.Server.Serves(cluster.NetworkGroup) {
		return "the network attachments of namespace " + j.o.Namespace + " could not be read"
	}
	var reasons []string
	for _, r := range j.wanted(j.s.Rails(j.o.Namespace)) {
		reasons = append(reasons, r.Network+": "+r.Reason)
	}
	if len(reasons) == 0 {
		return "namespace " + j.o.Namespace + " has no network attachments"
	}
	return "namespace " + j.o.Namespace + " has no rail (" + words.Few(reasons, 4) + ")"
}
