package nccllog

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// roster finds the rank that wrote a line.
type roster struct {
	texts     vocabulary
	seq       int // of the line
	all       []*rank
	byProcess map[process]*rank
	bySeat    map[process]*rank // without the host
	byLabel   map[string]*rank  // by file and launcher's prefix
	recent    [1 << 12]writer   // of the last ranks that logged, by process and device
	hosts     map[string]string
	truncated bool
	within    bool // the record does not begin its line
}

type process struct {
	host        string
	pid, device int
}

// writer is the process of a rank. It is enough to recognize the rank without reading it: the ranks of a large job do
// not fit into a core's cache.
type writer struct {
	host        string
	pid, device int
	rank        *rank
}

type rank struct {
	net [1]NetChannels // all networks of most ranks, next to Last and Channels, which each line changes, too
	Rank
	index    int
	first    int                // sequence number of its first line
	line     int                // number of its first line
	ringed   int                // ranks that a ring lists
	commID   string             // of the largest communicator
	started  int                // sequence number of the last line that one of that size is set up
	again    bool               // the process has the number of an earlier one
	kept     [event.Kinds]uint8 // events of level WARN and of other programs
	noted    [event.Kinds]uint8 // events of level INFO: retries must not displace the failure that follows them
	warnedAt int                // sequence number of the last line of level WARN that is not harmless
	last     [event.Kinds]int32 // index of its last event of a kind, from 1
	bare     bool               // its first line begins with the name of its host
	shared   bool               // other ranks have the same label, such as the name of a pod
	closing  bool               // the program gives up a communicator: its sockets fail then
	pathless bool               // the next step of an error is of an interface without a path in sysfs
}

// rankOf returns the rank that wrote a line, or nil if there are too many.
func (p *roster) rankOf(s prefix.Source, at event.Place, line []byte, torn bool) *rank {
	if len(s.Host) == 0 {
		return p.labelled(at, line)
	}
	recent := &p.recent[uint(s.PID*8+s.Device)%uint(len(p.recent))]
	if recent.pid == s.PID && recent.device == s.Device && recent.host == string(s.Host) {
		return recent.rank
	}
	r := p.find(s, at, line, torn)
	if r != nil && r.Host == string(s.Host) {
		*recent = writer{r.Host, s.PID, s.Device, r}
	}
	return r
}

// find is rankOf without the cache.
func (p *roster) find(s prefix.Source, at event.Place, line []byte, torn bool) *rank {
	host, known := p.hosts[string(s.Host)]
	if !known && torn {
		host, known = p.hostWithin(s.Host)
	}
	if !known {
		host = string(s.Host)
	}
	key, seat := process{host, s.PID, s.Device}, process{"", s.PID, s.Device}
	if r := p.byProcess[key]; r != nil {
		return r
	}
	if r := p.glued(key, p.bySeat[seat], len(s.Before) == 0); r != nil {
		return r
	}
	r := p.add(Rank{Host: host, PID: s.PID, Device: s.Device, Glued: torn && !known, File: at.File}, at.Line)
	if r == nil {
		return nil
	}
	if !known && !torn {
		p.knowHost(host)
	}
	p.byProcess[key], p.bySeat[seat] = r, r
	r.bare = len(s.Before) == 0 && !p.within
	if label, number := prefix.LabelOf(line); label != nil {
		r.Number = number
		key := at.File + string(label)
		if first := p.byLabel[key]; first != nil {
			first.shared = true
		} else {
			p.byLabel[key] = r
		}
	}
	return r
}

// glued returns r, the known process with the same numbers, if the name of its host has other output in front of it,
// as in "sumnode-27:433602:433862 [5]": in this line, or in its first one. Bare: this line has nothing in front of the
// name.
func (p *roster) glued(key process, r *rank, bare bool) *rank {
	switch {
	case r == nil || !bare && key.host != r.Host && strings.HasSuffix(r.Host, key.host):
		return nil
	case strings.HasSuffix(key.host, r.Host):
		return r
	case strings.HasSuffix(r.Host, key.host):
		delete(p.hosts, r.Host)
		r.Host = key.host
		p.knowHost(r.Host)
		p.byProcess[key] = r
		return r
	}
	return nil
}

func (p *roster) knowHost(name string) {
	if p.hosts == nil {
		p.hosts = map[string]string{}
	}
	if len(p.hosts) < maxRanks {
		p.hosts[name] = name
	}
}

// hostWithin finds a known host at the end of a name: in "nranks 4 cc0b58536a5f1:12:12 [0] NCCL INFO" one process
// wrote into the line of another.
func (p *roster) hostWithin(name []byte) (string, bool) {
	for i := range name {
		if host, ok := p.hosts[string(name[i:])]; ok {
			return host, true
		}
	}
	return "", false
}

// bareHosts returns the hosts with which lines begin.
func (p *roster) bareHosts() map[string]bool {
	hosts := map[string]bool{}
	for _, r := range p.all {
		if r.bare {
			hosts[r.Host] = true
		}
	}
	return hosts
}

// hostAtEnd returns the host at the end of a rank's, in front of which there is the end of another line, or "".
func hostAtEnd(r *rank, bare map[string]bool) string {
	if r.bare || bare[r.Host] || len(bare) == 0 {
		return ""
	}
	for i := range r.Host {
		if bare[r.Host[i:]] {
			return r.Host[i:]
		}
	}
	return ""
}

// labelled returns the rank of a line that names no process, by the launcher's prefix or by its file.
func (p *roster) labelled(at event.Place, line []byte) *rank {
	label, number := prefix.LabelOf(line)
	key := at.File + string(label)
	if r := p.byLabel[key]; r != nil {
		return r
	}
	if label == nil {
		label = []byte(at.File)
	}
	r := p.add(Rank{Label: string(label[:min(len(label), 120)]), Device: -1, File: at.File}, at.Line)
	if r != nil {
		r.Number = number
		p.byLabel[key] = r
	}
	return r
}

func (p *roster) add(r Rank, line int) *rank {
	if len(p.all) >= maxRanks {
		p.truncated = true
		return nil
	}
	if p.all == nil {
		p.byProcess, p.bySeat = map[process]*rank{}, map[process]*rank{}
		p.byLabel = map[string]*rank{}
	}
	r.Number = -1
	added := &rank{Rank: r, index: len(p.all), first: p.seq, line: line}
	added.Channels.Nets = added.net[:0]
	p.all = append(p.all, added)
	return added
}

// renew begins a new rank for a process that got the number of an earlier one, as in a container that was restarted,
// where each is process 1. The earlier one keeps its place in the list.
func (p *roster) renew(r *rank, l *logLine, known Rank) {
	if len(p.all) >= maxRanks {
		p.truncated = true
		return
	}
	old := *r
	old.Last, old.Channels.Nets = p.seq-1, slices.Clone(r.Channels.Nets)
	p.all[old.index] = &old
	*r = rank{Rank: known, index: len(p.all), first: p.seq, line: l.at.Line, again: true}
	r.Host, r.PID, r.Device, r.File, r.Glued, r.Last = old.Host, old.PID, old.Device, l.at.File, old.Glued, p.seq
	_, r.Number = prefix.LabelOf(l.line)
	r.Channels.Nets = r.net[:0]
	p.all = append(p.all, r)
}

// vocabulary keeps one copy of a text for all ranks.
type vocabulary struct {
	words map[string]string
	lists map[string]deviceList
}

func (p *vocabulary) word(text []byte) string {
	if w, ok := p.words[string(text)]; ok {
		return w
	}
	w := find.Text(text, maxText)
	if p.words == nil {
		p.words = map[string]string{}
	}
	if len(p.words) < maxWords {
		p.words[string(text)] = w
	}
	return w
}
