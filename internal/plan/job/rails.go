package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// requiredRails returns the rails of the job, and fails if there are none. need is the number of nodes, if known.
func (j *request) requiredRails(need int) []cluster.Rail {
	if cluster.OnlyEFA(j.s) {
		a := j.attachments()
		a.onlyEFA()
		j.draft = a.Draft
		return nil
	}
	if claims.Wanted(j.s, j.job.Namespace, j.job.Claims) {
		return j.claimed(claims.Require(j.s, j.others, j.claimants(need), j.draft))
	}
	a := j.attachments()
	rails := a.require()
	j.draft = a.Draft
	if len(rails) == 0 && j.s.Problem(cluster.DRADevices) != nil {
		j.draft.Unknown(j.s, plan.RailsAttached, cluster.DRADevices,
			"whether DRA drivers offer rails could not be read")
	}
	return rails
}

// usableRails returns the rails that the job can have; there may be none.
func (j *request) usableRails(need int) []cluster.Rail {
	if claims.Wanted(j.s, j.job.Namespace, j.job.Claims) {
		return j.claimed(claims.Prefer(j.s, j.others, j.claimants(need), j.draft))
	}
	return j.attachments().chosen(j.s.UsableRails(j.job.Namespace))
}

// claimants returns the pods as those that claim rails. need is the number of nodes, if known.
func (j *request) claimants(need int) claims.Pods {
	return claims.Pods{
		Job:      targetOf(&j.job.Options),
		Networks: j.job.Networks,
		Flag:     j.job.Claims,
		GPUs:     j.job.claim.GPUs,
		Nodes:    j.job.needs(nil).suitable(j.s),
		Need:     need,
	}
}

// claimed takes the claim, and returns its rails unless the job failed.
func (j *request) claimed(c claims.Claim, d plan.Draft) []cluster.Rail {
	if j.job.claim, j.draft = c, d; d.Failed() {
		return nil
	}
	return c.Rails
}

// attachments has the rails of a namespace for a job.
type attachments struct {
	plan.Draft
	s     cluster.State
	job   plan.Target
	named []string // the rails that the user chose; empty: all
}

func (j *request) attachments() attachments {
	return attachments{Draft: j.draft, s: j.s, job: targetOf(&j.job.Options), named: j.job.Networks}
}

// require returns the rails, and fails if there are none. An RDMA attachment without a device is a failure: the job
// would be slower than it looks.
func (a *attachments) require() []cluster.Rail {
	a.checkNetworks()
	for _, r := range a.chosen(a.s.Rails(a.job.Namespace)) {
		if !r.Usable() && (r.RDMA || len(a.named) > 0) {
			a.noDevice(r)
		}
	}
	usable := a.chosen(a.s.UsableRails(a.job.Namespace))
	if len(usable) > 0 || a.Failed() {
		return usable
	}
	fix := check.ByAdmin("Add the rails to the namespace, or train over TCP.",
		a.job.SetUpCommand(), a.job.CommandWith("--mode tcp"))
	switch {
	case a.unread():
		a.Report(a.unknown(check.Fail))
		return nil
	case !a.s.Server.Serves(cluster.NetworkGroup):
		fix.Text = "Install Multus and a plugin that offers the NICs, such as the SR-IOV operator: RoCE needs an " +
			"interface in the pod. InfiniBand needs the plugin alone, and a resource that is named for it, such as " +
			"rdma/ib. Or train over TCP."
	}
	a.Fail(plan.RailsAttached, a.job.NamespaceRef(), "pods cannot get a rail: "+a.noRails(),
		check.Observed("network-attachment-definitions of "+a.job.Namespace, "0 rails", "1 or more"), fix)
	return nil
}

// onlyEFA fails where nodes offer no other RDMA device than Elastic Fabric Adapters.
func (a *attachments) onlyEFA() {
	offers := strings.Join(cluster.EFAOffers(a.s), ", ")
	a.Fail(rail.TransportSupported, a.job.NamespaceRef(), "pods cannot get a rail: "+a.noRails(),
		check.Observed("RDMA devices that nodes offer", offers, "InfiniBand or RoCE, for NCCL_NET=IB"),
		check.ByUser("Railhead cannot set up EFA. Use an image with the plugin aws-ofi-nccl and libfabric, and "+
			"request "+offers+" in a manifest of your own; or train over TCP.", a.job.CommandWith("--mode tcp")))
}

// unread reports whether there may be attachments that could not be read.
func (a attachments) unread() bool {
	return !a.s.Knows(cluster.Networks) && a.s.Server.Serves(cluster.NetworkGroup)
}

// unknown returns the finding that attachments, which may exist, could not be read.
func (a attachments) unknown(status check.Status) check.Finding {
	const kind = "network-attachment-definitions.k8s.cni.cncf.io"
	f := plan.Unreadable(a.s, cluster.Networks)[0]
	f.Status = status
	f.Summary = "whether namespace " + a.job.Namespace +
		" has rails is unknown: its network attachments could not be read"
	if f.Fix == nil {
		f.Fix = check.ByUser("Try again. If it continues, show an administrator the error of the API server.")
		return f
	}
	role := "kubectl -n " + a.job.Namespace + " create role%s networks-reader --%s"
	f.Fix = check.ByAdmin("You may not list them in namespace "+a.job.Namespace+": ask a cluster administrator for "+
		"that right. They may exist, so do not create them again.",
		"kubectl auth can-i list "+kind+" -n "+a.job.Namespace,
		fmt.Sprintf(role, "", "verb=get,list,watch --resource="+kind),
		fmt.Sprintf(role, "binding", "role=networks-reader --user="+cmp.Or(a.s.Server.User, "USER")))
	return f
}

// chosen returns the rails that --network names, or all.
func (a attachments) chosen(rails []cluster.Rail) []cluster.Rail {
	if len(a.named) == 0 {
		return rails
	}
	return slices.DeleteFunc(rails, func(r cluster.Rail) bool { return !slices.Contains(a.named, r.Network) })
}

// checkNetworks fails for names in --network that do not exist.
func (a *attachments) checkNetworks() {
	existing := cluster.RailNames(a.s.Rails(a.job.Namespace))
	for _, name := range a.named {
		if slices.Contains(existing, name) || !a.s.Knows(cluster.Networks) {
			continue
		}
		a.Fail(pods.NADMissing, check.Ref{Kind: check.Attachment, Namespace: a.job.Namespace, Name: name},
			fmt.Sprintf("namespace %s has no network attachment %s", a.job.Namespace, name),
			check.Observed("network-attachment-definitions of "+a.job.Namespace, plan.OrNone(existing), name),
			check.ByUser(words.DidYouMean(name, existing, "Choose an existing one, or set up the namespace."),
				"kubectl -n "+a.job.Namespace+" get network-attachment-definitions", a.job.SetUpCommand()))
	}
}

// noDevice fails for an attachment through which pods get no device.
func (a *attachments) noDevice(r cluster.Rail) {
	var offered []string
	for _, o := range a.s.RDMAOffers() {
		if len(o.Nodes()) > 0 {
			offered = append(offered, o.Resource)
		}
	}
	text := "Set a resource that nodes offer in the attachment, or choose other attachments with --network."
	if near := words.Nearest(r.Resource, offered); len(near) > 0 {
		text = "Nodes offer " + strings.Join(near, ", ") +
			": set the right resource in the attachment, or choose other attachments with --network."
	}
	a.Fail(clusterrules.NetworkResource, check.Ref{Kind: check.Attachment, Namespace: r.Namespace, Name: r.Network},
		fmt.Sprintf("pods get no RDMA device through attachment %s: %s", r.Network, r.Reason),
		check.Observed("annotation k8s.v1.cni.cncf.io/resourceName",
			cmp.Or(r.Resource, "none"), "one of "+plan.OrNone(offered)),
		check.ByAdmin(text,
			fmt.Sprintf("kubectl -n %s get network-attachment-definition %s -o yaml", r.Namespace, r.Network)))
}

// noRails returns why the namespace has no rail.
func (a attachments) noRails() string {
	switch {
	case cluster.OnlyEFA(a.s):
		return "nodes offer only Elastic Fabric Adapters (" + strings.Join(cluster.EFAOffers(a.s), ", ") + "), which " +
			"NCCL reaches through the plugin aws-ofi-nccl alone, not with NCCL_NET=IB"
	case a.unread():
		return "the network attachments of namespace " + a.job.Namespace + " could not be read"
	case !a.s.Server.Serves(cluster.NetworkGroup):
		return "the cluster has no network attachments: its API has no group " + cluster.NetworkGroup + ", which " +
			"Multus brings"
	}
	var reasons []string
	for _, r := range a.chosen(a.s.Rails(a.job.Namespace)) {
		reasons = append(reasons, r.Network+": "+r.Reason)
	}
	if len(reasons) == 0 {
		return "namespace " + a.job.Namespace + " has no network attachments"
	}
	return "namespace " + a.job.Namespace + " has no rail (" + words.Few(reasons, 4) + ")"
}
