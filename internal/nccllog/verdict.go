package nccllog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Network is what carried the data between the nodes of a run.
type Network int

// What the lines of a run can show. Unknown is that they do not show it.
const (
	Unknown Network = iota
	OneNode         // no network was needed
	RDMA            // verbs: NET/IB, or the plugin of HPC-X
	TCP             // NET/Socket
	NVLink          // a fabric of NVLink between the nodes
	Plugin          // of a network whose name does not say how it moves data
	Mixed           // TCP beside another
)

// socketNetwork is NCCL's own network over TCP.
const socketNetwork = "Socket"

// isVerbs reports whether a network speaks verbs: NCCL's own, and IBext_v11 and its older versions of HPC-X
// (nccl-rdma-sharp-plugins src/ib_plugin.c).
func isVerbs(name string) bool {
	return name == "IB" || name == "IBext" || strings.HasPrefix(name, "IBext_")
}

// Verdict is which network a run used, and what shows it.
type Verdict struct {
	Network  Network
	Names    []string // of the networks with channels: IB, IBext_v11, Socket
	Channels int      // between nodes
	Direct   int      // those over which GPUs send and receive without the host's memory (GPUDirect RDMA)
	Ranks    int      // that have such channels
	Of       int      // ranks of the run; 0: not known
	Devices  []string // that the channels go over, as far as their names are known
	OnTCP    []string // Mixed: the ranks
	Chosen   []string // Unknown: the networks that NCCL chose, of which no channel was seen
	Partial  bool     // more lines came than could be counted
}

// Verdict judges what was seen so far.
func (e *Evidence) Verdict() Verdict {
	v := Verdict{Of: e.ranks, Devices: e.usedDevices(), Partial: e.truncated}
	names := map[string]bool{}
	for l, n := range e.links {
		names[l.network] = true
		v.Channels += n.channels()
		v.Direct += n.direct()
	}
	v.Names = slices.Sorted(maps.Keys(names))
	v.Ranks = e.ranksBetween()
	if v.Network = kind(v.Names); v.Network == Unknown {
		v.Network = e.without()
	}
	switch v.Network {
	case Mixed:
		v.OnTCP = e.onTCP()
	case Unknown:
		v.Chosen = slices.Sorted(maps.Keys(e.chosen))
	case OneNode, RDMA, TCP, NVLink, Plugin:
	}
	return v
}

// ranksBetween is how many ranks have channels between nodes. A rank that was started again, in another process, is one.
func (e *Evidence) ranksBetween() int {
	ranks := map[string]bool{}
	for key, m := range e.members {
		switch {
		case len(m.networks) == 0:
		case m.of > 0 && m.of == e.ranks:
			ranks[fmt.Sprint(m.rank)] = true
		default:
			ranks[key] = true
		}
	}
	return len(ranks)
}

// kind judges the names of the networks that have channels.
func kind(names []string) Network {
	verbs := slices.ContainsFunc(names, isVerbs)
	socket := slices.Contains(names, socketNetwork)
	other := slices.ContainsFunc(names, func(n string) bool { return n != socketNetwork && !isVerbs(n) })
	switch {
	case socket && (verbs || other):
		return Mixed
	case socket:
		return TCP
	case other:
		return Plugin
	case verbs:
		return RDMA
	}
	return Unknown
}

// without judges a run that shows no channel over a network. That there is none needs to be said: newer versions make
// channels at the first collective, and a log of a part of the ranks lacks those of the others.
func (e *Evidence) without() Network {
	hosts := map[string]bool{}
	inWhole := 0
	for _, m := range e.members {
		hosts[m.host] = true
		if m.of == e.ranks {
			inWhole++
		}
	}
	switch {
	case e.fabric > 0:
		return NVLink
	case e.nodes == 1:
		return OneNode
	case e.nodes == 0 && e.ranks > 0 && inWhole >= e.ranks && len(hosts) == 1 && !hosts[""]:
		return OneNode
	}
	return Unknown
}

// onTCP names the ranks that have channels over TCP.
func (e *Evidence) onTCP() []string {
	var slow []*member
	for _, m := range e.members {
		if m.networks[socketNetwork] {
			slow = append(slow, m)
		}
	}
	slices.SortFunc(slow, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.host, b.host))
	})
	var names []string
	for _, m := range slow {
		name := fmt.Sprintf("rank %d", m.rank)
		if m.host != "" {
			name += " on " + m.host
		}
		names = append(names, name)
	}
	return names
}

// String says it in one line.
func (v Verdict) String() string {
	switch v.Network {
	case OneNode:
		return "one node: no network between nodes was used"
	case NVLink:
		return "NVLink between the nodes (MNNVL): no NIC was used"
	case RDMA:
		return "RDMA: " + v.channels() + v.direct() + v.where()
	case TCP:
		return "TCP: " + v.channels() + v.where()
	case Plugin:
		return "plugin " + strings.Join(v.Names, ", ") + ": " + v.channels() + v.direct() + v.where() + "; whether it moves data by RDMA its name does not say"
	case Mixed:
		return "mixed: " + few(v.OnTCP) + " on TCP; " + v.channels() + v.where()
	case Unknown:
	}
	if len(v.Chosen) > 0 {
		return "not known: NCCL chose " + strings.Join(v.Chosen, ", ") + ", but no channel between nodes was seen"
	}
	return "not known: no channel of NCCL between nodes was seen"
}

func (v Verdict) channels() string {
	over := make([]string, len(v.Names))
	for i, name := range v.Names {
		over[i] = "NET/" + name
	}
	s := "s"
	if v.Channels == 1 {
		s = ""
	}
	if v.Partial {
		s += " or more"
	}
	return fmt.Sprintf("%d channel%s over %s", v.Channels, s, strings.Join(over, " and "))
}

func (v Verdict) direct() string {
	switch v.Direct {
	case 0:
		return " without GPUDirect"
	case v.Channels:
		return " with GPUDirect"
	}
	return fmt.Sprintf(" with GPUDirect on %d of them", v.Direct)
}

func (v Verdict) where() string {
	text := ""
	switch {
	case v.Ranks == 1 && v.Of == 0:
		text = ", seen on 1 rank"
	case v.Of == 0:
		text = fmt.Sprintf(", seen on %d ranks", v.Ranks)
	case v.Ranks >= v.Of:
		text = fmt.Sprintf(" on all %d ranks", v.Of)
	default:
		text = fmt.Sprintf(", seen on %d of %d ranks", v.Ranks, v.Of)
	}
	if len(v.Devices) > 0 {
		text += " (" + few(v.Devices) + ")"
	}
	return text
}

// few lists the first of many.
func few(names []string) string {
	const shown = 8
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// Seen reports whether any line of NCCL was seen.
func (e *Evidence) Seen() bool { return e.seen }
