package podcli

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// decision is what run and env act on.
type decision struct {
	policy     nccl.Policy
	snapshot   host.Snapshot
	resolution rail.Resolution
	vars       []nccl.Var
	findings   []check.Finding
	noRail     *check.Finding // why there is no rail, when one was wanted
}

// decide goes from what was read to what is to be set.
func decide(s host.Snapshot, scope rail.Scope, p nccl.Policy) decision {
	d := decision{policy: p, snapshot: s, resolution: rail.Resolve(s, scope)}
	d.vars, d.findings = nccl.Compute(d.resolution.Rails, s, p)
	if p.Mode == nccl.TCP {
		return d
	}
	var found []check.Finding
	found, d.noRail = explained(d.resolution, s)
	d.findings = append(found, d.findings...)
	return d
}

// explained is what is wrong with a resolution: its findings and, where it has no rail, why. Nothing is said twice.
func explained(r rail.Resolution, s host.Snapshot) (findings []check.Finding, noRail *check.Finding) {
	findings = r.Findings()
	if len(r.Rails) > 0 {
		return findings, nil
	}
	f := r.NoRail(s)
	return slices.DeleteFunc(findings, func(g check.Finding) bool { return g.Check == f.Check && g.Summary == f.Summary }), &f
}

// refusal is why mode rdma does not start: no rail, or an environment that keeps NCCL off the rails.
func (d decision) refusal() []check.Finding {
	switch {
	case d.policy.Mode == nccl.TCP:
		return nil
	case d.noRail != nil:
		return []check.Finding{*d.noRail}
	}
	return slices.DeleteFunc(slices.Clone(d.findings), func(f check.Finding) bool { return !fatal(f) })
}

// remarks are the findings that refusal leaves out.
func (d decision) remarks() []check.Finding {
	if d.policy.Mode == nccl.TCP || d.noRail != nil {
		return d.findings
	}
	return slices.DeleteFunc(slices.Clone(d.findings), fatal)
}

func fatal(f check.Finding) bool {
	forcesTCP := f.Check == nccl.NetworkChoice || f.Check == nccl.HCAFilter || f.Check == nccl.GIDIndex || f.Check == nccl.SocketInterface
	return f.Status == check.Fail && forcesTCP
}

// outcome is what becomes of a command that is started although refusal has something to say; costs says that it is TCP.
func (d decision) outcome() (text string, costs bool) {
	network := ""
	for _, v := range d.vars {
		if v.Name == "NCCL_NET" && v.Source == nccl.UserSet && !strings.EqualFold(v.Value, "Socket") {
			network = v.Value
		}
	}
	forced := func(f check.Finding) bool { return f.Check == nccl.NetworkChoice }
	switch {
	case d.noRail != nil && network != "":
		return "NO RAIL: training runs over the network of NCCL_NET=" + network + ", or stops.", false
	case d.noRail != nil, slices.ContainsFunc(d.refusal(), forced):
		return "NO RDMA: training runs over TCP.", true
	}
	return "RDMA AT RISK: NCCL may fall back to TCP or stop.", false
}
