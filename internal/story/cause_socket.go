package story

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// socketCauses judges a TCP connection that failed: of bootstrap, of the set-up of RDMA, of NET/Socket, or of the
// launcher.
func (run *explainer) socketCauses(e event.Event) []candidate {
	if e.Kind == event.Rendezvous {
		return slices.Concat(
			one(PeerUnreachable, Likely,
				run.who(e)+" could not reach the rendezvous of the job; NCCL had not started yet", e),
			one(Firewall, Possible, "the port may be closed", e),
		)
	}
	peer, problem := "", ""
	if e.Socket != nil {
		peer, problem = e.Socket.Peer, e.Socket.Error
	}
	said := fmt.Sprintf("%s could not connect to %s", run.who(e), cmp.Or(peer, "its peer"))
	if e.Kind == event.SocketFailed {
		said = fmt.Sprintf("%s lost its connection to %s", run.who(e), cmp.Or(peer, "its peer"))
	}
	if problem != "" {
		said += " (" + problem + ")"
	}
	if wrong := localAddress(peer); wrong != "" && e.Kind == event.ConnectFailed {
		if run.cabled(e, peer) {
			return append(run.byError(e, problem, said), one(BootstrapWrongAddress, Possible, said+": "+wrong, e)...)
		}
		return slices.Concat(one(BootstrapWrongAddress, Likely, said+": "+wrong, e), run.ifnames())
	}
	if bad := run.badOffer(); bad != "" && e.Kind == event.ConnectFailed {
		return slices.Concat(one(BootstrapWrongAddress, Likely, said+"; "+bad, e), run.byError(e, problem, said))
	}
	return run.byError(e, problem, said)
}

func (run *explainer) byError(e event.Event, problem, said string) []candidate {
	switch codes.Errno(problem) {
	case 113:
		return slices.Concat(
			one(NoRouteToHost, Likely, said, e),
			one(Firewall, Possible, "a firewall that rejects connections looks the same", e),
		)
	case 101:
		return one(NoRouteToHost, Likely, said, e)
	case 110:
		return slices.Concat(
			one(PeerUnreachable, Likely, said, e),
			one(Firewall, Possible, "a firewall that drops packets looks the same", e),
		)
	case 111:
		return slices.Concat(
			one(PeerDied, Likely, said+": no process listens there, no longer or not yet", e),
			one(Firewall, Possible, "a firewall may answer with a reset", e),
			one(BootstrapWrongAddress, Possible, "the address may be another machine's", e),
		)
	case 103:
		return slices.Concat(
			one(Firewall, Likely, said+": something between the two ends closed the connection", e),
			one(BootstrapWrongAddress, Possible, "the address may belong to an interface that the peer cannot reach",
				e),
		)
	case 98:
		return one(UnknownCause, Possible, run.who(e)+" found no free port: NCCL opens more sockets without PXN; "+
			"net.ipv4.ip_local_port_range may be too small", e)
	case 99:
		return slices.Concat(
			one(BootstrapWrongAddress, Possible, said+": this host has no address to reach it from", e),
			one(NVLS, Possible, "with NVLS, processes of one host connect differently; try NCCL_NVLS_ENABLE=0", e),
		)
	case 104, 32:
		return slices.Concat(
			one(PeerDied, Likely, said, e),
			one(Firewall, Possible, "a firewall may have closed it", e),
		)
	case 24:
		return one(PeerUnreachable, Likely, said+": the process has no file descriptors left (ulimit -n)", e)
	}
	if e.Kind == event.SocketFailed {
		return one(PeerDied, Possible, said, e)
	}
	return slices.Concat(one(PeerUnreachable, Possible, said, e), one(Firewall, Possible, "a port may be closed", e))
}

// linkLocalNetwork has addresses that hosts give themselves (RFC 3927).
const linkLocalNetwork = "169.254.0.0/16"

// localAddress says why an address cannot be another host's: bridges of docker and libvirt, loopback.
func localAddress(peer string) string {
	a := addressOf(peer)
	for _, known := range []struct {
		prefix string
		why    string
	}{
		{"172.17.0.0/16", "that is the docker bridge, which every host has"},
		{"127.0.0.0/8", "that is the loopback interface"},
		{linkLocalNetwork, "that is a link-local address, which only hosts of the same link reach"},
		{"192.168.122.0/24", "that is libvirt's bridge, which every host has"},
	} {
		if p := netip.MustParsePrefix(known.prefix); a.IsValid() && p.Contains(a.Unmap()) {
			return known.why
		}
	}
	switch {
	case a.IsLoopback():
		return "that is the loopback interface"
	case strings.HasPrefix(a.Zone(), "veth"):
		return "that is the host's end of a link to a container"
	}
	return ""
}

// cabled reports that a rank and its peer both have link-local addresses, as two hosts have that one cable joins, and
// not on the USB interface of a management controller, which every host has.
func (run *explainer) cabled(e event.Event, peer string) bool {
	if e.Rank < 0 || !isLinkLocal(addressOf(peer)) {
		return false
	}
	own := run.log.Ranks[e.Rank].Bootstrap
	return isLinkLocal(addressOf(own.IP)) && !strings.HasPrefix(own.Interface, "usb") &&
		!strings.HasPrefix(own.Interface, "enx")
}

func isLinkLocal(a netip.Addr) bool {
	return netip.MustParsePrefix(linkLocalNetwork).Contains(a.Unmap())
}

// badOfferOf finds a rank that offers an address that others cannot reach.
func badOfferOf(ranks []nccllog.Rank) string {
	for _, r := range ranks {
		b := r.Bootstrap
		if why := localAddress(b.IP); why != "" {
			return fmt.Sprintf("%s offers %s:%s, %s", rankName(r, -1), b.Interface, b.IP,
				strings.TrimPrefix(why, "that is "))
		}
		for _, prefix := range []string{"docker", "virbr", "lo"} {
			if b.Interface == "lo" || prefix != "lo" && strings.HasPrefix(b.Interface, prefix) {
				return fmt.Sprintf("%s offers the address of %s", rankName(r, -1), b.Interface)
			}
		}
	}
	return ""
}

func (run *explainer) ifnames() []candidate {
	for _, e := range run.events(event.NoInterface) {
		return one(BootstrapIfname, Possible, run.who(e)+" found no interface in another attempt", e)
	}
	return nil
}
