package nccllog

import "bytes"

// source is the process that a line is of, as the line has it in front of NCCL's words: host:pid:tid [device]. The
// host is cut at its first dot by NCCL (src/debug.cc).
type source struct {
	host   []byte
	pid    int
	device int
	known  bool
	where  []byte // text after the bracket: file.cc:123, and (function) from 2.30 on
	before []byte // text before the host: launcher's prefixes, a time
}

// sourceOf reads the prefix of "NCCL INFO" and "NCCL WARN".
func sourceOf(before []byte) source {
	end := len(before) - 2
	if end < 0 || before[end] != ']' { // of level INFO nothing follows the bracket
		end = bytes.LastIndex(before, []byte("] "))
	}
	if end < 0 {
		return source{before: before, where: bytes.TrimSpace(before)}
	}
	unknown := source{before: before}
	if end+2 < len(before) {
		unknown.where = bytes.TrimSpace(before[end+2:])
	}
	open, device, ok := deviceBefore(before, end)
	if !ok {
		return unknown
	}
	s := source{device: device, where: unknown.where}
	at, last, ok := numberBefore(before, open-1)
	if !ok || at < 0 || before[at] != ':' {
		return unknown
	}
	s.pid = last
	if colon, pid, two := numberBefore(before, at); two && colon >= 0 && before[colon] == ':' && pid > 0 {
		s.pid, at = pid, colon
	}
	from := at
	for from > 0 && isHost(before[from-1]) {
		from--
	}
	s.host, s.before = before[from:at], before[:from]
	s.known = len(s.host) > 0 && len(s.host) <= 64
	return s
}

// deviceBefore reads " [0" or " [-1" in front of the bracket that ends it.
func deviceBefore(text []byte, end int) (open, device int, ok bool) {
	open, device, ok = numberBefore(text, end)
	if ok && open >= 0 && text[open] == '-' {
		device, open = -1, open-1
	}
	return open, device, ok && open >= 1 && text[open] == '[' && text[open-1] == ' '
}

// numberBefore reads the digits that end before the place; at is the place in front of them.
func numberBefore(text []byte, end int) (at, value int, ok bool) {
	at = end - 1
	for at >= 0 && text[at] >= '0' && text[at] <= '9' {
		at--
	}
	if at == end-1 || end-1-at > 10 {
		return at, 0, false
	}
	for _, c := range text[at+1 : end] {
		value = value*10 + int(c-'0')
	}
	return at, value, true
}

func isHost(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// labelOf returns the prefix that a launcher put in front of a line. It identifies the lines of one process where
// NCCL does not say it: "[1,0]<stdout>:" of mpirun, "[rank3]:" of PyTorch, "[default3]:" of torchrun, "3: " of srun,
// "pod-0: ", "[pod/x/c] " of kubectl and "(RayWorker pid=12, ip=10.0.0.3) " of Ray. The number is that of the rank,
// where it is one; else -1.
func labelOf(line []byte) (label []byte, number int) {
	text := bytes.TrimLeft(line[:min(len(line), 160)], " ")
	switch {
	case len(text) == 0:
		return nil, -1
	case text[0] == '(':
		if end := bytes.IndexByte(text, ')'); end > 0 && bytes.Contains(text[:end], []byte("pid=")) {
			return text[:end+1], -1
		}
	case text[0] == '[':
		return bracketLabel(text)
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || colon > 80 || colon+1 >= len(text) || text[colon+1] != ' ' {
		return nil, -1
	}
	for _, c := range text[:colon] {
		if !isHost(c) {
			return nil, -1
		}
	}
	if value, ok := whole(text[:colon]); ok {
		return text[:colon], value
	}
	// A name in front of a colon is mostly a word: that of a pod ends in a number.
	if name := text[:colon]; isDigit(name[len(name)-1]) && bytes.IndexByte(name, '-') > 0 {
		return name, -1
	}
	return nil, -1
}

// bracketLabel reads the labels that begin with a bracket.
func bracketLabel(text []byte) (label []byte, number int) {
	end := bytes.IndexByte(text, ']')
	if end < 2 {
		return nil, -1
	}
	inner := text[1:end]
	if rest, ok := bytes.CutPrefix(inner, []byte("pod/")); ok && len(rest) > 0 {
		return text[:end+1], -1
	}
	for _, word := range []string{"rank", "default", "Rank "} {
		if digits, ok := bytes.CutPrefix(inner, []byte(word)); ok {
			if value, isNumber := whole(digits); isNumber {
				return text[:end+1], rankOnly(value, word != "default") // torchrun numbers those of one node
			}
		}
	}
	if comma := bytes.IndexByte(inner, ','); comma > 0 {
		job, isJob := whole(inner[:comma])
		value, isNumber := whole(inner[comma+1:])
		if isJob && isNumber && job >= 0 {
			return text[:end+1], value
		}
	}
	return nil, -1
}

func rankOnly(value int, global bool) int {
	if global {
		return value
	}
	return -1
}

// whole is the number that the text is.
func whole(text []byte) (int, bool) {
	at, value, ok := numberBefore(text, len(text))
	return value, ok && at == -1
}
