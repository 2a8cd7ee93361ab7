package causes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// socketCauses judges a TCP connection that failed: of bootstrap, of the set-up of RDMA, of NET/Socket, or of the
// launcher.
func socketCauses(in *input, e event.Event) []candidate {
	if e.Kind == event.Rendezvous {
		return slices.Concat(
			likely(story.PeerUnreachable,
				in.run.Who(e)+" could not reach the rendezvous of the job; NCCL had not started yet", e),
			possible(story.Firewall, "the port may be closed", e),
		)
	}
	peer, problem := "", ""
	if e.Socket != nil {
		peer, problem = e.Socket.Peer, e.Socket.Error
	}
	said := fmt.Sprintf("%s could not connect to %s", in.run.Who(e), cmp.Or(peer, "its peer"))
	if e.Kind == event.SocketFailed {
		said = fmt.Sprintf("%s lost its connection to %s", in.run.Who(e), cmp.Or(peer, "its peer"))
	}
	if problem != "" {
		said += " (" + problem + ")"
	}
	if wrong := facts.LocalAddress(peer); wrong != "" && e.Kind == event.ConnectFailed {
		if cabled(in, e, peer) {
			return append(byError(in, e, problem, said),
				possible(story.BootstrapWrongAddress, said+": that is "+wrong, e)...)
		}
		return slices.Concat(likely(story.BootstrapWrongAddress, said+": that is "+wrong, e), ifnames(in))
	}
	if bad := in.badOffer(); bad != "" && e.Kind == event.ConnectFailed {
		return slices.Concat(likely(story.BootstrapWrongAddress, said+"; "+bad, e), byError(in, e, problem, said))
	}
	return byError(in, e, problem, said)
}

func byError(in *input, e event.Event, problem, said string) []candidate {
	switch codes.Errno(problem) {
	case 113:
		return slices.Concat(
			likely(story.NoRouteToHost, said, e),
			possible(story.Firewall, "a firewall that rejects connections looks the same", e),
		)
	case 101:
		return likely(story.NoRouteToHost, said, e)
	case 110:
		return slices.Concat(
			likely(story.PeerUnreachable, said, e),
			possible(story.Firewall, "a firewall that drops packets looks the same", e),
		)
	case 111:
		return slices.Concat(
			likely(story.PeerDied, said+": no process listens there, no longer or not yet", e),
			possible(story.Firewall, "a firewall may answer with a reset", e),
			possible(story.BootstrapWrongAddress, "the address may be another machine's", e),
		)
	case 103:
		return slices.Concat(
			likely(story.Firewall, said+": something between the two ends closed the connection", e),
			possible(story.BootstrapWrongAddress, "the address may belong to an interface that the peer cannot reach",
				e),
		)
	case 98:
		return possible(story.UnknownCause, in.run.Who(e)+" found no free port: NCCL opens more sockets without PXN; "+
			"net.ipv4.ip_local_port_range may be too small", e)
	case 99:
		return slices.Concat(
			possible(story.BootstrapWrongAddress, said+": this host has no address to reach it from", e),
			possible(story.NVLS, "with NVLS, processes of one host connect differently; try NCCL_NVLS_ENABLE=0", e),
		)
	case 104, 32:
		return slices.Concat(
			likely(story.PeerDied, said, e),
			possible(story.Firewall, "a firewall may have closed it", e),
		)
	case 24:
		return likely(story.PeerUnreachable, said+": the process has no file descriptors left (ulimit -n)", e)
	}
	if e.Kind == event.SocketFailed {
		return possible(story.PeerDied, said, e)
	}
	return slices.Concat(possible(story.PeerUnreachable, said, e), possible(story.Firewall, "a port may be closed", e))
}

// cabled reports whether a rank and its peer both have link-local addresses, as two hosts have if one cable joins them.
// An address on the USB interface of a management controller does not count: every host has one.
func cabled(in *input, e event.Event, peer string) bool {
	if e.Rank < 0 || !facts.IsLinkLocal(facts.AddressOf(peer)) {
		return false
	}
	own := in.run.Log.Ranks[e.Rank].Bootstrap
	return facts.IsLinkLocal(facts.AddressOf(own.IP)) && !strings.HasPrefix(own.Interface, "usb") &&
		!strings.HasPrefix(own.Interface, "enx")
}

// badOfferOf finds a rank that offers an address that others cannot reach.
func badOfferOf(ranks []nccllog.Rank) string {
	for _, r := range ranks {
		b := r.Bootstrap
		if why := facts.LocalAddress(b.IP); why != "" {
			return fmt.Sprintf("%s offers %s:%s, %s", facts.RankName(r, -1), b.Interface, b.IP, why)
		}
		for _, prefix := range []string{"docker", "virbr", "lo"} {
			if b.Interface == "lo" || prefix != "lo" && strings.HasPrefix(b.Interface, prefix) {
				return fmt.Sprintf("%s offers the address of %s", facts.RankName(r, -1), b.Interface)
			}
		}
	}
	return ""
}

func ifnames(in *input) []candidate {
	for _, e := range in.run.Events(event.NoInterface) {
		return possible(story.BootstrapIfname, in.run.Who(e)+" found no interface in another attempt", e)
	}
	return nil
}
