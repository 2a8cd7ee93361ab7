package story

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

func (run *explainer) verbsCauses(e event.Event) []candidate {
	call := e.Verbs
	said := fmt.Sprintf("%s: %s failed", run.who(e), call.Call)
	if call.Error != "" {
		said += " (" + call.Error + ")"
	}
	switch {
	case strings.HasPrefix(call.Call, "ibv_reg_") || call.Call == "ibv_alloc_pd":
		return run.registration(e, said)
	case call.Call == "ibv_modify_qp", call.Call == "ibv_create_ah": // RoCE looks up the peer in both
		return withFirst(run.oddOneOut(e, "", call.Device), run.modifyQP(e, said))
	case call.Errno == 12:
		return slices.Concat(
			one(Memlock, Likely, said+": queues are locked memory", e),
			one(queueCause(call.Call), Possible, "the device may have no more of them", e),
		)
	case strings.HasPrefix(call.Call, "ibv_create_"):
		return slices.Concat(
			one(queueCause(call.Call), Likely, said, e),
			one(Memlock, Possible,
				"queues are locked memory; this version of NCCL does not print the error's number", e),
		)
	case call.Call == "ibv_open_device" || call.Call == "ibv_query_device" || call.Call == "ibv_query_port":
		return one(HCAAsymmetry, Possible, said, e)
	case call.Call == "ibv_post_send" || call.Call == "ibv_post_recv" || call.Call == "ibv_set_ece":
		return one(QPAsyncFatal, Possible, said, e)
	}
	return []candidate{{UnknownCause, Possible, said, quotes(e.Quote)}}
}

func queueCause(call string) CauseID {
	if strings.Contains(call, "cq") || strings.Contains(call, "comp_channel") {
		return CreateCQ
	}
	return CreateQP
}

// registration judges ibv_reg_mr and its kin. Bad address comes for GPU memory that no module knows; no memory comes
// from the limit (kernel drivers/infiniband/core/umem.c).
func (run *explainer) registration(e event.Event, said string) []candidate {
	switch e.Verbs.Errno {
	case 14:
		return slices.Concat(
			one(PeermemMissing, Likely, said+": it is GPU memory, and no module tells the HCA driver where it is", e),
			one(KernelRegression, Possible, "kernel and GPU driver may not match", e),
		)
	case 12, 1, 11:
		return slices.Concat(
			one(Memlock, Likely, said, e),
			one(KernelRegression, Possible, "if the limit is high enough", e),
		)
	case 0:
		return slices.Concat(
			one(Memlock, Likely, said+"; the line gives no reason, and the limit is the usual one", e),
			one(PeermemMissing, Possible, "if it is GPU memory", e),
		)
	case 22, 95:
		if e.Verbs.Call == "ibv_reg_dmabuf_mr" {
			return slices.Concat(
				one(PeermemMissing, Likely, said+": the device or its driver does not register GPU memory "+
					"as a DMA-BUF; without nvidia-peermem nothing else does", e),
				one(KernelRegression, Possible, "kernel, RDMA and GPU drivers may not match", e),
			)
		}
		return slices.Concat(
			one(VerbsProviderMismatch, Possible, said+": the device or its provider does not support the request", e),
			one(PeermemMissing, Possible, "if it is GPU memory", e),
			one(KernelRegression, Possible, "kernel, RDMA and GPU drivers may not match", e),
		)
	}
	return slices.Concat(
		one(KernelRegression, Possible, said, e),
		one(PeermemMissing, Possible, "if it is GPU memory", e),
	)
}

// modifyQP judges the step in which a RoCE connection finds its peer: the errno is that of the address's resolution.
func (run *explainer) modifyQP(e event.Event, said string) []candidate {
	call := e.Verbs
	local, remote := gidOf(call.LocalGID), gidOf(call.RemoteGID)
	set, isSet := run.env("NCCL_IB_GID_INDEX")
	index := ""
	switch {
	case call.GIDIndex >= 0:
		index = fmt.Sprintf(" (GID index %d)", call.GIDIndex)
	case isSet:
		index = " (NCCL_IB_GID_INDEX=" + set + ")"
	}
	switch call.Errno {
	case 61:
		return slices.Concat(
			one(GIDIndex, Certain, said+": the local GID slot is empty"+index, e),
			one(ModifyQPNoDev, Possible, "the interface of the slot may be gone", e),
		)
	case 19:
		return slices.Concat(
			one(ModifyQPNoDev, Likely, said+": the interface of the GID is not in this network namespace"+index, e),
			one(GIDIndex, Possible, "another slot may belong to an interface that is present", e),
		)
	case 22:
		return run.invalid(e, said+index, isSet)
	case 12:
		return one(Memlock, Likely, said, e)
	case 110, 101, 113:
		return run.unresolved(e, said, local, remote, isSet)
	case 0:
		return slices.Concat(
			one(GIDIndex, Possible, said+"; the line gives no reason"+index, e),
			one(RouteOrARP, Possible, "the peer's address may not be found", e),
			one(MixedIBRoCE, Possible, "one end may be InfiniBand, the other RoCE", e),
		)
	}
	return slices.Concat(one(RouteOrARP, Possible, said, e), one(GIDIndex, Possible, "the GID may be wrong"+index, e))
}

// invalid judges EINVAL: an empty slot on old kernels, or ends that do not fit.
func (run *explainer) invalid(e event.Event, said string, isSet bool) []candidate {
	gid := one(GIDIndex, Likely, said+": the GID of one end is empty or of the wrong kind", e)
	mixed := one(MixedIBRoCE, Possible, "one end may be InfiniBand and the other RoCE, or their MTUs differ", e)
	ib, roce := run.layers()
	switch {
	case ib > 0 && roce > 0:
		mixed[0].confidence, mixed[0].summary = Likely, said+": NCCL uses HCAs of InfiniBand and of RoCE"
		return append(mixed, gid...)
	case isEmptyGID(e.Verbs.LocalGID) || isEmptyGID(e.Verbs.RemoteGID) || isSet || e.Verbs.Wide || e.Verbs.Other:
		return append(gid, mixed...)
	}
	gid[0].confidence = Possible
	mtu := one(MTUMismatch, Possible, "the ends may have different MTUs", e)
	// Up to 2.20 the index is 0 unless it is set, and slot 0 is never empty.
	mixed[0].summary = said + ": the ends do not match; slot 0, which this NCCL uses by default, is never empty"
	return append(mixed, append(gid, mtu...)...)
}

func isEmptyGID(gid string) bool { return gid == "::" || gid == "0:0:0:0:0:0:0:0" }

// unresolved judges a peer whose address was not found: no neighbour, no route.
func (run *explainer) unresolved(e event.Event, said string, local, remote netip.Addr, isSet bool) []candidate {
	route := one(RouteOrARP, Likely, said+": the peer's address on this rail was not found"+gids(e.Verbs.LocalGID,
		e.Verbs.RemoteGID), e)
	rail := one(RailIsolation, Possible, "the two ends may be on different rails", e)
	gid := one(GIDIndex, Possible, "the GID may be one that is not routed", e)
	switch {
	case linkLocal(e.Verbs.LocalGID) && isSet:
		gid[0].confidence, gid[0].summary = Likely,
			said+": NCCL_IB_GID_INDEX selects a link-local GID, which is not routed"
		return append(gid, route...)
	case linkLocal(e.Verbs.LocalGID) != linkLocal(e.Verbs.RemoteGID) && e.Verbs.RemoteGID != "":
		gid[0].confidence, gid[0].summary = Likely, said+": the GID of one end is link-local, that of the other is not"
		return append(gid, route...)
	case apartSubnets(local, remote) && e.Verbs.Errno == 110:
		rail[0].confidence, rail[0].summary = Likely,
			said+": the ends are in different subnets"+gids(e.Verbs.LocalGID, e.Verbs.RemoteGID)
		return append(rail, append(route, gid...)...)
	}
	return append(route, append(gid, rail...)...)
}

func gids(local, remote string) string {
	if local == "" && remote == "" {
		return ""
	}
	return fmt.Sprintf(" (local GID %s, remote GID %s)", cmp.Or(local, "not known"), cmp.Or(remote, "not known"))
}

func gidOf(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

func linkLocal(gid string) bool {
	a := gidOf(gid)
	return a.IsLinkLocalUnicast() || strings.Contains(gid, "link-local")
}

// apartSubnets reports that two IPv4 addresses are not in one /24, which rails mostly are; on larger subnets it is no
// proof.
func apartSubnets(a, b netip.Addr) bool {
	if !a.Is4() || !b.Is4() {
		return false
	}
	x, y := a.As4(), b.As4()
	return [3]byte(x[:3]) != [3]byte(y[:3])
}

func (run *explainer) completionCauses(e event.Event) []candidate {
	c := e.Completion
	said := fmt.Sprintf("%s got completion %s (%d)", run.who(e), c.Name, c.Status)
	if c.HasVendor {
		said += fmt.Sprintf(", vendor error %d (0x%x%s)", c.Vendor, c.Vendor, withComma(codes.Syndrome(c.Vendor)))
	}
	if c.Peer != "" {
		said += " from " + cmp.Or(run.peerHost(c.Peer), c.Peer)
	}
	if c.HCA != "" {
		said += " on " + c.HCA
	}
	switch c.Status {
	case statusRetry, 20:
		found := run.retryCauses(e, said)
		if len(run.deviceEvents(e, codes.PortError, codes.GIDChange)) > 0 {
			return found
		}
		if run.hadWorked(e) {
			found = run.sinceLost(e, found)
		}
		return withFirst(run.oddOneOut(e, c.Peer, c.HCA), found)
	case statusProt, statusLocalAcc:
		return slices.Concat(
			one(ACSIOMMU, Likely, said, e),
			one(PeermemMissing, Possible, "the registration of GPU memory may be broken", e),
			one(KernelRegression, Possible, "kernel and GPU driver may not match", e),
		)
	case statusRemAcc, statusRemInv, statusRemOp:
		return slices.Concat(
			one(RemoteAccessErr, Likely, said, e),
			one(PeerDied, Possible, "the peer may have ended first", e),
		)
	case statusLength:
		return slices.Concat(
			one(MTUMismatch, Likely, said, e),
			one(VersionMismatch, Possible, "or the ranks send different sizes", e),
		)
	case statusQPOp, 3, 19, 21:
		return slices.Concat(
			one(QPAsyncFatal, Likely, said, e),
			one(ACSIOMMU, Possible, "or the memory is not reachable", e),
		)
	case statusRNR:
		return slices.Concat(
			one(PeerDied, Possible, said+": the peer no longer posts receives", e),
			one(HangTimeout, Possible, "the peer may hang", e),
		)
	}
	return []candidate{{UnknownCause, Possible, said, quotes(e.Quote)}}
}

func withComma(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// retryCauses: the peer's NIC never answered. On InfiniBand addresses come from the subnet manager, so it is the
// fabric.
func (run *explainer) retryCauses(e event.Event, said string) []candidate {
	c := e.Completion
	said += ": the peer's NIC did not answer"
	port, moved := run.deviceEvents(e, codes.PortError), run.deviceEvents(e, codes.GIDChange)
	layer := cmp.Or(layerOf(e), run.layerOfHCA(c.HCA), run.network.LinkLayer)
	var found []candidate
	switch {
	case len(port) > 0:
		found = append(found, one(PortError, Likely, fmt.Sprintf("%s; %s of %s lost its link", said,
			cmp.Or(port[0].Async.Device, "a port"), cmp.Or(run.hostOf(port[0]), "a host")),
			append([]event.Event{e}, port...)...)...)
	case layer == layerIB || layer == layerMixed && run.majority() == layerIB:
		found = append(found, one(IBFabricNotConnected, Likely, said, e)...)
		return append(found, slices.Concat(
			one(PortError, Possible, "a link may have failed if the run had worked for a while", e),
			one(PeerDied, Possible, "the peer may have ended first", e),
		)...)
	case layer == layerUnknown || layer == "":
		found = append(found, slices.Concat(
			one(RouteOrARP, Likely, said, e),
			one(IBFabricNotConnected, Possible, "if the devices are InfiniBand", e),
		)...)
		return append(found, one(PeerDied, Possible, "the peer may have ended first", e)...)
	case len(moved) > 0:
		found = append(found, one(GIDIndex, Likely, fmt.Sprintf("%s; the GID table of %s of %s had changed", said,
			cmp.Or(moved[0].Async.Device, "a device"), cmp.Or(run.hostOf(moved[0]), "a host")),
			append([]event.Event{e}, moved...)...)...)
	}
	route := one(RouteOrARP, Likely, said, e)
	if linkLocal(c.LocalGID) && linkLocal(c.RemoteGID) {
		route[0].summary += "; both GIDs are link-local: the interface of this HCA has no address"
	}
	found = append(found, route...)
	if apartSubnets(gidOf(c.LocalGID), gidOf(c.RemoteGID)) {
		found = append(found, one(RailIsolation, Possible,
			"the ends are in different subnets, which are either routed or separate rails"+gids(c.LocalGID,
				c.RemoteGID),
			e)...)
	}
	if set, ok := run.env("NCCL_IB_GID_INDEX"); ok {
		found = append(found, one(GIDIndex, Possible, "NCCL_IB_GID_INDEX="+set+" may select a GID that is not routed",
			e)...)
	}
	return append(found, run.phantom(e)...)
}

// hadWorked reports that the training had counted its steps before an event, over connections of its rank.
func (run *sequence) hadWorked(e event.Event) bool {
	step := run.log.Ends[e.At.File].Progress
	return step > 0 && step < e.At.Line && e.Rank >= 0 && run.log.Ranks[e.Rank].Complete > 0
}

// sinceLost returns the causes of a connection that had worked: a missing address or route would have shown at first.
func (run *explainer) sinceLost(e event.Event, found []candidate) []candidate {
	found[0].confidence = Possible
	found[0].summary += ", and the run had worked until then"
	others := slices.Concat(
		one(PortError, Possible, "a link or a switch may have failed since", e),
		one(PeerDied, Possible, "the peer may have ended first", e),
	)
	return append(append(found[:1:1], others...), slices.DeleteFunc(found[1:], func(c candidate) bool {
		return c.id == PortError || c.id == PeerDied
	})...)
}

// layerOfHCA returns "" if no list of HCAs has the name.
func (run *facts) layerOfHCA(name string) string {
	return map[string]string{"IB": layerIB, "RoCE": layerRoCE}[run.hcaLayers[name]]
}

// deviceEvents returns those of some types on the two hosts of a failed connection.
func (run *facts) deviceEvents(e event.Event, types ...codes.Event) []event.Event {
	ends := []string{"", run.hostOf(e), run.peerHost(e.Completion.Peer)}
	return slices.DeleteFunc(run.events(event.AsyncEvent), func(o event.Event) bool {
		elsewhere := ends[1] != "" && ends[2] != "" && !slices.Contains(ends, run.hostOf(o))
		return elsewhere || !slices.Contains(types, o.Async.Type)
	})
}

// phantom: several HCAs are used and only one fails.
func (run *explainer) phantom(e event.Event) []candidate {
	if len(run.retried()) != 1 || run.mostHCAs < 2 || e.Completion.HCA == "" {
		return nil
	}
	return one(PhantomLink, Possible, fmt.Sprintf("of %s only %s fails", words.Count(run.mostHCAs, "HCA"),
		e.Completion.HCA), e)
}

func (run *explainer) asyncCauses(e event.Event) []candidate {
	said := fmt.Sprintf("%s got %q", run.who(e), e.Async.Event)
	if e.Async.Device != "" {
		said += " from " + e.Async.Device
	}
	switch e.Async.Type {
	case codes.PortError:
		return one(PortError, Likely, said, e)
	case codes.GIDChange:
		return one(GIDIndex, Likely, said+": the GID in use may be gone", e)
	case codes.PKeyChange, codes.PathMigrationError:
		return one(IBFabricNotConnected, Possible, said+": the subnet manager changed the partition or the path", e)
	case codes.QPAccessError:
		return slices.Concat(one(RemoteAccessErr, Likely, said, e), one(QPAsyncFatal, Possible, said, e))
	case codes.UnknownEvent:
		if !e.Async.Fatal {
			return one(UnknownCause, Possible, said, e)
		}
	default:
	}
	return slices.Concat(
		one(QPAsyncFatal, Likely, said, e),
		one(ACSIOMMU, Possible, "the NIC may be unable to access memory", e),
	)
}
