package story

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

// Last returns the run that the log ends with: of a job that was restarted, its last start.
func (s Story) Last() Run { return s.Runs[len(s.Runs)-1] }

// NetworkLine says in one line which network the run used, from the same judgement as the rest of the story.
func (r Run) NetworkLine() string {
	switch r.Network.Transport {
	case NoTransport:
		return "one node: no network between nodes was used"
	case NVLink:
		return "NVLink between the nodes (MNNVL): no NIC was used"
	case Unconnected:
		return "none: " + r.Network.Why
	case RDMA:
		return "RDMA: " + r.carried()
	case TCP:
		return "TCP: " + r.carried()
	case Plugin:
		return "plugin " + r.Network.Name + ": " + r.carried() + "; its name does not say whether it uses RDMA"
	case MixedTransport:
		return "mixed: " + words.Few(r.Traffic.OnTCP, mostShown) + " on TCP; " + r.carried()
	case UnknownTransport:
	}
	return "not known: " + r.Network.Why
}

// mostShown bounds the names of devices and ranks in a line.
const mostShown = 8

// carried describes the channels, or why the network is known without them.
func (r Run) carried() string {
	t := r.Traffic
	if t.Channels == 0 {
		return r.Network.Why
	}
	over := "NET/" + strings.Join(t.Networks, " and NET/")
	text := words.Count(t.Channels, "channel")
	if t.Truncated {
		text += " or more"
	}
	text += " over " + over + r.direct() + r.seenOn()
	if len(t.Devices) > 0 {
		text += " (" + words.Few(t.Devices, mostShown) + ")"
	}
	return text
}

func (r Run) direct() string {
	switch {
	case r.Network.Transport == TCP:
		return ""
	case r.GPUDirect == GPUDirectYes:
		return " with GPUDirect"
	case r.GPUDirect == GPUDirectPartial:
		return fmt.Sprintf(" with GPUDirect on %d of %d ends", r.Traffic.Direct, r.Traffic.Ends)
	case r.GPUDirect == GPUDirectNo:
		return " without GPUDirect"
	}
	return ""
}

func (r Run) seenOn() string {
	switch n := r.Traffic.Ranks; {
	case r.Ranks == 0:
		return ", seen on " + words.Count(n, "rank")
	case n >= r.Ranks:
		return fmt.Sprintf(" on all %d ranks", r.Ranks)
	default:
		return fmt.Sprintf(", seen on %d of %d ranks", n, r.Ranks)
	}
}
