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

// Verdict judges what was seen of all runs together: a job that was started again is one.
func (l Log) Verdict() Verdict {
	v := Verdict{}
	names := map[string]bool{}
	for i := range l.Runs {
		v.add(&l.Runs[i], names)
	}
	v.Names = slices.Sorted(maps.Keys(names))
	v.Ranks, v.Devices = l.ranksBetween(v.Of), l.usedDevices()
	if v.Network = kind(v.Names); v.Network == Unknown {
		v.Network = l.without(v.Of)
	}
	switch v.Network {
	case Mixed:
		v.OnTCP = l.onTCP()
	case Unknown:
		v.Chosen = l.chosen()
	case OneNode, RDMA, TCP, NVLink, Plugin:
	}
	return v
}

// add counts the channels of a run: one for two ends, or for one whose other end was not seen. One has GPUDirect when every
// end that was seen has.
func (v *Verdict) add(run *Run, names map[string]bool) {
	sends, receives, sendsDirect, receivesDirect := 0, 0, 0, 0
	for i := range run.Ranks {
		r := &run.Ranks[i]
		v.Of = max(v.Of, r.World)
		for _, n := range r.Channels.Nets {
			names[n.Network] = true
			sends, receives = sends+n.Sends, receives+n.Receives
			sendsDirect, receivesDirect = sendsDirect+n.SendsDirect, receivesDirect+n.ReceivesDirect
		}
	}
	v.Partial = v.Partial || run.Truncated
	v.Channels += max(sends, receives)
	switch {
	case sends == 0:
		v.Direct += receivesDirect
	case receives == 0:
		v.Direct += sendsDirect
	default:
		v.Direct += min(sendsDirect, receivesDirect)
	}
}

// all gives every rank of every run.
func (l Log) all(yield func(*Rank) bool) {
	for i := range l.Runs {
		for j := range l.Runs[i].Ranks {
			if !yield(&l.Runs[i].Ranks[j]) {
				return
			}
		}
	}
}

// ranksBetween is how many ranks have channels between nodes. A rank that was started again, in another process, is one.
func (l Log) ranksBetween(of int) int {
	ranks := map[string]bool{}
	for r := range l.all {
		switch {
		case len(r.Channels.Nets) == 0:
		case r.World > 0 && r.World == of:
			ranks[fmt.Sprint(r.Number)] = true
		default:
			ranks[fmt.Sprint(r.Host, " ", r.PID, " ", r.Device, " ", r.Label)] = true
		}
	}
	return len(ranks)
}

// usedDevices are the names of the devices that channels go over, as far as a list of their process told them.
func (l Log) usedDevices() []string {
	type device struct {
		process process
		socket  bool
		index   int
	}
	named, found := map[device]string{}, map[string]bool{}
	for r := range l.all {
		at := process{host: r.Host, pid: r.PID}
		for _, h := range r.HCAs {
			named[device{at, false, h.Index}] = h.Name
		}
		for _, h := range r.Virtual {
			named[device{at, false, h.Index}] = h.Name
		}
		for i, a := range r.Sockets {
			named[device{at, true, i}] = a.Interface
		}
	}
	for r := range l.all {
		for _, n := range r.Channels.Nets {
			socket := n.Network == socketNetwork
			for i := range 63 {
				name := named[device{process{host: r.Host, pid: r.PID}, socket, i}]
				if n.Devices&(1<<i) != 0 && name != "" && (socket || isVerbs(n.Network)) {
					found[name] = true
				}
			}
		}
	}
	names := slices.Collect(maps.Keys(found))
	slices.SortFunc(names, naturally)
	return names
}

// naturally puts mlx5_7 before mlx5_10.
func naturally(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

// chosen are the networks that NCCL said it uses.
func (l Log) chosen() []string {
	names := map[string]bool{}
	for r := range l.all {
		if r.Network != "" {
			names[r.Network] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
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

// without judges runs that show no channel over a network. That there is none needs to be said: newer versions make
// channels at the first collective, and a log of a part of the ranks lacks those of the others.
func (l Log) without(of int) Network {
	hosts := map[string]bool{}
	inWhole, nodes, fabric := 0, 0, 0
	for r := range l.all {
		hosts[r.Host] = true
		nodes, fabric = max(nodes, r.Nodes), fabric+r.Channels.Fabric
		if r.World == of {
			inWhole++
		}
	}
	switch {
	case fabric > 0:
		return NVLink
	case nodes == 1:
		return OneNode
	case nodes == 0 && of > 0 && inWhole >= of && len(hosts) == 1 && !hosts[""]:
		return OneNode
	}
	return Unknown
}

// onTCP names the ranks that have channels over TCP.
func (l Log) onTCP() []string {
	var slow []*Rank
	for r := range l.all {
		if slices.ContainsFunc(r.Channels.Nets, func(n NetChannels) bool { return n.Network == socketNetwork }) {
			slow = append(slow, r)
		}
	}
	slices.SortFunc(slow, func(a, b *Rank) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Host, b.Host))
	})
	var names []string
	for _, r := range slow {
		name := "a rank"
		if r.Number >= 0 {
			name = fmt.Sprintf("rank %d", r.Number)
		}
		if r.Host != "" {
			name += " on " + r.Host
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
func (l Log) Seen() bool {
	for i := range l.Runs {
		if len(l.Runs[i].Ranks) > 0 || l.Runs[i].Version != "" {
			return true
		}
	}
	return false
}
