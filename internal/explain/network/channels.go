package network

import (
	"maps"
	"math/bits"
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
	offTCP, socket, fabric int // ends of channels: other networks, TCP, NVLink between nodes
	ranks                  int // with channels that are not TCP
	first, onTCP           event.Quote
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
			t.offTCP += n.Sends + n.Receives
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
	t.Networks, t.Channels, t.Ends = slices.Sorted(maps.Keys(names)), max(sends, receives), t.offTCP+t.socket
	t.Devices = usedDevices(run.Ranks)
	return t
}

func firstQuote(a, b event.Quote) event.Quote {
	if a.Text != "" {
		return a
	}
	return b
}

// process is a process, all of whose GPUs share one list of devices.
type process struct {
	host string
	pid  int
}

// usedDevices returns the names of the devices that channels go over, as far as a rank of their process listed them.
func usedDevices(ranks []nccllog.Rank) []string {
	const mostIndexes = 63 // the last bit of Devices stands for all higher ones
	byProcess := map[process][]*nccllog.Rank{}
	for i := range ranks {
		of := process{ranks[i].Host, ranks[i].PID}
		byProcess[of] = append(byProcess[of], &ranks[i])
	}
	found := map[string]bool{}
	for i := range ranks {
		for _, n := range ranks[i].Channels.Nets {
			socket := n.Network == socketNetwork
			if !socket && !isVerbs(n.Network) {
				continue
			}
			for devices := n.Devices &^ (1 << mostIndexes); devices != 0; devices &= devices - 1 {
				for _, r := range byProcess[process{ranks[i].Host, ranks[i].PID}] {
					if name := deviceOf(r, socket, bits.TrailingZeros64(devices)); name != "" {
						found[name] = true
					}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), words.Natural)
}

// deviceOf returns the name of the device that a channel's index stands for, or "" if the rank did not list it.
func deviceOf(r *nccllog.Rank, socket bool, index int) string {
	if socket {
		if index < len(r.Sockets) {
			return r.Sockets[index].Interface
		}
		return ""
	}
	for _, devices := range [][]nccllog.HCA{r.Virtual, r.HCAs} {
		for _, d := range devices {
			if d.Index == index {
				return d.Name
			}
		}
	}
	return ""
}
