package network

import (
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// traffic is Traffic with the lines that show it.
type traffic struct {
	story.Traffic
	ends, socket, fabric int // ends of channels: network, TCP, NVLink between nodes
	ranks                int // with channels that are not TCP
	first, onTCP         event.Quote
}

const socketNetwork = "Socket"

func trafficOf(run nccllog.Run) traffic {
	t := traffic{Traffic: story.Traffic{Truncated: run.Truncated}}
	names := map[string]bool{}
	sends, receives := 0, 0
	for _, r := range run.Ranks {
		t.fabric += r.Channels.Fabric
		other := false
		for _, n := range r.Channels.Nets {
			names[n.Network] = true
			sends, receives = sends+n.Sends, receives+n.Receives
			if n.Network == socketNetwork {
				t.socket += n.Sends + n.Receives
				t.OnTCP = append(t.OnTCP, facts.RankName(r, -1))
				t.onTCP = firstQuote(t.onTCP, n.First)
				continue
			}
			other = true
			t.ends += n.Sends + n.Receives
			t.Direct += n.SendsDirect + n.ReceivesDirect
			t.first = firstQuote(t.first, n.First)
		}
		if other {
			t.ranks++
		}
		if len(r.Channels.Nets) > 0 {
			t.Ranks++
		}
	}
	slices.SortFunc(t.OnTCP, words.Natural)
	t.Networks, t.Channels, t.Ends = slices.Sorted(maps.Keys(names)), max(sends, receives), t.ends+t.socket
	t.Devices = usedDevices(run.Ranks)
	return t
}

func firstQuote(a, b event.Quote) event.Quote {
	if a.Text != "" {
		return a
	}
	return b
}

// device is one that a channel's index stands for. All GPUs of a process share its list of devices.
type device struct {
	host   string
	pid    int
	socket bool
	index  int
}

// usedDevices returns the names of the devices that channels go over, as far as a rank of their process listed them.
func usedDevices(ranks []nccllog.Rank) []string {
	named, found := map[device]string{}, map[string]bool{}
	for _, r := range ranks {
		for _, h := range slices.Concat(r.HCAs, r.Virtual) {
			named[device{r.Host, r.PID, false, h.Index}] = h.Name
		}
		for i, a := range r.Sockets {
			named[device{r.Host, r.PID, true, i}] = a.Interface
		}
	}
	const mostIndexes = 63 // the last bit of Devices stands for all higher ones
	for _, r := range ranks {
		for _, n := range r.Channels.Nets {
			socket := n.Network == socketNetwork
			if !socket && !isVerbs(n.Network) {
				continue
			}
			for i := range mostIndexes {
				if n.Devices&(1<<i) == 0 {
					continue
				}
				if name := named[device{r.Host, r.PID, socket, i}]; name != "" {
					found[name] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), words.Natural)
}
