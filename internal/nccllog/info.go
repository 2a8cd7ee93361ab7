package nccllog

import (
	"bytes"
	"strconv"
)

// info takes a line of level INFO. Nearly all lines of a log are of this level, and most of them are channels or say
// nothing: so the first byte decides where to look.
func (p *notices) info(r *rank, s *logLine) {
	t := s.text
	if len(t) < 4 {
		return
	}
	switch t[0] {
	case 'C':
		p.infoC(r, s)
	case 'N':
		p.infoN(r, s)
	case 'T':
		if bytes.HasPrefix(t, []byte("Trees [")) {
			r.Trees++
		}
	case 'R':
		p.infoR(r, s)
	case 'B':
		p.infoB(r, s)
	case 'U':
		p.infoU(r, s)
	case 'G':
		p.infoG(r, s)
	case 'D':
		r.GPUDirect.DMABuf = r.GPUDirect.DMABuf || bytes.HasPrefix(t, []byte("DMA-BUF is available"))
	case 'P', 'L', 'S', 'I', 'F':
		p.infoPlugin(r, s)
	default:
		p.infoOther(r, s)
	}
}

func (p *notices) infoC(r *rank, s *logLine) {
	switch t := s.text; {
	case begins(t, "Channel "):
		p.channel(r, s)
	case hasPrefix(t, "Connected all ", "Connected binomial"):
		r.Connected = true
	case hasPrefix(t, "CollNet "):
		r.Channels.CollNet++
	case hasPrefix(t, "Call to "):
		p.retried(r, s)
	}
}

func (p *notices) infoOther(r *rank, s *logLine) {
	t := s.text
	switch t[0] {
	case 'n', 'c', '[', 'i':
		if i := bytes.Index(t[:min(len(t), 80)], []byte("comm ")); i >= 0 {
			p.communicator(r, s, t[i:])
			return
		}
		if bytes.HasPrefix(t, []byte("nvls")) || bytes.HasPrefix(t, []byte("cudaDriver")) {
			return
		}
	case 's':
		if bytes.HasPrefix(t, []byte("socket")) {
			p.retried(r, s)
			return
		}
	}
	p.trail(r, t)
}

// trail takes a step of the way that an error goes up: "transport/net.cc:1134 -> 6". Code 0 is no error, 7 says that
// the call goes on.
func (p *notices) trail(r *rank, t []byte) {
	blank := bytes.IndexByte(t, ' ')
	if blank < 4 || blank > 60 || !isDigit(t[blank-1]) || len(t) < blank+5 || string(t[blank:blank+4]) != " -> " ||
		!isDigit(t[blank+4]) {
		return
	}
	if bytes.IndexByte(t[:blank], ':') < 0 || bytes.IndexByte(t[:blank], '.') < 0 || len(t) > blank+5 &&
		isDigit(t[blank+5]) {
		return
	}
	code := int(t[blank+4] - '0')
	if code == 0 || code == 7 {
		return
	}
	r.TrailAt = p.seq
	if len(r.Trail) >= maxTrail {
		return
	}
	r.Trail = append(r.Trail, Step{p.word(t[:blank]), code})
}

func (p *notices) infoR(r *rank, s *logLine) {
	switch {
	case bytes.HasPrefix(s.text, []byte("Ring ")): // up to 2.6 also a channel
		if bytes.Contains(s.text, []byte("via ")) {
			s.text = s.text[len("Ring "):]
			p.between(r, s)
			return
		}
		r.Rings++
	case bytes.HasPrefix(s.text, []byte("RCCL version ")):
		r.Version = p.version(s.text[len("RCCL version "):])
	}
}

// infoB: up to 2.23 there is a blank in front of the colon; up to 2.7 the interface has an index.
func (p *notices) infoB(r *rank, s *logLine) {
	rest, ok := bytes.CutPrefix(s.text, []byte("Bootstrap"))
	if !ok {
		return
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " :"), []byte("Using ")); ok {
		r.Bootstrap = p.address(rest)
	}
}

// address reads "eth0:10.128.2.15<0>", "[0]eth0:10.128.2.15<0>" and IPv6 ones.
func (p *vocabulary) address(text []byte) Address {
	if len(text) > 0 && text[0] == '[' {
		if end := bytes.IndexByte(text, ']'); end > 0 {
			text = text[end+1:]
		}
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || colon > 32 {
		return Address{}
	}
	ip := text[colon+1:]
	if end := bytes.IndexAny(ip, "< "); end >= 0 {
		ip = ip[:end]
	}
	return Address{p.word(text[:colon]), p.word(ip[:min(len(ip), 64)])}
}

func (p *notices) infoU(r *rank, s *logLine) {
	for _, form := range []string{"Using network ", "Using internal Network "} {
		if name, ok := bytes.CutPrefix(s.text, []byte(form)); ok {
			name = nameAt(name)
			if len(name) > 0 {
				r.Network, r.Chosen = p.word(name), s.quote()
			}
			return
		}
	}
}

// nameAt is the name of a network at the beginning of the text.
func nameAt(text []byte) []byte {
	end := 0
	for end < len(text) && end < 40 && (isHost(text[end]) || text[end] == ' ' || text[end] == '+') {
		end++
	}
	return bytes.TrimRight(text[:end], " .")
}

func (p *notices) infoPlugin(r *rank, s *logLine) {
	t := s.text
	switch {
	case bytes.HasPrefix(t, []byte("P2P plugin ")):
		// "P2P plugin v11 IBext_v11", up to 2.22 "P2P plugin IBext_v8".
		words := bytes.Fields(t[len("P2P plugin "):])
		if len(words) > 0 {
			p.plugin(r, words[len(words)-1])
		}
	case bytes.HasPrefix(t, []byte("SHARP rank")):
		r.SHARP = true
	case bytes.HasPrefix(t, []byte("Failed to open libibverbs")):
		p.keep(r, Event{Kind: NoVerbs, Quote: s.quote(), Number: -1, Info: true})
	case bytes.HasPrefix(t, []byte("Initialized NET plugin ")):
		p.plugin(r, nameAt(t[len("Initialized NET plugin "):]))
	default:
		p.trail(r, t)
	}
}

// plugin keeps the name of a network plugin.
func (p *notices) plugin(r *rank, name []byte) {
	const most = 6
	if !isName(name) || isDigit(name[0]) || len(name) > 60 || len(r.Plugins) >= most {
		return
	}
	for _, known := range r.Plugins {
		if known == string(name) {
			return
		}
	}
	r.Plugins = append(r.Plugins, p.word(name))
}

// infoG: "GPU Direct RDMA Disabled for GPU 1 / HCA 0 (distance 7 > 5)"; GIN, the networking of device code (2.28).
func (p *notices) infoG(r *rank, s *logLine) {
	t := s.text
	if bytes.HasPrefix(t, []byte("GIN/Plugin: Failed to initialize any")) {
		p.keep(r, Event{Kind: GDRCopyFailed, Quote: s.quote(), Number: -1, Info: true})
		return
	}
	if !bytes.HasPrefix(t, []byte("GPU Direct RDMA ")) || !bytes.Contains(t, []byte("(distance ")) {
		return
	}
	if bytes.HasPrefix(t, []byte("GPU Direct RDMA Enabled")) {
		r.GPUDirect.Near++
		return
	}
	r.GPUDirect.Far++
	if r.GPUDirect.FarAt.Text == "" {
		r.GPUDirect.FarAt = s.quote()
	}
}

// version reads "2.28.9+cuda12.9".
func (p *vocabulary) version(text []byte) string {
	end, dots := 0, 0
	for end < len(text) && end < 32 && (isHost(text[end]) || text[end] == '+') {
		if text[end] == '.' {
			dots++
		}
		end++
	}
	if dots == 0 || text[0] != '2' || text[1] != '.' { // older PyTorch prints 20.9.8 for 2.9.8
		return ""
	}
	return p.word(text[:end])
}

// numberAfter is the number that follows a word, -1 when there is none.
func numberAfter(text []byte, word string) int {
	i := bytes.Index(text, []byte(word))
	if i < 0 {
		return -1
	}
	from := i + len(word)
	to := from
	for to < len(text) && isDigit(text[to]) && to < from+9 {
		to++
	}
	value, err := strconv.Atoi(string(text[from:to]))
	if err != nil {
		return -1
	}
	return value
}
