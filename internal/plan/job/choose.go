package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// devices settles the network and looks for nodes.
func (j *placement) devices() {
	if j.o.GPUs == 0 {
		j.noGPUs()
	}
	switch {
	case j.o.Mode == nccl.TCP:
		j.seat(nil)
	case j.o.Mode == nccl.Auto:
		j.choose()
	default:
		if j.rails = j.attachments(); len(j.rails) > 0 {
			j.seat(j.rails)
		}
	}
	if _, err := j.arches(); err != nil {
		j.fail(plan.JobRequest, check.Named(check.Job, j.o.Name), err.Error(), check.Evidence{
			Source: "delivery",
			Got:    string(j.o.Delivery),
			Want:   "railhead-pod for the nodes' architectures",
		},
			check.Fix{
				Text:     "Take railhead-pod from an image.",
				Who:      check.User,
				Commands: []string{j.deploy("--pod-image IMAGE")},
			})
	}
}

// choose decides between RDMA and TCP for all pods alike: one that fell back alone would hold up the others.
func (j *placement) choose() {
	usable := j.wanted(j.s.UsableRails(j.o.Namespace))
	switch {
	case len(usable) == 0:
		j.note("Mode auto takes TCP: %s.", j.noRails())
	case !j.s.Knows(cluster.Nodes):
		j.rails, j.o.Mode = usable, nccl.RDMA
		j.note(
			"Mode auto takes RDMA: namespace %s has %s. Whether nodes offer them could not be read.", j.o.Namespace,
			words.Count(len(usable), "rail"),
		)
	default:
		fit, turned := j.seats(usable)
		if len(fit) >= j.o.Nodes {
			j.rails, j.o.Mode = usable, nccl.RDMA
			j.note(
				"Mode auto takes RDMA: %s free with %s of namespace %s.", areFree(len(fit)), allRails(len(usable)),
				j.o.Namespace,
			)
			break
		}
		j.note(
			"Mode auto takes TCP: %s free with %s of namespace %s, and the job wants %d (%s).", areFree(len(fit)),
			allRails(len(usable)), j.o.Namespace, j.o.Nodes, cmp.Or(firstReason(turned), "none"),
		)
	}
	if j.o.Mode == nccl.Auto {
		j.o.Mode = nccl.TCP
	}
	j.seat(j.rails)
}

func areFree(n int) string {
	if n == 1 {
		return "1 node is"
	}
	return fmt.Sprintf("%d nodes are", n)
}

func allRails(n int) string {
	if n == 1 {
		return "the rail"
	}
	return fmt.Sprintf("all %d rails", n)
}

// arches are the programs for the nodes that pods may come to.
func (j *placement) arches() ([]Program, error) {
	if j.o.Delivery != ByConfigMaps {
		return nil, nil
	}
	needed := map[string]bool{}
	for _, n := range j.able {
		needed[n.Arch] = true
	}
	known := len(needed) > 0
	var programs []Program
	for _, p := range j.o.Programs {
		if !known || needed[p.Arch] {
			programs = append(programs, p)
		}
		delete(needed, p.Arch)
	}
	if len(needed) > 0 {
		return nil, fmt.Errorf(
			"railhead-pod is not at hand for nodes of architecture %s", words.And(slices.Sorted(maps.Keys(needed))),
		)
	}
	return programs, nil
}
