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
	if j.job.Mode == nccl.RDMA && cluster.OnlyEFA(j.s) { // no number of GPUs helps
		j.requiredRails(j.job.Nodes)
		return
	}
	if j.claimGPUs(); j.job.GPUs == 0 {
		j.noGPUs()
	}
	switch j.job.Mode {
	case nccl.RDMA:
		if j.job.rails = j.requiredRails(j.job.Nodes); len(j.job.rails) > 0 {
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
	if j.job.GPUs == NoGPUs || !claims.Wanted(j.s, j.job.Namespace, j.job.Claims) {
		return
	}
	eligible := func(n cluster.Node) bool { return j.job.Scheduling.excluded(j.s, j.job.Namespace, n) == "" }
	if gpus := claims.GPUs(j.s, eligible, j.job.Nodes); gpus > 0 {
		j.job.GPUs = cmp.Or(j.job.GPUs, gpus)
		j.job.claim.GPUs = j.job.GPUs
	}
}

// programsExist fails if railhead-pod is missing for nodes that may run the pods.
func (j *request) programsExist() {
	if _, err := j.job.neededPrograms(); err != nil {
		j.draft.Fail(plan.JobRequest, targetOf(&j.job.Options).Ref(), err.Error(),
			check.Observed("delivery", string(j.job.Delivery), "railhead-pod for the nodes' architectures"),
			check.ByUser("Take railhead-pod from an image.", targetOf(&j.job.Options).CommandWith("--pod-image IMAGE")))
	}
}

// noGPUs handles a cluster without GPUs.
func (j *request) noGPUs() {
	j.job.GPUs = NoGPUs
	switch {
	case !j.s.Knows(cluster.Nodes):
		target := targetOf(&j.job.Options)
		j.draft.Report(wrong(target, "--gpus", "", "the number of GPUs of each pod, because nodes could not be read",
			"Set it.", target.CommandWith("--gpus 8")))
	case usesRDMA(&j.job.Options):
		j.draft.Fail(clusterrules.GPUNodes, check.Ref{Kind: check.Cluster},
			fmt.Sprintf("none of %s offers %s", words.Count(len(j.s.Nodes), "node"), j.job.GPUResource),
			check.Observed("nodes status.allocatable", "0 "+j.job.GPUResource, "1 or more"),
			check.ByUser("Check the GPU operator and --node-selector, or request no GPUs.",
				"railhead inventory", targetOf(&j.job.Options).CommandWith("--gpus 0")))
	default:
		j.draft.Note("No node offers GPUs: the pods request none.")
	}
}

// chooseMode chooses RDMA or TCP for all pods together: a single pod on TCP would slow down the others.
func (j *request) chooseMode() {
	usable := j.usableRails(j.job.Nodes)
	j.job.Mode = nccl.TCP
	if len(usable) == 0 {
		j.noteTCP()
		return
	}
	rails := fmt.Sprintf("%s of namespace %s", words.Count(len(usable), "rail"), j.job.Namespace)
	c := j.findNodes(usable)
	found := fmt.Sprintf("found %s with %s", words.Count(len(c.free), "free node"), rails)
	switch {
	case !j.s.Knows(cluster.Nodes):
		j.draft.Note("Mode auto uses RDMA with %s. Whether the nodes offer them is unknown: nodes could not be read.",
			rails)
	case c.enough(j.job.Nodes, j.job.Scheduling.Queue), j.job.claim.GPUs > 0: // TCP needs the claim, too
		j.draft.Note("Mode auto uses RDMA: %s.", found)
	default:
		closest := "none"
		if len(c.rejected) > 0 {
			closest = c.rejected[0].name + ": " + c.rejected[0].reason
		}
		j.draft.Note("Mode auto uses TCP: %s, but the job needs %d (%s).", found, j.job.Nodes, closest)
		j.job.claim = claims.Claim{}
		return
	}
	j.job.rails, j.job.Mode = usable, nccl.RDMA
}

// noteTCP notes why mode auto found no rail.
func (j *request) noteTCP() {
	if claims.Wanted(j.s, j.job.Namespace, j.job.Claims) {
		j.draft.Note("Mode auto uses TCP: the pods cannot claim their rails.")
		return
	}
	a := j.attachments()
	j.draft.Note("Mode auto uses TCP: %s.", a.noRails())
	if a.unread() {
		j.draft.Report(a.unknown(check.Unknown))
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
