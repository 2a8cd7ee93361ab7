package podcli

import (
	"fmt"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
)

func newEnv(streams Streams) *command {
	var m machine
	var p policyFlags
	var explain bool
	format := "shell"
	c := newCommand("env")
	c.short = "Print the environment that run would set"
	c.long = `env prints the variables that run would set, for shells, container engines, programs or NCCL itself.

Exit status: 0 if variables were printed; 1 if mode rdma finds no usable rail, then nothing is printed; 2 for a wrong
command line; 3 if --root cannot be read.`
	c.example = `  eval "$(railhead-pod env)"                     in a shell inside the pod
  railhead-pod env --explain                     every variable with its reason
  railhead-pod env -o nccl-conf > ~/.nccl.conf   for programs that drop the environment`
	c.run = func([]string) error {
		policy, err := p.policy()
		if err != nil {
			return err
		}
		here, err := m.open()
		if err != nil {
			return err
		}
		d := decide(here.Snapshot(), rail.Scope(m.scope), policy)
		if blocking := d.blocking(); policy.Mode == nccl.RDMA && len(blocking) > 0 {
			report.Findings(streams.Err, blocking, report.Full)
			return exit.Error{Code: exit.Fault}
		}
		report.Findings(streams.Err, d.remarks(), report.Brief)
		warnOfFallback(streams.Err, d)
		text, err := nccl.Format(d.vars, format, explain)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(streams.Out, text)
		return err
	}
	outputFlag(c.flags, &format, nccl.Formats...)
	c.flags.BoolVar(&explain, "explain", false, "print each variable's reason before it, as a comment")
	p.add(c.flags)
	m.scopeFlag(c.flags)
	m.rootFlag(c.flags)
	return c
}
