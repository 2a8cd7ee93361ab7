package podcli

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// decision is what run and env act on.
type decision struct {
	snapshot   host.Snapshot
	resolution rail.Resolution
	vars       []nccl.Var
	findings   []check.Finding
	noRail     *check.Finding // why there is no rail, when one was wanted
}

// decide goes from what was read to what is to be set.
func decide(s host.Snapshot, scope rail.Scope, p nccl.Policy) decision {
	d := decision{snapshot: s, resolution: rail.Resolve(s, scope)}
	d.vars, d.findings = nccl.Compute(d.resolution.Rails, s, p)
	if p.Mode == nccl.TCP {
		return d
	}
	d.findings = append(d.resolution.Findings(), d.findings...)
	if len(d.resolution.Rails) == 0 {
		f := d.resolution.NoRail(s)
		d.noRail = &f
		d.findings = slices.DeleteFunc(d.findings, func(g check.Finding) bool { return g.Check == f.Check && g.Summary == f.Summary })
	}
	return d
}

// refusal is why mode rdma does not start: no rail, or an environment that keeps NCCL off the rails.
func (d decision) refusal() []check.Finding {
	if d.noRail != nil {
		return []check.Finding{*d.noRail}
	}
	var fatal []check.Finding
	for _, f := range d.findings {
		forcesTCP := f.Check == nccl.NetworkChoice || f.Check == nccl.HCAFilter || f.Check == nccl.GIDIndex || f.Check == nccl.SocketInterface
		if f.Status == check.Fail && forcesTCP {
			fatal = append(fatal, f)
		}
	}
	return fatal
}
