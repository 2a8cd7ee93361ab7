package podcli

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
)

// write writes the environment for commands that others start.
func (r start) write(out *messages, vars []nccl.Var) error {
	if err := podrun.WriteFiles(r.dir, "", vars); err != nil {
		return exit.Error{Code: exit.Refused, Err: err}
	}
	fmt.Fprintf(out.info(), "Wrote %[1]s/nccl.conf and %[1]s/env.sh\n", r.dir)
	return nil
}

// unreplaced returns the variables that have another value in the environment. There a file has no effect: NCCL sets
// only variables that are missing (src/misc/param.cc setEnvFile).
func unreplaced(vars []nccl.Var, s host.Snapshot) []nccl.Var {
	return slices.DeleteFunc(slices.Clone(vars), func(v nccl.Var) bool {
		value, set := s.Env[v.Name]
		return !set || v.Means(value) || v.Source == nccl.UserSet
	})
}

// fixedByEnvironment returns a finding for each variable that keeps NCCL from reading its value in a file. Shells that
// source env.sh replace the variables of other libraries.
func fixedByEnvironment(vars []nccl.Var, s host.Snapshot) []check.Finding {
	var findings []check.Finding
	for _, v := range vars {
		if !nccl.InFile(v.Name) {
			continue
		}
		set, needs := v.Name+"="+s.Env[v.Name], v.Name+"="+v.Value
		if v.Source == nccl.LeftUnset {
			needs = v.Name + " unset"
		}
		findings = append(findings, check.Finding{
			Check: nccl.UserSetting, Status: check.Fail, Subject: check.EnvRef(v.Name),
			Summary:  set + " is set, and a file does not replace it: this pod needs " + needs,
			Evidence: check.Observed("environment", set, needs),
			Fix:      check.ByUser("Remove it from env and envFrom of the container, and from its image."),
		})
	}
	return findings
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
