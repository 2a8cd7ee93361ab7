package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

// fallbackCauses returns why the run uses TCP. It is found once: each failed set-up asks for it.
func (run *shortfall) fallbackCauses() []candidate { return slices.Clone(run.fallback()) }

func (run *shortfall) findFallback() []candidate {
	found := run.withoutRail()
	if len(found) > 0 {
		return found
	}
	none := run.events(event.NoDevice)
	lines := slices.Concat(none, run.events(event.NoVerbs))
	found = append(found, run.disabled()...)
	hca, filtered := run.env("NCCL_IB_HCA")
	if filtered {
		found = append(found, one(HCAFilter, Likely, fmt.Sprintf("NCCL_IB_HCA=%s%s", hca, netdevs(hca)), lines...)...)
	}
	if failed := run.events(event.ProviderFailed); len(failed) > 0 {
		found = append(found, one(VerbsProviderMismatch, Likely, "libibverbs reports it, and NCCL found no device",
			append(failed, none...)...)...)
	}
	unopened := run.events(event.CannotOpen)
	lines = append(lines, unopened...)
	if failed := run.events(event.OFINoProvider, event.OFIFailed); len(failed) > 0 {
		found = append(found, one(OFINoProvider, Likely, "the plugin was loaded but found no provider", failed...)...)
	}
	missing := one(NoIBDevice, Likely, "the ranks report it", lines...)
	switch verbs := run.events(event.NoVerbs); {
	case len(verbs) > 0:
		missing[0].summary = "libibverbs is not in the image, so NCCL cannot find devices"
	case len(lines) == 0:
		missing[0].confidence, missing[0].summary = Possible,
			"the log has no NET/IB line; NCCL_DEBUG=INFO with the subsystem NET prints it"
		missing[0].evidence = quotes(run.chosen("Socket"), run.listed())
	}
	if len(unopened) > 0 {
		missing[0].summary = "devices exist but none can be opened: /dev/infiniband is not in the container, " +
			"or not permitted"
	}
	if len(found) > 0 {
		missing[0].confidence = Possible
	}
	found = append(found, missing...)
	if !filtered {
		found = append(found, one(HCAFilter, Possible,
			"a filter that matches nothing looks the same, but no line shows one", none...)...)
	}
	return found
}

// withoutRail: railhead-pod found no rail that works and set NCCL to TCP, unless the variables of the pod had done so.
func (run *shortfall) withoutRail() []candidate {
	for _, e := range run.events(event.NoRail) {
		if e.Name != "" && e.Name != string(nccl.NetworkChoice) {
			return one(NoIBDevice, Likely, "railhead-pod found no rail that works in this pod, and set NCCL to TCP", e)
		}
	}
	return nil
}

func netdevs(value string) string {
	names := strings.FieldsFunc(strings.TrimLeft(value, "^="), func(r rune) bool { return r == ',' })
	looks := slices.ContainsFunc(names, func(n string) bool {
		for _, prefix := range []string{"eth", "ens", "eno", "enp", "enP", "net", "bond"} {
			if strings.HasPrefix(n, prefix) {
				return true
			}
		}
		return false
	})
	if looks {
		return " has names of network interfaces, not of RDMA devices"
	}
	return " matches no device with an ACTIVE port"
}

func (run *shortfall) disabled() []candidate {
	for _, name := range []string{"NCCL_IB_DISABLE", "NCCL_IBEXT_DISABLE"} {
		if value, ok := run.env(name); ok && value != "0" && value != "" {
			return []candidate{{DisabledByEnv, Certain, name + "=" + value, run.lineOf(name)}}
		}
	}
	if value, ok := run.env("NCCL_NET"); ok && strings.EqualFold(value, "socket") {
		return []candidate{{DisabledByEnv, Certain, "NCCL_NET=" + value, run.lineOf("NCCL_NET")}}
	}
	return nil
}

func (run *facts) lineOf(name string) []Evidence {
	for _, r := range run.log.Ranks {
		for _, e := range r.Env {
			if e.Name == name {
				return quotes(e.At, r.Chosen)
			}
		}
	}
	for _, e := range run.log.Env {
		if e.Name == name {
			return quotes(e.At)
		}
	}
	return quotes(run.chosen("Socket"), run.listed())
}

// survived are the soft faults that a run may go on after, and that are worth a word then.
var survived = []event.Kind{event.CannotOpen, event.AsyncEvent, event.FailedOver,
	event.Listed}

// degradations returns the faults of a run that goes on.
func (run *teller) degradations() []candidate {
	var found []candidate
	found = append(found, run.someOnSocket()...)
	found = append(found, run.extraHCA()...)
	found = append(found, run.withoutGPUDirect()...)
	for _, e := range run.log.Events {
		if e.Kind == event.CannotOpen && !run.unevenHCAs() {
			continue // a pod that sees all HCAs of its node and was given one of them is as it should be
		}
		if e.Async != nil && e.Async.Type != codes.PortError {
			continue // no bandwidth is lost
		}
		soft := classOf(e) == event.Soft && slices.Contains(survived, e.Kind) && !run.lastWord(e) && !run.recovered(e)
		if soft || run.didWithoutTopology(e) {
			found = append(found, run.causesOf(e)...)
		}
	}
	return found
}

func (run *shortfall) unevenHCAs() bool {
	_, ok := run.difference("HCAs", func(r nccllog.Rank) string {
		if len(r.HCAs) == 0 {
			return ""
		}
		return strconv.Itoa(len(r.HCAs))
	})
	return ok
}

func (run *facts) recovered(e event.Event) bool {
	return e.Async != nil && slices.ContainsFunc(run.log.Events, func(o event.Event) bool {
		return o.Async != nil && o.Seq > e.Seq && o.Async.Device == e.Async.Device &&
			o.Async.Type == codes.PortActive
	})
}

func (run *shortfall) someOnSocket() []candidate {
	var on, off []string
	var lines []Evidence
	for _, r := range run.log.Ranks {
		network := r.Network
		for _, n := range r.Channels.Nets {
			network = n.Network
		}
		switch {
		case network == "Socket":
			on = append(on, cmp.Or(r.Host, r.Label))
			lines = joined(lines, quotes(r.Chosen))
		case network != "":
			off = append(off, r.Host)
			if len(off) == 1 {
				lines = joined(lines, quotes(r.Chosen))
			}
		}
	}
	if len(on) == 0 || len(off) == 0 {
		return nil
	}
	slices.Sort(on)
	text := fmt.Sprintf("%s of %d use TCP (%s), the others use RDMA", words.Count(len(on), "rank"), len(on)+len(off),
		words.Few(slices.Compact(on), mostNames))
	if d, ok := run.differs("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA"); ok {
		return []candidate{{EnvNotOnAllRanks, Likely, text + "; " + d.What + " is " + values(d),
			joined(run.lineOf(d.What), lines)}}
	}
	return []candidate{{HCAAsymmetry, Likely, text, lines}, {EnvNotOnAllRanks, Possible,
		"a variable may be set on some ranks only", lines}}
}

func (run *shortfall) differs(names ...string) (Difference, bool) {
	for _, name := range names {
		if d, ok := run.difference(name, func(r nccllog.Rank) string { return variable(r, name) }); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// extraHCA: few HCAs of another layer among many.
func (run *shortfall) extraHCA() []candidate {
	for _, r := range run.log.Ranks {
		layers := map[string][]string{}
		for _, h := range r.HCAs {
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
		text := fmt.Sprintf("%s (%s) is listed among %s of the other kind", words.Few(minority, mostNames), layer,
			words.Count(len(many), "HCA"))
		return []candidate{
			{ExtraHCA, Likely, text, quotes(r.Listed)},
			{MixedIBRoCE, Possible, "NCCL may try to connect one kind to the other", quotes(r.Listed)},
		}
	}
	return nil
}

// withoutGPUDirect: RDMA carries the data, and NCCL said of the NICs of some ranks that they cannot reach GPUs.
func (run *shortfall) withoutGPUDirect() []candidate {
	if run.network.Used != nil && !*run.network.Used || run.nodes() == 1 || run.network.Kind != IB &&
		run.network.Kind != RoCE || run.gpuDirect == GPUDirectYes {
		return nil
	}
	var without []string
	var lines []Evidence
	for _, r := range run.log.Ranks {
		if len(r.GPUDirect.Disabled) > 0 && len(r.GPUDirect.Enabled) == 0 {
			without = append(without, cmp.Or(r.Host, r.Label))
			lines = joined(lines, quotes(r.GPUDirect.DisabledAt))
		}
	}
	if len(without) == 0 {
		return run.oneHostWithout()
	}
	slices.Sort(without)
	return []candidate{{PeermemMissing, Likely, "NCCL found no module for the NICs on " +
		words.Few(slices.Compact(without), mostNames) + ": data goes through host memory", lines}}
}

// oneHostWithout finds hosts without any GDRDMA while others have it everywhere.
func (run *shortfall) oneHostWithout() []candidate {
	with, without := map[string]bool{}, map[string]bool{}
	var lines []Evidence
	for _, r := range run.log.Ranks {
		if slices.ContainsFunc(r.Channels.Nets, func(n nccllog.NetChannels) bool { return n.Network == "Socket" }) {
			continue
		}
		switch gpuDirectOf(r) {
		case "yes":
			with[r.Host] = true
		case "no":
			without[r.Host] = true
			for _, n := range r.Channels.Nets {
				lines = joined(lines, quotes(n.Indirect))
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
	return []candidate{{PeermemMissing, Likely, "all channels of " + words.Few(slices.Sorted(maps.Keys(without)),
		mostNames) +
		" go through the host's memory, those of " + words.Few(slices.Sorted(maps.Keys(with)), mostNames) + " do not",
		lines}}
}
