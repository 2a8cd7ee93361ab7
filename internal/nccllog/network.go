package nccllog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Evidence is what the lines of a run's logs show of the network between its nodes. Its zero value has seen nothing. Lines
// may come in any order and from any number of processes; those of all ranks together give the whole picture.
type Evidence struct {
	seen      bool
	truncated bool // more was seen than is kept
	members   map[string]*member
	processes map[string]*devices
	links     map[link]*ends
	chosen    map[string]bool // "Using network X"
	inside    int             // channels inside a node
	fabric    int             // channels between nodes over NVLink (MNNVL)
	nodes     int             // the most that a communicator spans; 0: no line said it
	ranks     int             // the most that a communicator has; 0: no line said it
}

// What is kept at most: a job of a thousand ranks needs less.
const (
	maxLinks   = 1 << 17
	maxMembers = 1 << 13
	maxDevices = 64
)

// member is one rank: what one process does on one GPU.
type member struct {
	host     string
	rank, of int // in the largest communicator it is in; of 0: not known
	networks map[string]bool
}

// devices are those that one process found and those it uses, by the index that its channel lines have.
type devices struct {
	ib, socket map[int]string
	used       map[port]bool
}

type port struct {
	network string
	index   int
}

// link is one channel from rank to rank. Several communicators may have the same.
type link struct {
	network                       string
	channel, connection, from, to int
}

// ends counts the lines of both ends of a link.
type ends struct {
	sends, receives             int
	sendsDirect, receivesDirect int
}

// info stands in front of every line that says something about the network (src/debug.cc of every version up to 2.30).
const info = "NCCL INFO "

// Scan takes one line into account; what is no line of NCCL is passed over.
func (e *Evidence) Scan(line string) {
	if strings.Contains(line, "NCCL WARN ") || strings.Contains(line, "NCCL version ") {
		e.seen = true
	}
	before, rest, found := strings.Cut(line, info)
	for range 16 { // processes that write into one another's lines
		if !found {
			return
		}
		e.seen = true
		var body string
		body, rest, found = strings.Cut(rest, info)
		e.scan(speakerOf(before), body)
		before = body
	}
}

// speaker is the process that a line is of.
type speaker struct {
	host    string
	process string // host:pid; "" when the line does not say
	gpu     string
}

// speakerForm is the end of what stands in front of "NCCL INFO": host:pid:tid [gpu].
var speakerForm = regexp.MustCompile(`([\w.-]{1,64}):(\d{1,10}):\d{1,10} \[(-?\d{1,4})\] $`)

func speakerOf(before string) speaker {
	m := speakerForm.FindStringSubmatch(before[max(0, len(before)-160):])
	if m == nil {
		return speaker{}
	}
	return speaker{host: m[1], process: m[1] + ":" + m[2], gpu: m[3]}
}

func (e *Evidence) scan(s speaker, body string) {
	switch {
	case strings.HasPrefix(body, "Channel ") && strings.Contains(body, " via "):
		e.channel(s, body)
	case strings.HasPrefix(body, "Using network "):
		e.network(strings.TrimPrefix(body, "Using network "))
	case strings.HasPrefix(body, "NET/IB : Using "):
		e.device(s, body, false)
	case strings.HasPrefix(body, "NET/Socket : Using "):
		e.device(s, body, true)
	case strings.HasPrefix(body, "NET/IB : Made virtual device "):
		e.virtual(s, body)
	case strings.Contains(body, "comm ") && strings.Contains(body, " rank "):
		e.communicator(s, body)
	}
}

// communicatorForm is in several lines of initialisation (src/init.cc: nranks up to 2.30, nRanks with nNodes from 2.19).
var communicatorForm = regexp.MustCompile(`comm \S{1,20} rank (\d{1,7}) n[rR]anks (\d{1,7})(?: nNodes (\d{1,7}))?`)

func (e *Evidence) communicator(s speaker, body string) {
	m := communicatorForm.FindStringSubmatch(body)
	if m == nil {
		return
	}
	rank, of, nodes := number(m[1]), number(m[2]), number(m[3])
	e.ranks, e.nodes = max(e.ranks, of), max(e.nodes, nodes)
	if member := e.member(s, rank); member != nil && of > member.of {
		member.rank, member.of = rank, of
	}
}

// networkName is what a name of a network may be: it is shown to people.
var networkName = regexp.MustCompile(`^[A-Za-z][\w.+ -]{0,39}`)

func (e *Evidence) network(text string) {
	name := strings.TrimSpace(networkName.FindString(text))
	if name == "" || len(e.chosen) >= maxDevices {
		return
	}
	if e.chosen == nil {
		e.chosen = map[string]bool{}
	}
	e.chosen[name] = true
}

// channelForm is a channel from one rank to another (src/transport/{net,p2p,shm}.cc). Up to 2.18 the brackets have the bus
// id, and the ends of a channel over the network say [send] and [receive].
var channelForm = regexp.MustCompile(`^Channel (\d{1,4})(?:/(\d{1,4}))? : (\d{1,7})\[[0-9a-f]{1,16}\] -> (\d{1,7})\[[0-9a-f]{1,16}\] (?:\[(send|receive)\] )?via (.*)$`)

func (e *Evidence) channel(s speaker, body string) {
	m := channelForm.FindStringSubmatch(strings.TrimRight(body, "\r\n"))
	if m == nil {
		return
	}
	way := m[6]
	over, isNet := strings.CutPrefix(way, "NET/")
	switch {
	case isNet && m[5] != "":
		e.between(s, link{channel: number(m[1]), connection: number(m[2]), from: number(m[3]), to: number(m[4])}, m[5] == "send", over)
	case strings.HasPrefix(way, "P2P/MNNVL"):
		e.fabric++
	case strings.HasPrefix(way, "P2P/"), strings.HasPrefix(way, "SHM/"), strings.HasPrefix(way, "direct shared memory"):
		e.inside++
	}
}

// deviceForm is what follows the network's name: the device, the local rank whose NIC is used (PXN), GPUDirect, sharing.
var deviceForm = regexp.MustCompile(`^(\d{1,4})(?:\(\d{1,7}\))?(/GDRDMA)?`)

// between takes one end of a channel between nodes.
func (e *Evidence) between(s speaker, l link, sends bool, over string) {
	name, device, _ := strings.Cut(over, "/")
	m := deviceForm.FindStringSubmatch(device)
	if l.network = networkName.FindString(name); l.network == "" || l.network != name || m == nil {
		return
	}
	own := l.to
	if sends {
		own = l.from
	}
	if member := e.member(s, own); member != nil {
		member.networks[l.network] = true
	}
	if d := e.process(s); d != nil && len(d.used) < maxDevices {
		d.used[port{l.network, number(m[1])}] = true
	}
	if e.links == nil {
		e.links = map[link]*ends{}
	}
	if e.links[l] == nil {
		if len(e.links) >= maxLinks {
			e.truncated = true
			return
		}
		e.links[l] = &ends{}
	}
	e.links[l].count(sends, m[2] != "")
}

func (n *ends) count(sends, direct bool) {
	count, counted := &n.receives, &n.receivesDirect
	if sends {
		count, counted = &n.sends, &n.sendsDirect
	}
	*count++
	if direct {
		*counted++
	}
}

// channels is how many channels the lines are of: one for two ends, or for one whose other end was not seen.
func (n ends) channels() int { return max(n.sends, n.receives) }

// direct is how many of them show GPUDirect at every end that was seen.
func (n ends) direct() int {
	switch {
	case n.sends == 0:
		return n.receivesDirect
	case n.receives == 0:
		return n.sendsDirect
	}
	return min(n.sendsDirect, n.receivesDirect)
}

// member is the rank that a line is of; its number in its communicator stands for it where the line does not name a process.
func (e *Evidence) member(s speaker, rank int) *member {
	key := s.process + " " + s.gpu
	if s.process == "" {
		key = "rank " + strconv.Itoa(rank)
	}
	if m := e.members[key]; m != nil {
		return m
	}
	if len(e.members) >= maxMembers {
		e.truncated = true
		return nil
	}
	if e.members == nil {
		e.members = map[string]*member{}
	}
	e.members[key] = &member{host: s.host, rank: rank, networks: map[string]bool{}}
	return e.members[key]
}

func (e *Evidence) process(s speaker) *devices {
	if d := e.processes[s.process]; d != nil {
		return d
	}
	if len(e.processes) >= maxMembers {
		e.truncated = true
		return nil
	}
	if e.processes == nil {
		e.processes = map[string]*devices{}
	}
	e.processes[s.process] = &devices{ib: map[int]string{}, socket: map[int]string{}, used: map[port]bool{}}
	return e.processes[s.process]
}

// usingForm is one device of the list: [0]mlx5_6:1/RoCE, [0]eth0:10.128.2.15<0>, or two that 2.20 to 2.23 joined:
// [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}.
var usingForm = regexp.MustCompile(`\[(\d{1,4})\](?:=\{([^{}]{1,300})\}|([\w.@-]{1,64}):)`)

// joinedForm is a device inside the braces.
var joinedForm = regexp.MustCompile(`\[\d{1,4}\] ?([\w.@-]{1,64}):`)

func (e *Evidence) device(s speaker, body string, socket bool) {
	d := e.process(s)
	if d == nil {
		return
	}
	into := d.ib
	if socket {
		into = d.socket
	}
	list, _, _ := strings.Cut(body, "; OOB ")
	for _, m := range usingForm.FindAllStringSubmatch(list, maxDevices) {
		name := m[3]
		if m[2] != "" {
			var names []string
			for _, inner := range joinedForm.FindAllStringSubmatch(m[2], 8) {
				names = append(names, inner[1])
			}
			name = strings.Join(names, "+")
		}
		keep(into, number(m[1]), name)
	}
}

// virtualForm is a device that 2.24 and later join from several; its index follows those of the physical ones.
var virtualForm = regexp.MustCompile(`^NET/IB : Made virtual device \[(\d{1,4})\] name=([\w.@+-]{1,200})`)

func (e *Evidence) virtual(s speaker, body string) {
	m := virtualForm.FindStringSubmatch(body)
	if d := e.process(s); m != nil && d != nil {
		keep(d.ib, number(m[1]), m[2])
	}
}

func keep(names map[int]string, index int, name string) {
	if len(names) < maxDevices && name != "" {
		names[index] = name
	}
}

// usedDevices are the names of the devices that channels go over, as far as a list of their process told them.
func (e *Evidence) usedDevices() []string {
	found := map[string]bool{}
	for _, d := range e.processes {
		for p := range d.used {
			names := d.ib // the plugins of HPC-X print the same list
			if p.network == socketNetwork {
				names = d.socket
			}
			if name := names[p.index]; name != "" && (p.network == socketNetwork || isVerbs(p.network)) {
				found[name] = true
			}
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.SortFunc(names, naturally)
	return names
}

// naturally puts mlx5_7 before mlx5_10.
func naturally(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // few digits, by the expressions they come from
	return n
}
