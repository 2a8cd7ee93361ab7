package nccllog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// notices reads the lines of level INFO, and keeps events.
type notices struct {
	roster
	events     []Event
	counts     [kinds]int
	orphans    [kinds]int // kept events of no rank
	recognized int        // events, also those that are not kept
	last       [kinds]int32
	doubted    map[string]bool // files whose end matters

	ended  map[string]int  // by file: the last line with which a process ended
	reborn map[process]int // by process, without the device: the line that shows that it began again
}

// info reads a line of level INFO. Most lines of a log have this level, and most of these hold no fact, so the first
// byte decides where to look.
func (p *notices) info(r *rank, l *logLine) {
	if begins(l.text, "ENV/Plugin: Closing ") { // by exit, from 2.28 on: the process does not go on
		return
	}
	r.Last = p.seq
	if len(l.text) < 4 {
		return
	}
	switch l.text[0] {
	case 'B':
		p.bootstrap(r, l)
	case 'C':
		p.infoC(r, l)
	case 'G':
		p.infoG(r, l)
	case 'N':
		p.infoN(r, l)
	case 'R':
		p.infoR(r, l)
	case 'U':
		p.usingNetwork(r, l)
	case 'A':
		p.assigned(r, l)
	case 'P', 'I', 'F':
		p.infoPlugin(r, l)
	case 'n', 'c', '[', 'i':
		if i := bytes.Index(l.text[:min(len(l.text), 80)], []byte("comm ")); i >= 0 {
			p.communicator(r, l, l.text[i:])
			return
		}
		p.trail(r, l)
	default:
		if begins(l.text, "socket") {
			p.retried(r, l)
			return
		}
		p.trail(r, l)
	}
}

func (p *notices) infoC(r *rank, l *logLine) {
	switch t := l.text; {
	case begins(t, "Channel "):
		p.channel(r, l, t[len("Channel "):])
	case begins(t, "CollNet "): // "CollNet 05/0 : 5 [receive] via COLLNET/SHARP/5/GDRDMA"
		r.Verbs = r.Verbs || bytes.Contains(t, []byte(" via COLLNET/SHARP"))
	case begins(t, "Connected all "), begins(t, "Connected binomial"):
		r.Connected, r.ConnectedAt = true, p.seq
	case begins(t, "Call to "):
		p.retried(r, l)
	case begins(t, "Could not find real path of "):
		r.pathless = true
	case begins(t, "CUDA Dev ") && r.Network == "": // up to 2.3: "CUDA Dev 6, IB Ports : mlx4_0/1(PHB)"
		switch {
		case bytes.Contains(t, []byte(", IB Ports : ")):
			p.choose(r, "IB", l.quote())
		case bytes.Contains(t, []byte(", IP Interfaces : ")):
			p.choose(r, "Socket", l.quote())
		}
	}
}

// trail reads a step of an error on its way up: "transport/net.cc:1134 -> 6", or with the function since 2.30:
// "init.cc:683 (ncclCommInitRank) -> 2". Code 0 is success, 7 ncclInProgress. The first step of a rank that gave no
// warning is an event, and again after it set up a communicator.
func (p *notices) trail(r *rank, l *logLine) {
	where, code, ok := bytes.Cut(l.text, []byte(" -> "))
	if place, function, named := bytes.Cut(where, []byte(" (")); named && bytes.HasSuffix(function, []byte(")")) {
		where = place
	}
	if !ok || r.closing || !isPlace(where) {
		return
	}
	n, digits := leading(code)
	if digits != 1 || n == 0 || n == 7 {
		return
	}
	p.sourceOfNet(r, string(where))
	if bytes.Contains(where, []byte("net_ib.cc:")) || bytes.Contains(where, []byte("net_ib/")) {
		p.plugin(r, []byte("IB"))
	}
	if r.pathless { // up to 2.4 NCCL goes on without the distance to this interface
		r.pathless = false
		return
	}
	if since := r.CompleteAt; r.TrailAt <= since && r.warnedAt <= since {
		p.keep(r, Event{Kind: Trail, Signature: "error-trail", Quote: l.quote(), Number: -1, Code: n})
	}
	r.TrailAt, r.Stopped = p.seq, r.Stopped || begins(where, "init.c")
}

// isPlace reports whether a text has the form of a line in a source: "transport/net.cc:1134".
func isPlace(text []byte) bool {
	return len(text) >= 4 && len(text) <= 60 && prefix.IsDigit(text[len(text)-1]) && bytes.IndexByte(text, ' ') < 0 &&
		bytes.IndexByte(text, ':') >= 0 && bytes.IndexByte(text, '.') >= 0
}

// sourceOfNet reads the network from the place of a line in NCCL's sources: only connections of NET/Socket are made in
// src/transport/net_socket.cc.
func (p *notices) sourceOfNet(r *rank, where string) {
	if isSource(where, "net_socket.cc") {
		p.plugin(r, []byte("Socket"))
	}
}

func (p *notices) infoR(r *rank, l *logLine) {
	switch t := l.text; {
	case begins(t, "Ring ") && bytes.Contains(t, []byte("via ")): // a channel of 2.6 and earlier
		p.channel(r, l, t[len("Ring "):])
	case begins(t, "RCCL version "):
		r.Version = p.version(t[len("RCCL version "):])
	}
}

// bootstrap reads "Bootstrap: Using eth0:10.128.2.15<0>". Up to 2.23 a blank precedes the colon; up to 2.7 the
// interface has an index. A process prints it once (bootstrapNetInit in src/bootstrap.cc).
func (p *notices) bootstrap(r *rank, l *logLine) {
	rest, ok := bytes.CutPrefix(l.text, []byte("Bootstrap"))
	if !ok {
		return
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " :"), []byte("Using ")); ok {
		if !r.anonymous() && r.Bootstrap.Interface != "" {
			p.reborn = noted(p.reborn, process{r.Host, r.PID, 0}, p.seq)
			p.renew(r, l, Rank{})
		}
		r.Bootstrap = p.address(rest)
	}
}

// address reads "eth0:10.128.2.15<0>", "[0]eth0:10.128.2.15<0>" and IPv6 addresses.
func (p *vocabulary) address(text []byte) Address {
	if begins(text, "[") {
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

func (p *notices) usingNetwork(r *rank, l *logLine) {
	for _, form := range []string{"Using network ", "Using internal Network "} {
		if begins(l.text, form) {
			if name := nameAt(l.text[len(form):]); len(name) > 0 {
				p.choose(r, p.word(name), l.quote())
			}
			return
		}
	}
}

func (p *notices) choose(r *rank, network string, at Quote) {
	r.Network, r.Chosen, r.ChosenAt = network, at, p.seq
}

// assigned reads "Assigned NET plugin IB to comm" (2.27 and later, src/plugin/net.cc).
func (p *notices) assigned(r *rank, l *logLine) {
	name, ok := bytes.CutPrefix(l.text, []byte("Assigned NET plugin "))
	name, _, toComm := bytes.Cut(name, []byte(" to comm"))
	if ok && toComm && prefix.IsName(name) && len(name) <= 60 {
		p.choose(r, p.word(name), l.quote())
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

func (p *notices) infoPlugin(r *rank, l *logLine) {
	switch t := l.text; {
	case begins(t, "P2P plugin "): // "P2P plugin v11 IBext_v11", up to 2.22 "P2P plugin IBext_v8"
		if words := bytes.Fields(t[len("P2P plugin "):]); len(words) > 0 {
			p.plugin(r, words[len(words)-1])
		}
	case begins(t, "Failed to open libibverbs"):
		p.notice(r, l, NoVerbs)
	case begins(t, "Initialized NET plugin "):
		p.plugin(r, nameAt(t[len("Initialized NET plugin "):]))
	default:
		p.trail(r, l)
	}
}

// plugin keeps the name of a network plugin.
func (p *notices) plugin(r *rank, name []byte) {
	const most = 6
	if prefix.IsName(name) && !prefix.IsDigit(name[0]) && len(name) <= 60 && len(r.Plugins) < most &&
		!slices.Contains(r.Plugins, string(name)) {
		r.Plugins = append(r.Plugins, p.word(name))
	}
}

// infoG reads "GPU Direct RDMA Disabled for GPU 1 / HCA 0 (distance 7 > 5)", and the lines of GIN, the networking of
// device code (2.28).
func (p *notices) infoG(r *rank, l *logLine) {
	switch t := l.text; {
	case begins(t, "GIN/Plugin: Failed to initialize any"):
		p.notice(r, l, GDRCopyFailed)
	case begins(t, "GPU Direct RDMA Enabled"):
	case begins(t, "GPU Direct RDMA ") && bytes.Contains(t, []byte("(distance ")):
		r.GPUDirect.Far++
		l.first(&r.GPUDirect.FarAt)
	}
}

// version reads "2.28.9+cuda12.9" and "2.20.5+hip6.2". What follows may belong to the next record, without a blank.
func (p *vocabulary) version(text []byte) string {
	if !begins(text, "2.") { // older PyTorch prints 20.9.8 for 2.9.8
		return ""
	}
	end := dotted(text)
	for _, toolkit := range []string{"+cuda", "+hip"} {
		if begins(text[end:], toolkit) {
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
func (l *logLine) first(q *Quote) {
	if q.Text == "" {
		*q = l.quote()
	}
}

// notice keeps a line of level INFO as an event.
func (p *notices) notice(r *rank, l *logLine, k Kind) {
	p.keep(r, Event{Kind: k, Quote: l.quote(), Number: -1, Info: true})
}

// keep counts an event, and keeps the first ones of each kind and rank, and the last one of those that matter only if
// the run did not go on after them. It returns the index of the event, or -1.
func (p *notices) keep(r *rank, e Event) int {
	p.counts[e.Kind]++
	p.recognized++
	most := maxOfKind
	if e.Kind == Warning {
		most = maxWarnings
	}
	e.Rank, e.Seq = -1, p.seq
	last := &p.last[e.Kind]
	if r != nil {
		e.Rank, last = r.index, &r.last[e.Kind]
		if e.Number < 0 {
			e.Number = r.Number
		}
	}
	survived := doubtful(e)
	if survived || e.Kind == TimeLimit || e.Kind == BadCompletion {
		p.doubt(e.At.File)
	}
	switch many := p.counts[e.Kind] > most; {
	case p.isKept(r, e, many):
		p.events = append(p.events, Event{})
		*last = int32(len(p.events))
	case !survived || *last == 0:
		p.truncated = p.truncated || many && r == nil || len(p.events) >= maxEvents
		return -1
	}
	e.Time = prefix.TimeOf(e.Text)
	if endsProcess(e) {
		p.ended = noted(p.ended, e.At.File, p.seq)
	}
	p.events[*last-1] = e
	return int(*last - 1)
}

// isKept counts an event of a rank, or of none, and reports whether it is one of the first. Many: there are too many of
// its kind.
func (p *notices) isKept(r *rank, e Event, many bool) bool {
	switch {
	case len(p.events) >= maxEvents || many && r == nil:
		return false
	case r == nil:
		p.orphans[e.Kind]++
		return p.orphans[e.Kind] <= 64*perRank
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
func doubtful(e Event) bool {
	switch e.Kind {
	case Warning, Trail, Consequence, Complaint, FailureWords, Exception, Recoverable, Stalled:
		return !e.Info
	default:
	}
	return false
}

// doubt has the end of a file decide what some of its lines mean.
func (p *notices) doubt(file string) {
	if p.doubted == nil {
		p.doubted = map[string]bool{}
	}
	if len(p.doubted) < maxFiles {
		p.doubted[file] = true
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

// begins reports whether the text begins with the words. Unlike bytes.HasPrefix it compares without a call.
func begins(text []byte, words string) bool {
	return len(text) >= len(words) && string(text[:len(words)]) == words
}

// leading returns the number at the beginning of a text, of at most nine digits, and how many digits it has.
func leading(text []byte) (value, digits int) {
	for digits < min(len(text), 9) && prefix.IsDigit(text[digits]) {
		value = value*10 + int(text[digits]-'0')
		digits++
	}
	return value, digits
}

// numberAfter returns the number that follows a word, or -1.
func numberAfter(text, word string) int {
	_, rest, _ := strings.Cut(text, word)
	if value, digits := leading([]byte(rest[:min(len(rest), 9)])); digits > 0 {
		return value
	}
	return -1
}
