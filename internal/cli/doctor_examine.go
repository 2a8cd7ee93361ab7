package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/benchrun"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/podbinary"
	"github.com/railhead/railhead/internal/workload"
)

// examine examines everything that the command line names. Every error has the code Unknown.
func (a *app) examine(ctx context.Context, f doctorFlags) (bundle.Bundle, error) {
	client, ns, err := a.connect(ctx)
	if err != nil {
		return bundle.Bundle{}, unknown(err)
	}
	o := f.options
	if !o.Subject.Cluster {
		o.Subject.Namespace = cmp.Or(o.Subject.Namespace, ns)
	}
	o.Probe.Namespace, o.Probe.ImageFlag = ns, "--probe-image"
	o.Program, o.Version, o.Live = programOf(f.binaries), a.version, a.live()
	if o.Nodes || len(o.Subject.Nodes) > 0 {
		if o.Probe.Programs, err = programs(f.binaries); err != nil {
			return bundle.Bundle{}, unknown(err)
		}
	}
	if f.measure {
		o.Measure = func(ctx context.Context, seen bundle.Bundle, pods []cluster.Pod) (*bench.Result, error) {
			defer context.AfterFunc(ctx, func() { a.say("Interrupted: stopping all processes in the pods") })()
			quick := benchrun.Defaults()
			quick.Plan, quick.Force = benchrun.Quick, f.force
			return benchrun.Examined(ctx, client, seen, pods, o.Container, quick, a.live())
		}
	}
	b, job, err := collect.Run(ctx, client, o)
	var ambiguous *workload.AmbiguousError
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, collect.ErrNoJob):
		err = unknown(errors.New(launch.NoJobText(b.State, o.Subject.Ref(), o.Subject.Namespace)))
	case errors.As(err, &ambiguous):
		err = usage(err)
	case err != nil:
		err = unknown(err)
	case job.Name != "":
		if run := a.detachedRun(ctx, client, launch.Targets(job)); run != nil {
			a.say("%s", run)
		}
	}
	return b, err
}

// programOf returns railhead-pod for an architecture, not compressed.
func programOf(files map[string]string) func(arch string) ([]byte, error) {
	return func(arch string) ([]byte, error) {
		file, named := files[arch]
		if !named {
			return podbinary.For(arch)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--pod-binary: %w", err)
		}
		return data, nil
	}
}
