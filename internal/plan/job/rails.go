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
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// requiredRails returns the rails of the job, and fails if there are none. need is the number of nodes, if known.
func (j *placement) requiredRails(need int) []cluster.Rail {
	if claims.Wanted(j.s, j.Namespace, j.Claims) {
		j.claim, j.Draft = claims.Require(j.s, j.others, j.claimants(need), j.Draft)
		return j.claimed()
	}
	rails := j.attachments()
	if len(rails) == 0 && j.s.Problem(cluster.DRADevices) != nil {
		j.Unknown(j.s, plan.RailsAttached, cluster.DRADevices, "whether DRA drivers offer rails could not be read")
	}
	return rails
}

// usableRails returns the rails that the job can have; there may be none.
func (j *placement) usableRails(need int) []cluster.Rail {
	if claims.Wanted(j.s, j.Namespace, j.Claims) {
		j.claim, j.Draft = claims.Prefer(j.s, j.others, j.claimants(need), j.Draft)
		return j.claimed()
	}
	return j.chosen(j.s.UsableRails(j.Namespace))
}

// claimants returns the pods as those that claim rails. need is the number of nodes, if known.
func (j *placement) claimants(need int) claims.Pods {
	return claims.Pods{
		Job:      j.target(),
		Networks: j.Networks,
		Flag:     j.Claims,
		GPUs:     j.claim.GPUs,
		Nodes:    j.suitableNodes(),
		Need:     need,
	}
}

// claimed returns the rails of the claim, unless the job failed.
func (j *placement) claimed() []cluster.Rail {
	if j.Failed() {
		return nil
	}
	return j.claim.Rails
}

// suitableNodes returns the names of the nodes that may take a pod, as far as rails do not decide. If nodes could not
// be read, they are those with devices.
func (j *placement) suitableNodes() []string {
	var names []string
	requests := j.requests(nil)
	for _, d := range j.s.DRADevices {
		if !j.s.Knows(cluster.Nodes) && !slices.Contains(names, d.Node) {
			names = append(names, d.Node)
		}
	}
	for _, n := range j.s.Nodes {
		if j.unsuitable(n, requests) == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// attachments returns the rails of the namespace for the job. An RDMA attachment without a device is a failure: the job
// would be slower than it looks.
func (j *placement) attachments() []cluster.Rail {
	j.checkNetworks()
	var usable []cluster.Rail
	for _, r := range j.chosen(j.s.Rails(j.Namespace)) {
		switch {
		case r.Usable():
			usable = append(usable, r)
		case r.RDMA || len(j.Networks) > 0:
			j.noDevice(r)
		}
	}
	if len(usable) > 0 || j.Failed() {
		return usable
	}
	fix := check.ByAdmin("Add the rails to the namespace, or train over TCP.",
		j.target().SetUpCommand(), j.target().CommandWith("--mode tcp"))
	switch {
	case j.unreadNetworks():
		j.Report(j.networksUnknown(check.Fail))
		return nil
	case !j.s.Server.Serves(cluster.NetworkGroup):
		fix.Text = "Install Multus and a plugin that offers the NICs, such as the SR-IOV operator, or train over TCP."
	}
	j.Fail(plan.RailsAttached, j.target().NamespaceRef(), "pods cannot get a rail: "+j.noRails(),
		check.Observed("network-attachment-definitions of "+j.Namespace, "0 rails", "1 or more"), fix)
	return nil
}

// unreadNetworks reports whether there may be attachments that could not be read.
func (j *request) unreadNetworks() bool {
	return !j.s.Knows(cluster.Networks) && j.s.Server.Serves(cluster.NetworkGroup)
}

// networksUnknown returns the finding that attachments, which may exist, could not be read.
func (j *request) networksUnknown(status check.Status) check.Finding {
	const kind = "network-attachment-definitions.k8s.cni.cncf.io"
	f := plan.Unreadable(j.s, cluster.Networks)[0]
	f.Status = status
	f.Summary = "whether namespace " + j.Namespace + " has rails is unknown: its network attachments could not be read"
	if f.Fix == nil {
		f.Fix = check.ByUser("Try again. If it continues, show an administrator the error of the API server.")
		return f
	}
	role := "kubectl -n " + j.Namespace + " create role%s networks-reader --%s"
	f.Fix = check.ByAdmin("You may not list them in namespace "+j.Namespace+": ask a cluster administrator for "+
		"that right. They may exist, so do not create them again.",
		"kubectl auth can-i list "+kind+" -n "+j.Namespace,
		fmt.Sprintf(role, "", "verb=get,list,watch --resource="+kind),
		fmt.Sprintf(role, "binding", "role=networks-reader --user="+cmp.Or(j.s.Server.User, "USER")))
	return f
}

// chosen returns the rails that --network names, or all.
func (j *request) chosen(rails []cluster.Rail) []cluster.Rail {
	if len(j.Networks) == 0 {
		return rails
	}
	return slices.DeleteFunc(rails, func(r cluster.Rail) bool { return !slices.Contains(j.Networks, r.Network) })
}

// checkNetworks fails for names in --network that do not exist.
func (j *placement) checkNetworks() {
	existing := cluster.RailNames(j.s.Rails(j.Namespace))
	for _, name := range j.Networks {
		if slices.Contains(existing, name) || !j.s.Knows(cluster.Networks) {
			continue
		}
		j.Fail(pods.NADMissing, check.Ref{Kind: check.Attachment, Namespace: j.Namespace, Name: name},
			fmt.Sprintf("namespace %s has no network attachment %s", j.Namespace, name),
			check.Observed("network-attachment-definitions of "+j.Namespace, plan.OrNone(existing), name),
			check.ByUser(words.DidYouMean(name, existing, "Choose an existing one, or set up the namespace."),
				"kubectl -n "+j.Namespace+" get network-attachment-definitions", j.target().SetUpCommand()))
	}
}

// noDevice fails for an attachment through which pods get no device.
func (j *placement) noDevice(r cluster.Rail) {
	var offered []string
	for _, o := range j.s.RDMAOffers() {
		if len(o.Nodes()) > 0 {
			offered = append(offered, o.Resource)
		}
	}
	text := "Set a resource that nodes offer in the attachment, or choose other attachments with --network."
	if near := words.Nearest(r.Resource, offered); len(near) > 0 {
		text = "Nodes offer " + strings.Join(near, ", ") +
			": set the right resource in the attachment, or choose other attachments with --network."
	}
	j.Fail(clusterrules.NetworkResource, check.Ref{Kind: check.Attachment, Namespace: r.Namespace, Name: r.Network},
		fmt.Sprintf("pods get no RDMA device through attachment %s: %s", r.Network, r.Reason),
		check.Observed("annotation k8s.v1.cni.cncf.io/resourceName",
			cmp.Or(r.Resource, "none"), "one of "+plan.OrNone(offered)),
		check.ByAdmin(text,
			fmt.Sprintf("kubectl -n %s get network-attachment-definition %s -o yaml", r.Namespace, r.Network)))
}

// noRails returns why the namespace has no rail.
func (j *request) noRails() string {
	switch {
	case j.unreadNetworks():
		return "the network attachments of namespace " + j.Namespace + " could not be read"
	case !j.s.Server.Serves(cluster.NetworkGroup):
		return "the cluster has no network attachments: its API has no group " + cluster.NetworkGroup + ", which " +
			"Multus brings"
	}
	var reasons []string
	for _, r := range j.chosen(j.s.Rails(j.Namespace)) {
		reasons = append(reasons, r.Network+": "+r.Reason)
	}
	if len(reasons) == 0 {
		return "namespace " + j.Namespace + " has no network attachments"
	}
	return "namespace " + j.Namespace + " has no rail (" + words.Few(reasons, 4) + ")"
}
