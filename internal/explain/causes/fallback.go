package causes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// fallbackCauses returns why the run uses TCP. It is found once: each failed set-up asks for it.
func fallbackCauses(in *input) []candidate { return slices.Clone(in.fallback()) }

func findFallback(in *input) []candidate {
	found := withoutRail(in)
	if len(found) > 0 {
		return found
	}
	none := in.run.Events(event.NoDevice)
	lines := slices.Concat(none, in.run.Events(event.NoVerbs))
	found = append(found, disabled(in)...)
	hca, filtered := in.run.Env("NCCL_IB_HCA")
	if filtered {
		found = append(found, likely(story.HCAFilter, fmt.Sprintf("NCCL_IB_HCA=%s%s", hca, netdevs(hca)), lines...)...)
	}
	if failed := in.run.Events(event.ProviderFailed); len(failed) > 0 {
		found = append(found, likely(story.VerbsProviderMismatch, "libibverbs reports it, and NCCL found no device",
			append(failed, none...)...)...)
	}
	unopened := in.run.Events(event.CannotOpen)
	lines = append(lines, unopened...)
	if failed := in.run.Events(event.OFINoProvider, event.OFIFailed); len(failed) > 0 {
		found = append(found, likely(story.OFINoProvider, "the plugin was loaded but found no provider", failed...)...)
	}
	missing := likely(story.NoIBDevice, "the ranks report it", lines...)
	switch verbs := in.run.Events(event.NoVerbs); {
	case len(verbs) > 0:
		missing[0].summary = "libibverbs is not in the image, so NCCL cannot find devices"
	case len(lines) == 0:
		missing[0].confidence, missing[0].summary = story.Possible,
			"the log has no NET/IB line; NCCL_DEBUG=INFO with the subsystem NET prints it"
		missing[0].evidence = facts.Quotes(in.run.Chosen("Socket"), in.run.Listed())
	}
	if len(unopened) > 0 {
		missing[0].summary = "devices exist but none can be opened: /dev/infiniband is not in the container, " +
			"or not permitted"
	}
	if len(found) > 0 {
		missing[0].confidence = story.Possible
	}
	found = append(found, missing...)
	if !filtered {
		found = append(found, possible(story.HCAFilter,
			"a filter that matches nothing looks the same, but no line shows one", none...)...)
	}
	return found
}

// withoutRail: railhead-pod found no rail that works and set NCCL to TCP, unless the variables of the pod had done so.
func withoutRail(in *input) []candidate {
	for _, e := range in.run.Events(event.NoRail) {
		if e.Name != "" && e.Name != string(nccl.NetworkChoice) {
			return likely(story.NoIBDevice, "railhead-pod found no rail that works in this pod, and set NCCL to TCP", e)
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

func disabled(in *input) []candidate {
	for _, name := range []string{"NCCL_IB_DISABLE", "NCCL_IBEXT_DISABLE"} {
		if value, ok := in.run.Env(name); ok && value != "0" && value != "" {
			return []candidate{{id: story.DisabledByEnv, confidence: story.Certain, summary: name + "=" + value,
				evidence: lineOf(in.run, name)}}
		}
	}
	if value, ok := in.run.Env("NCCL_NET"); ok && strings.EqualFold(value, "socket") {
		return []candidate{{id: story.DisabledByEnv, confidence: story.Certain, summary: "NCCL_NET=" + value,
			evidence: lineOf(in.run, "NCCL_NET")}}
	}
	return nil
}

func lineOf(run *facts.Run, name string) []story.Evidence {
	for _, r := range run.Log.Ranks {
		for _, e := range r.Env {
			if e.Name == name {
				return facts.Quotes(e.At, r.Chosen)
			}
		}
	}
	for _, e := range run.Log.Env {
		if e.Name == name {
			return facts.Quotes(e.At)
		}
	}
	return facts.Quotes(run.Chosen("Socket"), run.Listed())
}
