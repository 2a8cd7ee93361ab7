package causes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/failures"
	"github.com/railhead/railhead/internal/explain/network"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

func completionCauses(in *input, e event.Event) []candidate {
	c := e.Completion
	said := fmt.Sprintf("%s got completion %s (%d)", in.run.Who(e), c.Name, c.Status)
	if c.HasVendor {
		said += fmt.Sprintf(", vendor error %d (0x%x%s)", c.Vendor, c.Vendor, withComma(codes.Syndrome(c.Vendor)))
	}
	if c.Peer != "" {
		said += " from " + cmp.Or(in.run.PeerHost(c.Peer), c.Peer)
	}
	if c.HCA != "" {
		said += " on " + c.HCA
	}
	switch c.Status {
	case codes.StatusRetry, codes.StatusTimeout:
		found := retryCauses(in, e, said)
		if len(failures.DeviceEvents(in.run, e, codes.PortError, codes.GIDChange)) > 0 {
			return found
		}
		if hadWorked(in.run, e) {
			found = sinceLost(e, found)
		}
		return withFirst(oddOneOut(in, e, c.Peer, c.HCA), found)
	case codes.StatusProt, codes.StatusLocalAcc:
		return slices.Concat(
			likely(story.ACSIOMMU, said, e),
			possible(story.PeermemMissing, "the registration of GPU memory may be broken", e),
			possible(story.KernelRegression, "kernel and GPU driver may not match", e),
		)
	case codes.StatusRemAcc, codes.StatusRemInv, codes.StatusRemOp:
		return slices.Concat(
			likely(story.RemoteAccessErr, said, e),
			possible(story.PeerDied, "the peer may have ended first", e),
		)
	case codes.StatusLength:
		return slices.Concat(
			likely(story.MTUMismatch, said, e),
			possible(story.VersionMismatch, "or the ranks send different sizes", e),
		)
	case codes.StatusQPOp, 3, 19, 21:
		return slices.Concat(
			likely(story.QPAsyncFatal, said, e),
			possible(story.ACSIOMMU, "or the memory is not reachable", e),
		)
	case codes.StatusRNR:
		return slices.Concat(
			possible(story.PeerDied, said+": the peer no longer posts receives", e),
			possible(story.HangTimeout, "the peer may hang", e),
		)
	}
	return []candidate{{id: story.UnknownCause, confidence: story.Possible, summary: said,
		evidence: facts.Quotes(e.Quote)}}
}

func withComma(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// retryCauses: the peer's NIC never answered. On InfiniBand addresses come from the subnet manager, so it is the
// fabric.
func retryCauses(in *input, e event.Event, said string) []candidate {
	c := e.Completion
	said += ": the peer's NIC did not answer"
	port, moved := failures.DeviceEvents(in.run, e, codes.PortError), failures.DeviceEvents(in.run, e, codes.GIDChange)
	layer := cmp.Or(network.LayerOf(e), layerOfHCA(in, c.HCA), in.use.Network.LinkLayer)
	var found []candidate
	switch {
	case len(port) > 0:
		found = append(found, likely(story.PortError, fmt.Sprintf("%s; %s of %s lost its link", said,
			cmp.Or(port[0].Async.Device, "a port"), cmp.Or(in.run.HostOf(port[0]), "a host")),
			append([]event.Event{e}, port...)...)...)
	case layer == network.LayerIB || layer == network.LayerMixed && network.Majority(in.run) == network.LayerIB:
		found = append(found, likely(story.IBFabricNotConnected, said, e)...)
		return append(found, slices.Concat(
			possible(story.PortError, "a link may have failed if the run had worked for a while", e),
			possible(story.PeerDied, "the peer may have ended first", e),
		)...)
	case layer == network.LayerUnknown || layer == "":
		found = append(found, slices.Concat(
			likely(story.RouteOrARP, said, e),
			possible(story.IBFabricNotConnected, "if the devices are InfiniBand", e),
		)...)
		return append(found, possible(story.PeerDied, "the peer may have ended first", e)...)
	case len(moved) > 0:
		found = append(found, likely(story.GIDIndex, fmt.Sprintf("%s; the GID table of %s of %s had changed", said,
			cmp.Or(moved[0].Async.Device, "a device"), cmp.Or(in.run.HostOf(moved[0]), "a host")),
			append([]event.Event{e}, moved...)...)...)
	}
	route := likely(story.RouteOrARP, said, e)
	if linkLocal(c.LocalGID) && linkLocal(c.RemoteGID) {
		route[0].summary += "; both GIDs are link-local: the interface of this HCA has no address"
	}
	found = append(found, route...)
	if apartSubnets(gidOf(c.LocalGID), gidOf(c.RemoteGID)) {
		found = append(found, possible(story.RailIsolation, "the ends are in different subnets, which are either "+
			"routed or separate rails"+gids(c.LocalGID, c.RemoteGID), e)...)
	}
	if set, ok := in.run.Env("NCCL_IB_GID_INDEX"); ok {
		found = append(found, possible(story.GIDIndex, "NCCL_IB_GID_INDEX="+set+" may select a GID that is not routed",
			e)...)
	}
	return append(found, phantom(in, e)...)
}

// hadWorked reports whether the training had counted its steps before an event, over connections of its rank.
func hadWorked(run *facts.Run, e event.Event) bool {
	step := run.Log.Ends[e.At.File].Progress
	return step > 0 && step < e.At.Line && e.Rank >= 0 && run.Log.Ranks[e.Rank].Complete > 0
}

// sinceLost returns the causes of a connection that had worked: a missing address or route would have shown at first.
func sinceLost(e event.Event, found []candidate) []candidate {
	found[0].confidence = story.Possible
	found[0].summary += ", and the run had worked until then"
	others := slices.Concat(
		possible(story.PortError, "a link or a switch may have failed since", e),
		possible(story.PeerDied, "the peer may have ended first", e),
	)
	return append(append(found[:1:1], others...), slices.DeleteFunc(found[1:], func(c candidate) bool {
		return c.id == story.PortError || c.id == story.PeerDied
	})...)
}

// layerOfHCA returns "" if no list of HCAs has the name.
func layerOfHCA(in *input, name string) string {
	return map[string]string{"IB": network.LayerIB, "RoCE": network.LayerRoCE}[in.hcaLayers[name]]
}

// phantom: several HCAs are used and only one fails.
func phantom(in *input, e event.Event) []candidate {
	if len(in.retried()) != 1 || in.mostHCAs < 2 || e.Completion.HCA == "" {
		return nil
	}
	return possible(story.PhantomLink, fmt.Sprintf("of %s only %s fails", words.Count(in.mostHCAs, "HCA"),
		e.Completion.HCA), e)
}

func asyncCauses(in *input, e event.Event) []candidate {
	said := fmt.Sprintf("%s got %q", in.run.Who(e), e.Async.Event)
	if e.Async.Device != "" {
		said += " from " + e.Async.Device
	}
	switch e.Async.Type {
	case codes.PortError:
		return likely(story.PortError, said, e)
	case codes.GIDChange:
		return likely(story.GIDIndex, said+": the GID in use may be gone", e)
	case codes.PKeyChange, codes.PathMigrationError:
		return possible(story.IBFabricNotConnected, said+": the subnet manager changed the partition or the path", e)
	case codes.QPAccessError:
		return slices.Concat(likely(story.RemoteAccessErr, said, e), possible(story.QPAsyncFatal, said, e))
	case codes.UnknownEvent:
		if !e.Async.Fatal {
			return possible(story.UnknownCause, said, e)
		}
	default:
	}
	return slices.Concat(
		likely(story.QPAsyncFatal, said, e),
		possible(story.ACSIOMMU, "the NIC may be unable to access memory", e),
	)
}

func retriedOf(events []event.Event) map[string]bool {
	found := map[string]bool{}
	for _, e := range events {
		if e.Kind == event.BadCompletion && e.Completion.HCA != "" && e.Completion.Status == codes.StatusRetry {
			found[e.Completion.HCA] = true
		}
	}
	return found
}
