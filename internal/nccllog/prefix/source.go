package prefix

import "bytes"

// Source is the process that wrote a line, as it stands in front of NCCL's text: host:pid:tid [device]. NCCL cuts the
// host at its first dot (src/debug.cc).
type Source struct {
	Host   []byte // empty if the line names no process
	PID    int
	Device int
	Before []byte // text before the host: launcher's prefixes, a time
	Where  []byte // text after the bracket: file.cc:123, and from 2.30 on (function)
}

// SourceOf reads the prefix of "NCCL INFO" and "NCCL WARN".
func SourceOf(before []byte) Source {
	end := len(before) - 2
	if end < 0 || before[end] != ']' { // level INFO has nothing after the bracket
		end = bytes.LastIndex(before, []byte("] "))
	}
	if end < 0 {
		return Source{Where: bytes.TrimSpace(before)}
	}
	s := processBefore(before, end)
	s.Where = bytes.TrimSpace(before[end+2:])
	return s
}

// processBefore reads "host:pid:tid [device", which ends at the index of the bracket.
func processBefore(text []byte, bracket int) Source {
	open, device, ok := deviceBefore(text, bracket)
	if !ok {
		return Source{}
	}
	at, pid, ok := numberBefore(text, open-1)
	if !ok || at < 0 || text[at] != ':' {
		return Source{}
	}
	if colon, first, ok := numberBefore(text, at); ok && colon >= 0 && text[colon] == ':' && first > 0 {
		at, pid = colon, first // the last number is the thread's
	}
	from := at
	for from > 0 && IsHost(text[from-1]) {
		from--
	}
	if at-from > 64 {
		return Source{}
	}
	return Source{Host: text[from:at], PID: pid, Device: device, Before: text[:from]}
}

// deviceBefore reads " [0" or " [-1", which ends at the index of the bracket.
func deviceBefore(text []byte, bracket int) (open, device int, ok bool) {
	open, device, ok = numberBefore(text, bracket)
	if ok && open >= 0 && text[open] == '-' {
		device, open = -1, open-1
	}
	return open, device, ok && open >= 1 && text[open] == '[' && text[open-1] == ' '
}

// numberBefore reads the digits that end at an index, and returns the index in front of them.
func numberBefore(text []byte, end int) (at, value int, ok bool) {
	at = end - 1
	for at >= 0 && IsDigit(text[at]) {
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

// IsHost reports whether the name of a host may have a byte.
func IsHost(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || IsDigit(c) || c == '-' || c == '_' || c == '.'
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// LabelOf returns the prefix that a launcher put in front of a line, which tells processes apart that NCCL does not
// name: "[1,0]<stdout>:" of mpirun, "[rank3]:" of PyTorch, "[default3]:" of torchrun, "3: " of srun, "pod-0: ",
// "[3] " of MPICH, "[pod/x/c] " of kubectl and "(RayWorker pid=12, ip=10.0.0.3) " of Ray. number is the rank, or -1 if
// it is unknown.
func LabelOf(line []byte) (label []byte, number int) {
	text := withoutTime(bytes.TrimLeft(line[:min(len(line), 160)], " "))
	if len(text) > 20 && text[10] == 'T' && text[4] == '-' { // the time of kubectl or a container runtime
		_, text, _ = bytes.Cut(text, []byte(" "))
	}
	switch {
	case len(text) == 0:
		return nil, -1
	case text[0] == '[':
		return bracketLabel(text)
	case text[0] == '(':
		if end := bytes.IndexByte(text, ')'); end > 0 && bytes.Contains(text[:end], []byte("pid=")) {
			return text[:end+1], -1
		}
	}
	return nameLabel(text)
}

// nameLabel reads the labels that are a name before a colon.
func nameLabel(text []byte) (label []byte, number int) {
	name, _, ok := bytes.Cut(text, []byte(": "))
	if !ok || len(name) == 0 || len(name) > 80 {
		return nil, -1
	}
	for _, c := range name {
		if !IsHost(c) {
			return nil, -1
		}
	}
	if number, ok := Whole(name); ok {
		return name, number
	}
	// Most names in front of a colon are words. That of a pod ends in a number.
	if IsDigit(name[len(name)-1]) && bytes.IndexByte(name, '-') > 0 {
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
	label, inner := text[:end+1], text[1:end]
	if len(inner) > len("pod/") && bytes.HasPrefix(inner, []byte("pod/")) {
		return label, -1
	}
	for _, word := range []string{"rank", "Rank ", "default"} {
		digits, ok := bytes.CutPrefix(inner, []byte(word))
		if number, isNumber := Whole(digits); ok && isNumber {
			if word == "default" {
				number = -1 // torchrun counts the processes of one node
			}
			return label, number
		}
	}
	if number, isNumber := Whole(inner); isNumber && len(inner) < 6 && bytes.HasPrefix(text[end+1:], []byte(" ")) {
		return label, number
	}
	if job, rank, ok := bytes.Cut(inner, []byte(",")); ok {
		_, isJob := Whole(job)
		if number, isNumber := Whole(rank); isJob && isNumber {
			return label, number
		}
	}
	return nil, -1
}

// Whole returns the number that the text consists of.
func Whole(text []byte) (int, bool) {
	at, value, ok := numberBefore(text, len(text))
	return value, ok && at == -1
}

// Inside returns the text of a line that a program such as k9s drew in a frame: "│ text    │".
func Inside(line []byte) []byte {
	frame := []byte("│")
	text, framed := bytes.CutPrefix(line, frame)
	if !framed {
		return line
	}
	return bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimRight(text, " "), frame))
}
