package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/examine"
	"github.com/railhead/railhead/internal/measure"
	"github.com/railhead/railhead/internal/podbinary"
	"github.com/railhead/railhead/internal/ranks"
)

// examine examines everything that the command line names. Every error has the code Unknown.
func (a *app) examine(ctx context.Context, asked bundle.Subject, f doctorFlags) (bundle.Bundle, error) {
	var none bundle.Bundle
	client, ns, err := a.connect(ctx)
	if err != nil {
		return none, unknown(err)
	}
	if !asked.Cluster {
		asked.Namespace = cmp.Or(asked.Namespace, ns)
	}
	o := examine.Options{
		Subject:   asked,
		Nodes:     f.nodes,
		Logs:      f.logs,
		Container: f.container,
		Timeout:   f.timeout,
		Probe: examine.Probe{
			Namespace: ns,
			Image:     f.probe.image,
			ImageFlag: "--probe-image",
			Watch:     f.watch,
		},
		Program: programOf(f.probe.binaries),
		Version: a.version,
		Live:    a.streams.live(),
	}
	if f.nodes || len(asked.Nodes) > 0 {
		if o.Probe.Programs, err = programs(f.probe.binaries); err != nil {
			return none, unknown(err)
		}
	}
	if f.measure {
		o.Measure = func(ctx context.Context, seen bundle.Bundle, pods []cluster.Pod) (*bench.Result, error) {
			defer context.AfterFunc(ctx, func() { a.say("Interrupted: stopping all processes in the pods") })()
			quick := measure.Defaults()
			quick.Plan, quick.Force = measure.Quick, f.force
			return measure.Examined(ctx, client, seen, pods, f.container, quick, a.streams.live())
		}
	}
	b, err := examine.Run(ctx, client, o)
	switch {
	case ctx.Err() != nil:
		return b, ctx.Err()
	case errors.Is(err, examine.ErrNoJob):
		err = errors.New(ranks.NoJobText(b.State, asked.Job, asked.Namespace))
	}
	if err != nil {
		err = unknown(err)
	}
	return b, err
}

// programOf returns railhead-pod for an architecture.
func programOf(files map[string]string) func(arch string) ([]byte, error) {
	return func(arch string) ([]byte, error) {
		all, err := programs(files)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if p.Arch == arch {
				return slices.Concat(p.Parts...), nil
			}
		}
		return podbinary.For(arch)
	}
}
