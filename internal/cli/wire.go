package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/workload"
)

func newWire(a *app) *cobra.Command {
	o := collect.Options{Timeout: time.Minute, Every: time.Second}
	f := wireFlags{format: "text"}
	var binaries map[string]string
	cmd := &cobra.Command{
		Use:   "wire [KIND/]NAME | pod/POD... | node/NODE...",
		Short: "Prove from the kernel whether a running job uses RDMA, without its logs",
		Long: `wire reads the queue pairs of all running pods of a job twice, a second apart (--every), and shows which
process sends and receives how much over which device. It pairs the two ends of each connection: a connection is lost if
packets were sent and do not arrive. It needs no privilege and no NCCL_DEBUG. The kernel does not show queue pairs of
IBGDA, GIN and other users of DevX.

Of a node it shows all processes, with their pods. A privileged pod reads them, and is removed afterwards.

--watch continues until Ctrl-C, also while the API server does not answer, and then sums up all readings: what they
show, and in how many of them connections were broken.

--save keeps the readings, at most 600 points; longer series are averaged. 'railhead report' draws it, with the times
at which connections were broken.

Exit status, of the last reading: 0 if packets moved over RDMA and no connection is broken; 1 otherwise; 2 if the
command line is wrong; 3 if the queue pairs of a pod or node could not be read, or if no packet moved and every pod has
an IMEX channel, so that NVLink may carry the data between nodes (MNNVL). A pod of a job that requests neither GPUs nor
RDMA, such as the launcher of an MPIJob, need not be read.`,
		Example: `  railhead wire h-kim -n train             all pods of a job; in CI, the exit status is the answer
  railhead wire trainjob/llama -n train    a job that something else created
  railhead wire pod/h-kim-0 -n train       one pod
  railhead wire node/gpu-0                 all processes of a node
  railhead wire h-kim -n train --watch     again and again, until Ctrl-C
  railhead wire h-kim -n train --watch --save wire.json; railhead report wire.json -o wire.html
  railhead wire h-kim -n train -o json     for scripts`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Subject, err = wireSubject(args); err != nil {
				return err
			}
			if o.Every < 100*time.Millisecond {
				return errors.New("--every must be at least 100ms: each reading asks the driver for every queue pair")
			}
			if len(o.Subject.Nodes) > 0 {
				if o.Probe.Programs, err = programs(binaries); err != nil {
					return unknown(err)
				}
			}
			o.Program, o.Live = programOf(binaries), a.live()
			r := wireReader{wireFlags: f, Options: o, read: a.wire, Streams: a.Streams}
			return r.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&o.Container, "container", "c", "",
		"`name` of the container to examine (default: the one that trains, otherwise the first that runs)")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "continue until Ctrl-C")
	cmd.Flags().StringVar(&f.save, "save", "", "save the readings to this `file`, for 'railhead report'")
	cmd.Flags().DurationVar(&o.Every, "every", o.Every, "time between the two readings")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", o.Timeout, "time for a pod to answer; a node has five times as long")
	cmd.Flags().StringVar(&o.Probe.Image, "probe-image", "",
		"`image` with a shell for the pod on a node "+
			"(default: that of the node's machine-config-daemon, or openshift/cli)")
	binaryFlag(cmd, &binaries, "")
	outputFlag(cmd, &f.format, "text", "json", "yaml")
	_ = cmd.MarkFlagFilename("save", "json") // the flag exists
	return cmd
}

// showWire prints a job. With again, a table replaces the previous one on a terminal, and there is no other progress.
func (s Streams) showWire(format string, job wire.Job, again bool, live *report.Live) error {
	table := func(out io.Writer, _ bool) error { return report.Wire(out, job) }
	if !again {
		return s.print(format, job, table)
	}
	var text strings.Builder
	if s.Screen && format == "text" {
		err := table(&text, false)
		live.Draw(text.String())
		return err
	}
	live.Draw("")
	return s.print(format, job, table)
}

// wireSubject returns what the arguments name.
func wireSubject(args []string) (s workload.Subject, err error) {
	if len(args) == 0 {
		return s, errors.New("name a job, or pod/POD, or node/NODE: railhead wire NAME")
	}
	for _, arg := range args {
		if err := addSubject(&s, arg); err != nil {
			return s, err
		}
	}
	job, pods, nodes := s.Job != "", len(s.Pods) > 0, len(s.Nodes) > 0
	if job && pods || nodes && (job || pods) {
		return s, errors.New("name a job, or pods, or nodes, not several of these")
	}
	return s, nil
}

func (a *app) wire(ctx context.Context, o collect.Options) (wire.Job, error) {
	client, ns, err := a.connect(ctx)
	if err != nil {
		return wire.Job{}, unknown(err)
	}
	o.Subject.Namespace = cmp.Or(o.Subject.Namespace, ns)
	o.Probe.Namespace, o.Probe.ImageFlag = ns, "--probe-image"
	job, err := collect.Wire(ctx, client, o)
	switch {
	case ctx.Err() != nil:
		return job, ctx.Err()
	case errors.Is(err, collect.ErrNoJob):
		return job, unknown(fmt.Errorf("job %s in namespace %s: %w", o.Subject.Ref(), o.Subject.Namespace, err))
	case errors.As(err, new(*workload.AmbiguousError)):
		return job, usage(err)
	case err != nil:
		return job, unknown(err)
	}
	return job, nil
}

func exitOfWire(j wire.Job) error {
	switch {
	case len(j.Faults) > 0:
	case j.Proof == wire.NotProved, len(j.Unproved) > 0, j.MayUseNVLink:
		return exit.Error{Code: exit.Unknown}
	case j.Proof == wire.RDMA:
		return nil
	}
	return exit.Error{Code: exit.Fault}
}
