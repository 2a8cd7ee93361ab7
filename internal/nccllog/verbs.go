package nccllog

import (
	"strconv"
	"strings"
)

// completionOf reads a bad completion in the forms of 2.4 to 2.30:
//
//	NET/IB : Got completion from peer 10.0.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid ::ffff:10.0.0.4
//	NET/IB: Got completion from peer 10.0.0.5<33092> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid a remoteGidsb hca mlx5_0
//	NET/IB: Got completion from peer 10.0.0.5<33092> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 req_type=Send
func completionOf(text string) *Completion {
	c := &Completion{Peer: wordAfter(text, "from peer "), Status: -1}
	for _, key := range []string{"status=", "with error ", "status "} {
		if value := wordAfter(text, key); value != "" && c.Status < 0 {
			c.Status = statusOf(value)
		}
	}
	if c.Status >= 0 {
		c.Name = CompletionName(c.Status)
	}
	for _, key := range []string{"opcode=", "opcode "} {
		if c.Opcode == "" {
			c.Opcode = wordAfter(text, key)
		}
	}
	for _, key := range []string{"vendor_err=", "vendor_err ", "vendor err ", "vendor error "} {
		if n, err := strconv.Atoi(wordAfter(text, key)); err == nil && !c.HasVendor {
			c.Vendor, c.HasVendor = n, true
		}
	}
	c.ReqType = wordAfter(text, "req_type=")
	if _, rest, ok := strings.Cut(text, "vendor err "); ok && c.ReqType == "" {
		c.ReqType = strings.TrimSpace(between(rest, "(", ")"))
	}
	c.LocalGID = wordAfter(text, "localGid ")
	if c.RemoteGID = wordAfter(text, "remoteGids "); c.RemoteGID == "" {
		if c.RemoteGID = wordAfter(text, "remoteGids"); c.RemoteGID == "" { // without a blank from 2.20 on
			c.RemoteGID = wordAfter(text, "remoteGid ")
		}
	}
	c.HCA = wordAfter(text, " hca ")
	return c
}

// statusOf reads "12" and "IBV_WC_RETRY_EXC_ERR(12)".
func statusOf(value string) int {
	if inner := between(value, "(", ")"); inner != "" {
		value = inner
	}
	if n, err := strconv.Atoi(strings.TrimRight(value, ",.")); err == nil {
		return n
	}
	name := strings.TrimPrefix(value, "IBV_WC_")
	for i, known := range completionNames() {
		if known == name {
			return i
		}
	}
	return -1
}

// wordAfter is the word that follows a key: up to a blank or a comma.
func wordAfter(text, key string) string {
	_, rest, ok := strings.Cut(text, key)
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	if end := strings.IndexAny(rest, " ,;\t\r\n\"'"); end >= 0 {
		rest = rest[:end]
	}
	return cut(rest, 120)
}

// asyncOf reads an event of a device: "NET/IB : Got async event : port error", "NET/IB : mlx5_3:1 async fatal event
// on QP (0x732d): invalid request local work queue error", "NET/IB : mlx5_0:1 Got non-fatal async event: port
// error(10)".
func asyncOf(text string) *Async {
	a := &Async{}
	head, tail, ok := strings.Cut(text, "async event")
	if fatalHead, fatalTail, fatal := strings.Cut(text, "async fatal event"); fatal {
		head, tail, ok, a.Fatal = fatalHead, fatalTail, true, true
	}
	if !ok {
		return a
	}
	for _, word := range strings.Fields(head) {
		if device, port, isDevice := strings.Cut(word, ":"); isDevice && device != "" && port != "" {
			if _, number := whole([]byte(port)); number {
				a.Device = word
			}
		}
	}
	if on, said := strings.CutPrefix(tail, " on "); said {
		a.On = on[:min(2, len(on))]
	}
	if colon := strings.Index(tail, ": "); colon >= 0 {
		tail = tail[colon+2:]
	}
	a.Event = strings.TrimSpace(tail)
	if open := strings.LastIndexByte(a.Event, '('); open > 0 && strings.HasSuffix(a.Event, ")") {
		a.Event = a.Event[:open]
	}
	return a
}

// verbsOf reads a call that failed:
//
//	Call to ibv_reg_mr failed                                           up to 2.9
//	Call to ibv_modify_qp failed with error No such device errno 19     2.20 to 2.23
//	Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 5, ...
func verbsOf(text string) *Verbs {
	i := strings.Index(text, "ibv_")
	end := i
	for end < len(text) && (isHost(text[end]) && text[end] != '.' && text[end] != '-') {
		end++
	}
	v := &Verbs{Call: text[i:end], GIDIndex: -1}
	_, rest, ok := strings.Cut(text[end:], "fail")
	if !ok || len(v.Call) > 40 {
		return nil
	}
	rest = strings.TrimPrefix(rest, "ed")
	if said, with := strings.CutPrefix(rest, " with "); with {
		v.words(said)
	} else if _, said, colon := strings.Cut(rest, ": "); colon {
		v.words(said)
	}
	v.Device = wordAfter(text, "on dev ")
	v.From, v.To = wordAfter(text, "curr state "), wordAfter(text, "next state ")
	if n, err := strconv.Atoi(wordAfter(text, "local GID index ")); err == nil {
		v.GIDIndex = n
	}
	v.LocalGID, v.RemoteGID = wordAfter(strings.ReplaceAll(text, "local GID index", ""), "local GID "),
		wordAfter(text, "remote GID ")
	v.Wide = v.Wide || v.Device != "" || v.From != "" || v.LocalGID != "" || v.RemoteGID != ""
	return v
}

// words reads the error itself: "error Cannot allocate memory", "error Unknown error -12", "22 Invalid argument, on
// dev".
func (v *Verbs) words(said string) {
	said, old := strings.CutPrefix(said, "error ")
	said, _, _ = strings.Cut(said, ",")
	if head, number, ok := strings.Cut(said, " errno "); ok {
		said = head
		v.Errno, _ = strconv.Atoi(wordAfter(number, ""))
	}
	if n, ok := whole([]byte(said)); ok && !old {
		v.Errno, v.Wide = n, true
		return
	}
	if first, others, ok := strings.Cut(said, " "); ok && !old {
		if n, err := strconv.Atoi(first); err == nil {
			v.Errno, said, v.Wide = n, others, true
		}
	}
	if number, unknown := strings.CutPrefix(said, "Unknown error "); unknown {
		n, _ := strconv.Atoi(wordAfter(number, ""))
		v.Errno = max(n, -n)
	}
	v.Error = strings.TrimSpace(said)
	if v.Errno == 0 {
		v.Errno = Errno(v.Error)
	}
}
