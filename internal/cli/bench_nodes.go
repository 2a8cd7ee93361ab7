package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/benchrun"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/report/text"
)

// ownPods are the flags for the temporary pods of a bench.
type ownPods struct {
	nodes    []string
	image    string
	networks []string
	gpus     int
	yes      bool
	binaries map[string]string
}

func (o *ownPods) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.nodes, "nodes", nil, "measure between temporary pods on these `nodes`")
	flags.StringVar(&o.image, "image", "", "with --nodes: `image` with the tools")
	flags.StringSliceVar(&o.networks, "network", nil,
		"with --nodes: network `attachment` to use as a rail; repeatable (default: all rails of the namespace)")
	flags.IntVar(&o.gpus, "gpus", 0, "with --nodes: `number` of GPUs of each pod, which NCCL needs (default: none)")
	flags.BoolVarP(&o.yes, "yes", "y", false, "with --nodes: apply the plan without asking")
	binaryFlag(cmd, &o.binaries, "with --nodes: ")
}

// check reads the flags. job says whether the command line names a job.
func (o *ownPods) check(job bool) error {
	switch {
	case !job && len(o.nodes) == 0:
		return errors.New("name a job, or nodes: 'railhead bench NAME' or " +
			"'railhead bench --nodes NODE,NODE --image IMAGE'")
	case job && len(o.nodes) > 0:
		return errors.New("name a job or --nodes, not both")
	case len(o.nodes) > 0 && o.image == "":
		return errors.New("--nodes creates pods and needs --image; build/bench makes an image with perftest")
	}
	return nil
}

// benchNodes creates pods on nodes, measures between them, and removes them, also after an interrupt.
func (a *app) benchNodes(ctx context.Context, f benchFlags) (bench.Result, error) {
	var none bench.Result
	carried, err := programs(f.own.binaries)
	if err != nil {
		return none, wrongInput(err)
	}
	client, ns, err := a.connect(ctx)
	if err != nil {
		return none, err
	}
	temporary := collect.NewTemporary(client, ns, a.sayLine)
	o := benchrun.NodeJob(temporary.ID, job.Options{
		Namespace:  ns,
		Mode:       nccl.RDMA,
		GPUs:       f.own.gpus,
		Networks:   f.own.networks,
		Image:      f.own.image,
		Programs:   carried,
		Scheduling: job.Scheduling{NodeNames: f.own.nodes},
	})
	s, err := readForJob(ctx, client, o)
	if err != nil {
		return none, err
	}
	a.warnOfOldPods(ctx, client, ns)
	p, findings := job.Deploy(s, o)
	if err := a.refuse(findings); err != nil {
		return none, err
	}
	text.Plan(a.Err, p)
	a.sayLine("  They are removed at the end of the bench.")
	if err := a.agree(ctx, f.own.yes); err != nil {
		return none, err
	}
	defer func() {
		a.sayLine("Removing the pods of the bench")
		temporary.Remove(ctx)
	}()
	targets, err := benchrun.CreatePods(ctx, client, temporary, p, o, a.live())
	if err != nil {
		return none, err
	}
	return a.benchPods(ctx, client, targets, nil, f)
}

// warnOfOldPods names the pods of benches that were killed. They hold devices until they are deleted.
func (a *app) warnOfOldPods(ctx context.Context, client *kube.Client, ns string) {
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Objects}, Namespace: ns})
	if err != nil {
		return // the next request reports it
	}
	for _, name := range job.Names(s, ns) {
		if strings.HasPrefix(name, benchrun.NodeJobPrefix) {
			a.say("The pods of another bench still exist. If it no longer runs: railhead delete %s -n %s", name, ns)
		}
	}
}
