package nccllog

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// notices reads the lines of level INFO, and keeps events.
type notices struct {
	events     []event.Event
	counts     [event.Kinds]int
	orphans    [event.Kinds]int // kept events of no rank
	recognized int              // events, also those that are not kept
	last       [event.Kinds]int32
	doubted    map[string]bool // files whose end matters

	ended  map[string]int  // by file: the last line with which a process ended
	reborn map[process]int // by process, without the device: the line that shows that it began again
}

// readInfo reads a line of level INFO. Most lines of a log have this level, and most of these hold no fact, so the
// first byte decides where to look.
func readInfo(p *Parser, r *rank, l *logLine) {
	if find.Begins(l.text, "ENV/Plugin: Closing ") { // printed at exit, from 2.28 on: no sign that the process goes on
		return
	}
	r.Last = p.ranks.seq
	if len(l.text) < 4 {
		return
	}
	switch l.text[0] {
	case 'B':
		readBootstrap(p, r, l)
	case 'C':
		readInfoC(p, r, l)
	case 'G':
		readInfoG(p, r, l)
	case 'N':
		readInfoN(p, r, l)
	case 'R':
		readInfoR(p, r, l)
	case 'U':
		usingNetwork(p, r, l)
	case 'A':
		readAssigned(p, r, l)
	case 'P', 'I', 'F':
		readInfoPlugin(p, r, l)
	case 'n', 'c', '[', 'i': // "ncclCommInitRank comm 0x5645 rank 2", "comm 0x5645 rank 2", "init.cc:683 -> 2"
		if i := bytes.Index(l.text[:min(len(l.text), 80)], []byte("comm ")); i >= 0 {
			readCommunicator(p, r, l, l.text[i:])
			return
		}
		readErrorTrail(p, r, l)
	default:
		if find.Begins(l.text, "socket") { // a connection that failed and is tried again
			readRetry(p, r, l)
			return
		}
		readErrorTrail(p, r, l)
	}
}

func readInfoC(p *Parser, r *rank, l *logLine) {
	switch t := l.text; {
	case find.Begins(t, "Channel "):
		readChannel(p, r, l, t[len("Channel "):])
	case find.Begins(t, "CollNet "): // "CollNet 05/0 : 5 [receive] via COLLNET/SHARP/5/GDRDMA"
		r.Verbs = r.Verbs || bytes.Contains(t, []byte(" via COLLNET/SHARP"))
	case find.Begins(t, "Connected all "), find.Begins(t, "Connected binomial"):
		r.Connected, r.ConnectedAt = true, p.ranks.seq
	case find.Begins(t, "Call to "):
		readRetry(p, r, l)
	case find.Begins(t, "Could not find real path of "):
		r.pathless = true
	case find.Begins(t, "CUDA Dev ") && r.Network == "": // up to 2.3: "CUDA Dev 6, IB Ports : mlx4_0/1(PHB)"
		switch {
		case bytes.Contains(t, []byte(", IB Ports : ")):
			choose(p, r, "IB", l.quote())
		case bytes.Contains(t, []byte(", IP Interfaces : ")):
			choose(p, r, "Socket", l.quote())
		}
	}
}

// readErrorTrail reads a step of an error on its way up: "transport/net.cc:1134 -> 6", or with the function since 2.30:
// "init.cc:683 (ncclCommInitRank) -> 2". Code 0 is success, 7 ncclInProgress. The first step of a rank that gave no
// warning is an event, and again after it set up a communicator.
func readErrorTrail(p *Parser, r *rank, l *logLine) {
	where, code, ok := bytes.Cut(l.text, []byte(" -> "))
	if place, function, named := bytes.Cut(where, []byte(" (")); named && bytes.HasSuffix(function, []byte(")")) {
		where = place
	}
	if !ok || r.closing || !isPlace(where) {
		return
	}
	n, digits := find.Leading(code)
	if digits != 1 || n == 0 || n == 7 {
		return
	}
	sourceOfNet(p, r, string(where))
	if bytes.Contains(where, []byte("net_ib.cc:")) || bytes.Contains(where, []byte("net_ib/")) {
		addPlugin(p, r, []byte("IB"))
	}
	if r.pathless { // up to 2.4 NCCL goes on without the distance to this interface
		r.pathless = false
		return
	}
	if since := r.CompleteAt; r.TrailAt <= since && r.warnedAt <= since {
		e := event.New(event.Trail, "error-trail", l.quote())
		e.Code = n
		keep(p, r, e)
	}
	r.TrailAt, r.Stopped = p.ranks.seq, r.Stopped || find.Begins(where, "init.c")
}

// isPlace reports whether a text has the form of a line in a source: "transport/net.cc:1134".
func isPlace(text []byte) bool {
	return len(text) >= 4 && len(text) <= 60 && prefix.IsDigit(text[len(text)-1]) && bytes.IndexByte(text, ' ') < 0 &&
		bytes.IndexByte(text, ':') >= 0 && bytes.IndexByte(text, '.') >= 0
}

// sourceOfNet reads the network from the place of a line in NCCL's sources: only connections of NET/Socket are made in
// src/transport/net_socket.cc.
func sourceOfNet(p *Parser, r *rank, where string) {
	if event.IsSource(where, "net_socket.cc") {
		addPlugin(p, r, []byte("Socket"))
	}
}

func readInfoR(p *Parser, r *rank, l *logLine) {
	switch t := l.text; {
	case find.Begins(t, "Ring ") && bytes.Contains(t, []byte("via ")): // a channel of 2.6 and earlier
		readChannel(p, r, l, t[len("Ring "):])
	case find.Begins(t, "RCCL version "):
		r.Version = p.ranks.texts.version(t[len("RCCL version "):])
	}
}

// readBootstrap reads "Bootstrap: Using eth0:10.128.2.15<0>". Up to 2.23 a blank precedes the colon; up to 2.7 the
// interface has an index. A process prints it once (bootstrapNetInit in src/bootstrap.cc).
func readBootstrap(p *Parser, r *rank, l *logLine) {
	rest, ok := bytes.CutPrefix(l.text, []byte("Bootstrap"))
	if !ok {
		return
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " :"), []byte("Using ")); ok {
		if !r.anonymous() && r.Bootstrap.Interface != "" {
			p.notes.reborn = noted(p.notes.reborn, process{r.Host, r.PID, 0}, p.ranks.seq)
			p.ranks.renew(r, l, Rank{})
		}
		r.Bootstrap = p.ranks.texts.address(rest)
	}
}

// address reads "eth0:10.128.2.15<0>", "[0]eth0:10.128.2.15<0>" and IPv6 addresses.
func (p *vocabulary) address(text []byte) Address {
	if find.Begins(text, "[") {
		if _, rest, ok := bytes.Cut(text, []byte("]")); ok {
			text = rest
		}
	}
	name, ip, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(name) == 0 || len(name) > 32 {
		return Address{}
	}
	if end := bytes.IndexAny(ip, "< "); end >= 0 {
		ip = ip[:end]
	}
	return Address{p.word(name), p.word(ip[:min(len(ip), 64)])}
}

func usingNetwork(p *Parser, r *rank, l *logLine) {
	for _, form := range []string{"Using network ", "Using internal Network "} {
		if find.Begins(l.text, form) {
			if name := nameAt(l.text[len(form):]); len(name) > 0 {
				choose(p, r, p.ranks.texts.word(name), l.quote())
			}
			return
		}
	}
}

func choose(p *Parser, r *rank, network string, at event.Quote) {
	r.Network, r.Chosen, r.ChosenAt = network, at, p.ranks.seq
}

// readAssigned reads "Assigned NET plugin IB to comm" (2.27 and later, src/plugin/net.cc).
func readAssigned(p *Parser, r *rank, l *logLine) {
	name, ok := bytes.CutPrefix(l.text, []byte("Assigned NET plugin "))
	name, _, toComm := bytes.Cut(name, []byte(" to comm"))
	if ok && toComm && prefix.IsName(name) && len(name) <= 60 {
		choose(p, r, p.ranks.texts.word(name), l.quote())
	}
}

// nameAt returns the name of a network at the beginning of the text.
func nameAt(text []byte) []byte {
	end := 0
	for end < min(len(text), 40) && prefix.InName(text[end]) {
		end++
	}
	return bytes.TrimRight(text[:end], " .")
}

func readInfoPlugin(p *Parser, r *rank, l *logLine) {
	switch t := l.text; {
	case find.Begins(t, "P2P plugin "): // "P2P plugin v11 IBext_v11", up to 2.22 "P2P plugin IBext_v8"
		if words := bytes.Fields(t[len("P2P plugin "):]); len(words) > 0 {
			addPlugin(p, r, words[len(words)-1])
		}
	case find.Begins(t, "Failed to open libibverbs"):
		keepNotice(p, r, l, event.NoVerbs)
	case find.Begins(t, "Initialized NET plugin "):
		addPlugin(p, r, nameAt(t[len("Initialized NET plugin "):]))
	default:
		readErrorTrail(p, r, l)
	}
}

// addPlugin keeps the name of a network plugin.
func addPlugin(p *Parser, r *rank, name []byte) {
	const most = 6
	if prefix.IsName(name) && !prefix.IsDigit(name[0]) && len(name) <= 60 && len(r.Plugins) < most &&
		!slices.Contains(r.Plugins, string(name)) {
		r.Plugins = append(r.Plugins, p.ranks.texts.word(name))
	}
}

// readInfoG reads "GPU Direct RDMA Disabled for GPU 1 / HCA 0 (distance 7 > 5)", and the lines of GIN, the networking
// of device code (2.28).
func readInfoG(p *Parser, r *rank, l *logLine) {
	switch t := l.text; {
	case find.Begins(t, "GIN/Plugin: Failed to initialize any"):
		keepNotice(p, r, l, event.GDRCopyFailed)
	case find.Begins(t, "GPU Direct RDMA Enabled"):
	case find.Begins(t, "GPU Direct RDMA ") && bytes.Contains(t, []byte("(distance ")):
		r.GPUDirect.Far++
		r.GPUDirect.Distance = cmp.Or(r.GPUDirect.Distance, find.Between(string(t), "(distance ", ")"))
	}
}

// version reads "2.28.9+cuda12.9" and "2.20.5+hip6.2". What follows may belong to the next record, without a blank.
func (p *vocabulary) version(text []byte) string {
	if !find.Begins(text, "2.") { // older PyTorch prints 20.9.8 for 2.9.8
		return ""
	}
	end := dotted(text)
	for _, toolkit := range []string{"+cuda", "+hip"} {
		if find.Begins(text[end:], toolkit) {
			end += len(toolkit) + dotted(text[end+len(toolkit):])
			break
		}
	}
	return p.word(text[:end])
}

// dotted returns the length of the numbers with dots between them at the beginning of a text.
func dotted(text []byte) int {
	end := 0
	for end < min(len(text), 16) && (prefix.IsDigit(text[end]) || text[end] == '.') {
		end++
	}
	return len(bytes.TrimRight(text[:end], "."))
}

// first sets a quote that is not set yet.
func (l *logLine) first(q *event.Quote) {
	if q.Text == "" {
		*q = l.quote()
	}
}

// keepNotice keeps a line of level INFO as an event.
func keepNotice(p *Parser, r *rank, l *logLine, k event.Kind) {
	e := event.New(k, "", l.quote())
	e.Info = true
	keep(p, r, e)
}

// keep counts an event, and keeps the first ones of each kind and rank, and the last one of those that matter only if
// the run did not go on after them. It returns the index of the event, or -1.
func keep(p *Parser, r *rank, e event.Event) int {
	p.notes.counts[e.Kind]++
	p.notes.recognized++
	most := maxOfKind
	if e.Kind == event.Warning {
		most = maxWarnings
	}
	e.Rank, e.Seq = -1, p.ranks.seq
	last := &p.notes.last[e.Kind]
	if r != nil {
		e.Rank, last = r.index, &r.last[e.Kind]
		if e.Number < 0 {
			e.Number = r.Number
		}
	}
	survived := doubtful(e)
	if survived || e.Kind == event.TimeLimit || e.Kind == event.BadCompletion || e.Kind == event.Exit {
		doubt(p, e.At.File)
	}
	switch many := p.notes.counts[e.Kind] > most; {
	case isKept(p, r, e, many):
		p.notes.events = append(p.notes.events, event.Event{})
		*last = int32(len(p.notes.events))
	case !survived || *last == 0:
		p.ranks.truncated = p.ranks.truncated || many && r == nil || len(p.notes.events) >= maxEvents
		return -1
	}
	e.Time = prefix.TimeOf(e.Text)
	e.ReadDetails()
	if endsProcess(e) {
		p.notes.ended = noted(p.notes.ended, e.At.File, p.ranks.seq)
	}
	p.notes.events[*last-1] = e
	return int(*last - 1)
}

// isKept counts an event of a rank, or of none, and reports whether it is one of the first. Many: there are too many of
// its kind.
func isKept(p *Parser, r *rank, e event.Event, many bool) bool {
	switch {
	case len(p.notes.events) >= maxEvents || many && r == nil:
		return false
	case r == nil:
		p.notes.orphans[e.Kind]++
		return p.notes.orphans[e.Kind] <= 64*perRank
	}
	kept := &r.kept[e.Kind]
	if e.Info {
		kept = &r.noted[e.Kind]
	}
	if *kept >= perRank || many && *kept > 0 {
		return false
	}
	*kept++
	return true
}

// doubtful reports whether later lines decide what an event means: programs go on after some.
func doubtful(e event.Event) bool {
	switch e.Kind {
	case event.Warning, event.Trail, event.Consequence, event.Complaint, event.Reason, event.FailureWords,
		event.Exception,
		event.Recoverable, event.Stalled, event.Restarted, event.Finished:
		return !e.Info
	case event.SocketClosed:
		return e.Signature == "store-warning"
	default:
	}
	return false
}

// doubt has the end of a file decide what some of its lines mean.
func doubt(p *Parser, file string) {
	if p.notes.doubted == nil {
		p.notes.doubted = map[string]bool{}
	}
	if len(p.notes.doubted) < maxFiles {
		p.notes.doubted[file] = true
	}
}

// noted adds a line to a map of bounded size.
func noted[K comparable](lines map[K]int, key K, seq int) map[K]int {
	if lines == nil {
		lines = map[K]int{}
	}
	if _, ok := lines[key]; ok || len(lines) < maxFiles {
		lines[key] = seq
	}
	return lines
}
