package podcli

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// decision is the environment that run and env set, and everything that is wrong with it.
type decision struct {
	policy     nccl.Policy
	resolution rail.Resolution
	vars       []nccl.Var
	paths      []nccl.Path // that NCCL uses with vars
	findings   []check.Finding
	unusable   []check.Finding // rails that the pod was given and that do not work, next to others that do
	noRail     *check.Finding  // nil if there is a rail, or mode tcp wants none
}

func decide(s host.Snapshot, scope rail.Scope, p nccl.Policy) decision {
	d := decision{policy: p, resolution: rail.Resolve(s, scope)}
	d.vars, d.findings = nccl.Compute(d.resolution.Rails, s, p)
	if p.Mode == nccl.TCP {
		return d
	}
	d.paths = nccl.Paths(&s, d.vars, d.resolution.Rails)
	var found []check.Finding
	found, d.noRail = railFindings(d.resolution, s)
	for _, f := range found {
		if f.Status == check.Fail {
			d.unusable = append(d.unusable, f)
		}
	}
	d.findings = append(found, d.findings...)
	return d
}

// railFindings returns the findings about the rails and, separately, why there is none.
func railFindings(r rail.Resolution, s host.Snapshot) (findings []check.Finding, noRail *check.Finding) {
	findings = r.Findings()
	if len(r.Rails) > 0 {
		return findings, nil
	}
	f := r.NoRail(s)
	return slices.DeleteFunc(findings, f.Alike), &f
}

// blocking returns why mode rdma does not start: no rail, or an environment that keeps NCCL off the rails.
func (d decision) blocking() []check.Finding {
	switch {
	case d.policy.Mode == nccl.TCP:
		return nil
	case d.noRail != nil:
		return []check.Finding{*d.noRail}
	}
	return slices.DeleteFunc(slices.Clone(d.findings), func(f check.Finding) bool { return !forcesTCP(f) })
}

func (d decision) remarks() []check.Finding {
	if d.policy.Mode == nccl.TCP || d.noRail != nil {
		return d.findings
	}
	return slices.DeleteFunc(slices.Clone(d.findings), forcesTCP)
}

func forcesTCP(f check.Finding) bool {
	causes := []check.ID{nccl.NetworkChoice, nccl.HCAFilter, nccl.GIDIndex, nccl.SocketInterface}
	return f.Status == check.Fail && slices.Contains(causes, f.Check)
}

// consequence says how training runs if it is started despite blocking findings.
func (d decision) consequence() (text string, overTCP bool) {
	network := ""
	for _, v := range d.vars {
		if v.Name == "NCCL_NET" && v.Source == nccl.UserSet && !strings.EqualFold(v.Value, "Socket") {
			network = v.Value
		}
	}
	noNetwork := func(f check.Finding) bool { return f.Check == nccl.NetworkChoice }
	switch {
	case d.noRail != nil && network != "":
		return "NO RAIL: training runs over the network of NCCL_NET=" + network + ", or stops.", false
	case d.noRail != nil, slices.ContainsFunc(d.blocking(), noNetwork):
		return "NO RDMA: training runs over TCP.", true
	}
	return "RDMA AT RISK: NCCL may fall back to TCP or stop.", false
}
