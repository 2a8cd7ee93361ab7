package causes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// survived are the soft faults that a run may go on after, and that are worth a word then.
var survived = []event.Kind{event.CannotOpen, event.AsyncEvent, event.FailedOver,
	event.Listed}

// degradations returns the faults of a run that goes on.
func degradations(in *input) []candidate {
	var found []candidate
	found = append(found, someOnSocket(in)...)
	found = append(found, extraHCA(in)...)
	found = append(found, withoutGPUDirect(in)...)
	for _, e := range in.run.Log.Events {
		if e.Kind == event.CannotOpen && !unevenHCAs(in.run) {
			continue // a pod that sees all HCAs of its node and was given one of them is as it should be
		}
		if e.Async != nil && e.Async.Type != codes.PortError {
			continue // no bandwidth is lost
		}
		soft := e.Class() == event.Soft && slices.Contains(survived, e.Kind)
		if soft && !failures.IsFatal(in.run, e) && !recovered(in.run, e) || failures.DidWithoutTopology(in.run, e) {
			found = append(found, causesOf(in, e)...)
		}
	}
	return found
}

func unevenHCAs(run *facts.Run) bool {
	_, ok := facts.DifferenceIn(run, "HCAs", func(r nccllog.Rank) string {
		if len(r.HCAs) == 0 {
			return ""
		}
		return strconv.Itoa(len(r.HCAs))
	})
	return ok
}

func recovered(run *facts.Run, e event.Event) bool {
	return e.Async != nil && slices.ContainsFunc(run.Log.Events, func(o event.Event) bool {
		return o.Async != nil && o.Seq > e.Seq && o.Async.Device == e.Async.Device &&
			o.Async.Type == codes.PortActive
	})
}

func someOnSocket(in *input) []candidate {
	var on, off []string
	var lines []story.Evidence
	for _, r := range in.run.Log.Ranks {
		network := r.Network
		for _, n := range r.Channels.Nets {
			network = n.Network
		}
		switch {
		case network == "Socket":
			on = append(on, cmp.Or(r.Host, r.Label))
			lines = joined(lines, facts.Quotes(r.Chosen))
		case network != "":
			off = append(off, r.Host)
			if len(off) == 1 {
				lines = joined(lines, facts.Quotes(r.Chosen))
			}
		}
	}
	if len(on) == 0 || len(off) == 0 {
		return nil
	}
	slices.Sort(on)
	text := fmt.Sprintf("%s of %d use TCP (%s), the others use RDMA", words.Count(len(on), "rank"), len(on)+len(off),
		words.Few(slices.Compact(on), facts.MostNames))
	if d, ok := differs(in.run, "NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA"); ok {
		return []candidate{{id: story.EnvNotOnAllRanks, confidence: story.Likely, summary: text + "; " + d.What +
			" is " + values(d),
			evidence: joined(lineOf(in.run, d.What), lines)}}
	}
	return []candidate{{id: story.HCAAsymmetry, confidence: story.Likely, summary: text, evidence: lines},
		{id: story.EnvNotOnAllRanks, confidence: story.Possible,
			summary: "a variable may be set on some ranks only", evidence: lines}}
}

func differs(run *facts.Run, names ...string) (story.Difference, bool) {
	for _, name := range names {
		if d, ok := facts.DifferenceIn(run, name, func(r nccllog.Rank) string { return facts.Variable(r, name) }); ok {
			return d, true
		}
	}
	return story.Difference{}, false
}

// extraHCA: few HCAs of another layer among many.
func extraHCA(in *input) []candidate {
	if in.run.Nodes() == 1 { // which uses none of them
		return nil
	}
	for _, r := range in.run.Log.Ranks {
		layers := map[string][]string{}
		for _, h := range facts.UsedHCAs(in.run, r) {
			layers[h.Layer] = append(layers[h.Layer], h.Name)
		}
		ib, roce := layers["IB"], layers["RoCE"]
		if len(ib) == 0 || len(roce) == 0 {
			continue
		}
		minority, many, layer := roce, ib, "RoCE"
		if len(roce) > len(ib) {
			minority, many, layer = ib, roce, "InfiniBand"
		}
		text := fmt.Sprintf("%s (%s) is listed among %s of the other kind", words.Few(minority, facts.MostNames), layer,
			words.Count(len(many), "HCA"))
		return []candidate{
			{id: story.ExtraHCA, confidence: story.Likely, summary: text, evidence: facts.Quotes(r.Listed)},
			{id: story.MixedIBRoCE, confidence: story.Possible, summary: "NCCL may try to connect one kind to the " +
				"other",
				evidence: facts.Quotes(r.Listed)},
		}
	}
	return nil
}

// withoutGPUDirect: RDMA carries the data, and NCCL said of the NICs of some ranks that they cannot reach GPUs.
func withoutGPUDirect(in *input) []candidate {
	if in.use.Network.Used != nil && !*in.use.Network.Used || in.run.Nodes() == 1 || in.use.Network.Kind != story.IB &&
		in.use.Network.Kind != story.RoCE || in.use.GPUDirect == story.GPUDirectYes {
		return nil
	}
	var without []string
	var lines []story.Evidence
	for _, r := range in.run.Log.Ranks {
		if len(r.GPUDirect.Disabled) > 0 && len(r.GPUDirect.Enabled) == 0 {
			without = append(without, cmp.Or(r.Host, r.Label))
			lines = joined(lines, facts.Quotes(r.GPUDirect.DisabledAt))
		}
	}
	if len(without) == 0 {
		return oneHostWithout(in)
	}
	slices.Sort(without)
	return []candidate{{id: story.PeermemMissing, confidence: story.Likely,
		summary: "NCCL found no module for the NICs on " +
			words.Few(slices.Compact(without), facts.MostNames) + ": data goes through host memory", evidence: lines}}
}

// oneHostWithout finds hosts without any GDRDMA while others have it everywhere.
func oneHostWithout(in *input) []candidate {
	with, without := map[string]bool{}, map[string]bool{}
	var lines []story.Evidence
	for _, r := range in.run.Log.Ranks {
		if slices.ContainsFunc(r.Channels.Nets, func(n nccllog.NetChannels) bool { return n.Network == "Socket" }) {
			continue
		}
		switch facts.GPUDirectOf(r) {
		case "yes":
			with[r.Host] = true
		case "no":
			without[r.Host] = true
			for _, n := range r.Channels.Nets {
				lines = joined(lines, facts.Quotes(n.Indirect))
			}
		case "partial":
			return nil
		}
	}
	if len(with) == 0 || len(without) == 0 {
		return nil
	}
	for host := range without {
		if with[host] {
			return nil
		}
	}
	few := func(hosts map[string]bool) string { return words.Few(slices.Sorted(maps.Keys(hosts)), facts.MostNames) }
	return []candidate{{id: story.PeermemMissing, confidence: story.Likely, summary: "all channels of " + few(without) +
		" go through the host's memory, those of " + few(with) + " do not", evidence: lines}}
}
