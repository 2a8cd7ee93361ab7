package causes

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/explain/network"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

func verbsCauses(in *input, e event.Event) []candidate {
	call := e.Verbs
	said := fmt.Sprintf("%s: %s failed", in.run.Who(e), call.Call)
	if call.Error != "" {
		said += " (" + call.Error + ")"
	}
	switch {
	case strings.HasPrefix(call.Call, "ibv_reg_") || call.Call == "ibv_alloc_pd":
		return registration(e, said)
	case call.Call == "ibv_modify_qp", call.Call == "ibv_create_ah": // RoCE looks up the peer in both
		return withFirst(oddOneOut(in, e, "", call.Device), modifyQP(in, e, said))
	case call.Errno == 12:
		return slices.Concat(
			likely(story.Memlock, said+": queues are locked memory", e),
			possible(queueCause(call.Call), "the device may have no more of them", e),
		)
	case strings.HasPrefix(call.Call, "ibv_create_"):
		return slices.Concat(
			likely(queueCause(call.Call), said, e),
			possible(story.Memlock,
				"queues are locked memory; this version of NCCL does not print the error's number", e),
		)
	case call.Call == "ibv_open_device" || call.Call == "ibv_query_device" || call.Call == "ibv_query_port":
		return possible(story.HCAAsymmetry, said, e)
	case call.Call == "ibv_post_send" || call.Call == "ibv_post_recv" || call.Call == "ibv_set_ece":
		return possible(story.QPAsyncFatal, said, e)
	}
	return []candidate{{id: story.UnknownCause, confidence: story.Possible, summary: said,
		evidence: facts.Quotes(e.Quote)}}
}

func queueCause(call string) story.CauseID {
	if strings.Contains(call, "cq") || strings.Contains(call, "comp_channel") {
		return story.CreateCQ
	}
	return story.CreateQP
}

// registration explains failures of ibv_reg_mr: EFAULT is GPU memory without a peer-memory module, ENOMEM the memlock
// limit (kernel drivers/infiniband/core/umem.c).
func registration(e event.Event, said string) []candidate {
	switch e.Verbs.Errno {
	case 14:
		return slices.Concat(
			likely(story.PeermemMissing, said+": it is GPU memory, and no module tells the HCA driver where it is", e),
			possible(story.KernelRegression, "kernel and GPU driver may not match", e),
		)
	case 12, 1, 11:
		return slices.Concat(
			likely(story.Memlock, said, e),
			possible(story.KernelRegression, "if the limit is high enough", e),
		)
	case 0:
		return slices.Concat(
			likely(story.Memlock, said+"; the line gives no reason, and the limit is the usual one", e),
			possible(story.PeermemMissing, "if it is GPU memory", e),
		)
	case 22, 95:
		if e.Verbs.Call == "ibv_reg_dmabuf_mr" {
			return slices.Concat(
				likely(story.PeermemMissing, said+": the device or its driver does not register GPU memory "+
					"as a DMA-BUF; without nvidia-peermem nothing else does", e),
				possible(story.KernelRegression, "kernel, RDMA and GPU drivers may not match", e),
			)
		}
		return slices.Concat(
			possible(story.VerbsProviderMismatch, said+": the device or its provider does not support the request", e),
			possible(story.PeermemMissing, "if it is GPU memory", e),
			possible(story.KernelRegression, "kernel, RDMA and GPU drivers may not match", e),
		)
	}
	return slices.Concat(
		possible(story.KernelRegression, said, e),
		possible(story.PeermemMissing, "if it is GPU memory", e),
	)
}

// modifyQP judges the step in which a RoCE connection finds its peer: the errno is the result of resolving the address.
func modifyQP(in *input, e event.Event, said string) []candidate {
	call := e.Verbs
	local, remote := gidOf(call.LocalGID), gidOf(call.RemoteGID)
	set, isSet := in.run.Env("NCCL_IB_GID_INDEX")
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
			certain(story.GIDIndex, said+": the local GID slot is empty"+index, e),
			possible(story.ModifyQPNoDev, "the interface of the slot may be gone", e),
		)
	case 19:
		return slices.Concat(
			likely(story.ModifyQPNoDev, said+": the interface of the GID is not in this network namespace"+index, e),
			possible(story.GIDIndex, "another slot may belong to an interface that is present", e),
		)
	case 22:
		return invalid(in, e, said+index, isSet)
	case 12:
		return likely(story.Memlock, said, e)
	case 110, 101, 113:
		return unresolved(e, said, local, remote, isSet)
	case 0:
		return slices.Concat(
			possible(story.GIDIndex, said+"; the line gives no reason"+index, e),
			possible(story.RouteOrARP, "the peer's address may not be found", e),
			possible(story.MixedIBRoCE, "one end may be InfiniBand, the other RoCE", e),
		)
	}
	return slices.Concat(possible(story.RouteOrARP, said, e), possible(story.GIDIndex, "the GID may be wrong"+index, e))
}

// invalid judges EINVAL: an empty slot on old kernels, or ends that do not fit.
func invalid(in *input, e event.Event, said string, isSet bool) []candidate {
	gid := likely(story.GIDIndex, said+": the GID of one end is empty or of the wrong kind", e)
	mixed := possible(story.MixedIBRoCE, "one end may be InfiniBand and the other RoCE, or their MTUs differ", e)
	ib, roce := network.Layers(in.run)
	switch {
	case ib > 0 && roce > 0:
		mixed[0].confidence, mixed[0].summary = story.Likely, said+": NCCL uses HCAs of InfiniBand and of RoCE"
		return append(mixed, gid...)
	case isEmptyGID(e.Verbs.LocalGID) || isEmptyGID(e.Verbs.RemoteGID) || isSet || e.Verbs.Wide || e.Verbs.Other:
		return append(gid, mixed...)
	}
	gid[0].confidence = story.Possible
	mtu := possible(story.MTUMismatch, "the ends may have different MTUs", e)
	// Up to 2.20 the index is 0 unless it is set, and slot 0 is never empty.
	mixed[0].summary = said + ": the ends do not match; slot 0, which this NCCL uses by default, is never empty"
	return append(mixed, append(gid, mtu...)...)
}

func isEmptyGID(gid string) bool { return gid == "::" || gid == "0:0:0:0:0:0:0:0" }

// unresolved judges a peer whose address was not found: no neighbour, no route.
func unresolved(e event.Event, said string, local, remote netip.Addr, isSet bool) []candidate {
	route := likely(story.RouteOrARP, said+": the peer's address on this rail was not found"+gids(e.Verbs.LocalGID,
		e.Verbs.RemoteGID), e)
	rail := possible(story.RailIsolation, "the two ends may be on different rails", e)
	gid := possible(story.GIDIndex, "the GID may be one that is not routed", e)
	switch {
	case linkLocal(e.Verbs.LocalGID) && isSet:
		gid[0].confidence, gid[0].summary = story.Likely,
			said+": NCCL_IB_GID_INDEX selects a link-local GID, which is not routed"
		return append(gid, route...)
	case linkLocal(e.Verbs.LocalGID) != linkLocal(e.Verbs.RemoteGID) && e.Verbs.RemoteGID != "":
		gid[0].confidence = story.Likely
		gid[0].summary = said + ": the GID of one end is link-local, and the other one is not"
		return append(gid, route...)
	case apartSubnets(local, remote) && e.Verbs.Errno == 110:
		rail[0].confidence, rail[0].summary = story.Likely,
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

// apartSubnets reports whether two IPv4 addresses are in different /24 subnets. Rails mostly have a /24 each; if their
// subnets are larger, this is no proof.
func apartSubnets(a, b netip.Addr) bool {
	if !a.Is4() || !b.Is4() {
		return false
	}
	x, y := a.As4(), b.As4()
	return [3]byte(x[:3]) != [3]byte(y[:3])
}
