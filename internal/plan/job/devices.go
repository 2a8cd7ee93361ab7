package job

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// devices chooses the rails and looks for nodes.
func (j *request) devices() {
	if j.claimGPUs(); j.GPUs == 0 {
		j.noGPUs()
	}
	switch j.Mode {
	case nccl.RDMA:
		if j.rails = j.requiredRails(j.Nodes); len(j.rails) > 0 {
			j.requireNodes()
		}
	case nccl.Auto:
		j.chooseMode()
		j.requireNodes()
	default:
		j.requireNodes()
	}
	j.programsExist()
}

// claimGPUs lets the pods claim their GPUs as well, if only DRA offers them.
func (j *request) claimGPUs() {
	if j.GPUs == NoGPUs || !claims.Wanted(j.s, j.Namespace, j.Claims) {
		return
	}
	eligible := func(n cluster.Node) bool { return j.excluded(j.s, j.Namespace, n) == "" }
	if gpus := claims.GPUs(j.s, eligible, j.Nodes); gpus > 0 {
		j.GPUs = cmp.Or(j.GPUs, gpus)
		j.claim.GPUs = j.GPUs
	}
}

// programsExist fails if railhead-pod is missing for nodes that may run the pods.
func (j *request) programsExist() {
	if _, err := j.neededPrograms(); err != nil {
		j.Fail(plan.JobRequest, j.target().Ref(), err.Error(),
			check.Observed("delivery", string(j.Delivery), "railhead-pod for the nodes' architectures"),
			check.ByUser("Take railhead-pod from an image.", j.target().CommandWith("--pod-image IMAGE")))
	}
}

// noGPUs handles a cluster without GPUs.
func (j *request) noGPUs() {
	j.GPUs = NoGPUs
	switch {
	case !j.s.Knows(cluster.Nodes):
		j.Report(wrong(j.target(), "--gpus", "", "the number of GPUs of each pod, because nodes could not be read",
			"Set it.", j.target().CommandWith("--gpus 8")))
	case j.rdma():
		j.Fail(clusterrules.GPUNodes, check.Ref{Kind: check.Cluster},
			fmt.Sprintf("none of %s offers %s", words.Count(len(j.s.Nodes), "node"), j.GPUResource),
			check.Observed("nodes status.allocatable", "0 "+j.GPUResource, "1 or more"),
			check.ByUser("Check the GPU operator and --node-selector, or request no GPUs.",
				"railhead inventory", j.target().CommandWith("--gpus 0")))
	default:
		j.Note("No node offers GPUs: the pods request none.")
	}
}

// chooseMode chooses RDMA or TCP for all pods together: a single pod on TCP would slow down the others.
func (j *request) chooseMode() {
	usable := j.usableRails(j.Nodes)
	j.Mode = nccl.TCP
	if len(usable) == 0 {
		j.noteTCP()
		return
	}
	rails := fmt.Sprintf("%s of namespace %s", words.Count(len(usable), "rail"), j.Namespace)
	c := j.findNodes(usable)
	found := fmt.Sprintf("found %s with %s", words.Count(len(c.free), "free node"), rails)
	switch {
	case !j.s.Knows(cluster.Nodes):
		j.Note("Mode auto uses RDMA with %s. Whether the nodes offer them is unknown: nodes could not be read.", rails)
	case c.enough(j.Nodes, j.Queue), j.claim.GPUs > 0: // TCP needs the claim, too
		j.Note("Mode auto uses RDMA: %s.", found)
	default:
		closest := "none"
		if len(c.rejected) > 0 {
			closest = c.rejected[0].name + ": " + c.rejected[0].reason
		}
		j.Note("Mode auto uses TCP: %s, but the job needs %d (%s).", found, j.Nodes, closest)
		j.claim = claims.Claim{}
		return
	}
	j.rails, j.Mode = usable, nccl.RDMA
}

// noteTCP notes why mode auto found no rail.
func (j *request) noteTCP() {
	if claims.Wanted(j.s, j.Namespace, j.Claims) {
		j.Note("Mode auto uses TCP: the pods cannot claim their rails.")
		return
	}
	a := j.attachments()
	j.Note("Mode auto uses TCP: %s.", a.noRails())
	if a.unread() {
		j.Report(a.unknown(check.Unknown))
	}
}

// neededPrograms returns railhead-pod for each architecture of the nodes that may run pods.
func (j *job) neededPrograms() ([]delivery.Program, error) {
	if j.Delivery != delivery.ByConfigMaps {
		return nil, nil
	}
	programs, without := delivery.Needed(j.Programs, j.candidates)
	if len(without) > 0 {
		return nil, fmt.Errorf("railhead-pod is not available for nodes of architecture %s", words.And(without))
	}
	return programs, nil
}
