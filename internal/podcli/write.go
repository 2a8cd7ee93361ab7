package podcli

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
)

// write writes the environment for commands that others start.
func (r start) write(out *messages, vars []nccl.Var) error {
	if err := launch.WriteFiles(r.dir, "", vars); err != nil {
		return exit.Error{Code: exit.Refused, Err: err}
	}
	fmt.Fprintf(out.info(), "Wrote %[1]s/nccl.conf and %[1]s/env.sh\n", r.dir)
	return nil
}

// replacesEnvironment reports whether a variable has another value in the environment. There a file has no effect: NCCL
// sets only variables that are missing (src/misc/param.cc setEnvFile).
func replacesEnvironment(vars []nccl.Var, s host.Snapshot) bool {
	return slices.ContainsFunc(vars, func(v nccl.Var) bool {
		value, set := s.Env[v.Name]
		return set && value != v.Value && v.Source != nccl.UserSet
	})
}

// fileVars returns the settings in NCCL's files that are not among the variables. A new file may be mounted over the
// image's own /etc/nccl.conf.
func fileVars(vars []nccl.Var, s host.Snapshot) []nccl.Var {
	var kept []nccl.Var
	for _, c := range s.NCCL.Config {
		named := func(v nccl.Var) bool { return v.Name == c.Name }
		if !slices.ContainsFunc(vars, named) && !slices.ContainsFunc(kept, named) {
			kept = append(kept, nccl.Var{
				Name: c.Name, Value: c.Value, Reason: "set by " + c.File + " and kept", Source: nccl.UserSet,
			})
		}
	}
	return kept
}
