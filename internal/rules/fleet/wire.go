package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Queue pairs of the pods of a job, from two readings.
const (
	WireLost     check.ID = "wire-lost"
	WirePeerGone check.ID = "wire-peer-gone"
	WireTCP      check.ID = "wire-tcp"
	WireIdleRail check.ID = "wire-idle-rail"
)

// railFaults stop or hide a rail.
var railFaults = []check.ID{
	rail.PortActive, rail.CarrierPresent, rail.GIDUsable, machine.PhysicalUp, machine.VFSettings, machine.RailARP,
	machine.RailMTU, machine.LinkStable, DuplicateAddress, RailSubnet, MTU,
}

// notUsed are the reasons why a program does not use its rails.
var notUsed = append([]check.ID{
	rail.DeviceAllocated, rail.UverbsOpenable, rail.RDMANamespace, machine.VerbsLibrary, machine.MemlockLimit,
	nccl.LibraryDevices, Rails,
}, railFaults...)

var wireChecks = []check.Check[fleet]{
	{
		ID: WireLost, Title: "packets that a queue pair sends arrive", ExplainedBy: railFaults,
		Run: inEachJob(broken(wire.Lost, lost)),
	},
	{
		ID: WirePeerGone, Title: "every connected queue pair has its other end",
		Run: inEachJob(broken(wire.PeerGone, peerGone)),
	},
	{
		ID: WireTCP, Title: "pods with rails do not exchange their data over TCP", ExplainedBy: notUsed,
		Run: inEachJob(ofWhole(overTCP)),
	},
	{
		ID: WireIdleRail, Title: "every rail of a pod that uses RDMA has queue pairs", ExplainedBy: notUsed,
		Run: inEachJob(ofWhole(idleRails)),
	},
}

// wireOf returns what the pods of one job do over RDMA.
func wireOf(pods []Member) wire.Job {
	var all []wire.Member
	whole := true
	for _, m := range pods {
		all = append(all, wire.Member{Ref: m.Ref, Motion: m.motion})
		whole = whole && m.Whole
	}
	return wire.Together(all, whole)
}

// inEachJob returns a check that is skipped if it finds nothing and queue pairs could not be read.
func inEachJob(judge func(wire.Job) []check.Finding) func(fleet) []check.Finding {
	return func(f fleet) []check.Finding {
		var all []check.Finding
		for _, j := range f.jobs {
			all = append(all, judge(j)...)
			if len(j.Unproved) > 0 {
				all = append(all, skipped("not all queue pairs could be read: "+cmp.Or(j.Why, j.Unproved[0].String())))
			}
		}
		return foundOrSkipped(all)
	}
}

// ofWhole returns a judge that is skipped for a job with pods that were not examined.
func ofWhole(judge func(wire.Job) []check.Finding) func(wire.Job) []check.Finding {
	return func(j wire.Job) []check.Finding {
		if !j.Whole && len(j.Unproved) == 0 {
			return []check.Finding{skipped("not all pods of a job were examined")}
		}
		return judge(j)
	}
}

func skipped(why string) check.Finding { return check.Finding{Status: check.Skipped, Summary: why} }

// broken returns a judge of the connections in a state.
func broken(state wire.State, report func([]wire.Connection) check.Finding) func(wire.Job) []check.Finding {
	return func(j wire.Job) []check.Finding {
		found := slices.DeleteFunc(slices.Clone(j.Faults), func(c wire.Connection) bool { return c.State != state })
		if len(found) == 0 {
			return nil
		}
		return []check.Finding{report(found)}
	}
}

// overTCP warns only: a job that prepares its data may connect its queue pairs later.
func overTCP(j wire.Job) []check.Finding {
	if j.OverTCP == nil {
		return nil
	}
	f := check.Finding{
		Check: WireTCP, Status: check.Warn, Subject: check.Ref{Kind: check.Pods},
		Summary: fmt.Sprintf("not RDMA: %.3g Gb/s over %s, and no queue pair is connected", gbps(j.OverTCP.Sent),
			j.OverTCP.Name),
		Evidence: check.Observed("queue pairs that are connected", "0", "some on each rail"),
		Fix: check.ByUser("If training has begun, find in its log why the program does not use the rails.",
			"railhead explain -n NAMESPACE NAME", "railhead-pod env --explain"),
	}
	for _, m := range j.Members {
		f.About = append(f.About, m.Ref)
		for _, l := range m.Links {
			if l.Name == j.OverTCP.Name {
				f.Evidence = append(f.Evidence, check.Evidence{
					Source: m.Ref.String() + " " + l.Name,
					Got:    fmt.Sprintf("%.3g Gb/s sent, %.3g Gb/s received", gbps(l.Sent), gbps(l.Received)),
				})
			}
		}
	}
	return []check.Finding{f}
}

func gbps(bytes float64) float64 { return bytes * 8 / 1e9 }

func idleRails(j wire.Job) []check.Finding {
	if len(j.IdleRails) == 0 {
		return nil
	}
	f := check.Finding{
		Check: WireIdleRail, Status: check.Warn, Subject: check.Ref{Kind: check.Pods},
		Summary: fmt.Sprintf("%s without a queue pair, while most pods of the job use all their rails: %s",
			words.Count(len(j.IdleRails), "rail"), j.IdleRails[0]),
		Fix: check.ByUser("Compare NCCL_IB_HCA and the GPUs of that pod with those of the others.",
			"railhead wire NAME", "railhead-pod env --explain"),
	}
	for _, r := range j.IdleRails {
		f.About = append(f.About, check.PodRef(r.Namespace, r.Name), r)
		f.Evidence = append(f.Evidence, check.Evidence{Source: r.String(), Got: "no queue pair", Want: "connected"})
	}
	return []check.Finding{f}
}

func lost(all []wire.Connection) check.Finding {
	f := check.Finding{Check: WireLost, Status: check.Fail, Fix: check.ByAdmin(
		"Check the path in that direction: a firewall for UDP port 4791, routes, MTU and priority flow control.",
		"railhead bench NAME --matrix --quick")}
	for _, c := range all {
		for _, d := range c.Drops {
			got := "acknowledgements do not arrive"
			if d.Packets > 0 {
				got = words.Count(int(d.Packets), "packet") + " sent and not received, and none moves"
			}
			f.Evidence = append(f.Evidence, check.Evidence{Source: direction(d.From, d.To), Got: got, Want: "moving"})
		}
	}
	d := all[0].Drops[0]
	f.Subject, f.About = check.Ref{Kind: check.Pods}, about(all)
	f.Summary = fmt.Sprintf("the network loses the packets of %s: %s", words.Count(len(all), "connection"),
		direction(d.From, d.To))
	return f
}

func direction(from, to wire.Place) string {
	return fmt.Sprintf("from %s %s to %s %s", from.Machine, from.Device, to.Machine, to.Device)
}

// peerGone warns of ends without another end, and fails for those in error.
func peerGone(all []wire.Connection) check.Finding {
	f := check.Finding{Check: WirePeerGone, Status: check.Warn, Fix: check.ByUser(
		"Look for the rank that ended, in its log, and start the job again.", "railhead status NAME")}
	for _, c := range all {
		at, got := c.A.Machine.String()+" "+c.A.Device, "without its other end"
		if c.B.End != nil || c.A.Broken() {
			f.Status, got = check.Fail, "an end in state ERR"
		}
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: fmt.Sprintf("%s, queue pair %d", at, c.A.Number), Got: got, Want: "connected",
		})
	}
	f.Subject, f.About = check.Ref{Kind: check.Pods}, about(all)
	f.Summary = words.Count(len(all), "connection") + " lost the other end: the process there ended or gave up"
	return f
}

// about returns the pods and the devices of connections.
func about(all []wire.Connection) (refs []check.Ref) {
	seen := map[check.Ref]bool{}
	for _, c := range all {
		for _, p := range []wire.Place{c.A, c.B} {
			if p.End == nil {
				continue
			}
			for _, r := range []check.Ref{p.Machine, check.DeviceRef(p.Device).On(p.Machine)} {
				if !seen[r] {
					seen[r] = true
					refs = append(refs, r)
				}
			}
		}
	}
	return refs
}
