package event

import (
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// readCompletion reads a bad completion in the forms of 2.4 to 2.30:
//
//	NET/IB : Got completion from peer 10.0.0.5<33092>
//	... with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid ::ffff:10.0.0.4
//	... with status=12 opcode=0 len=0 vendor err 129 (Send) localGid a remoteGidsb hca mlx5_0
//	... with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 req_type=Send
func readCompletion(e *Event, text, _ string) bool {
	c := &Completion{
		Peer:      find.WordAfter(text, "from peer "),
		Status:    statusOf(find.WordAfter(text, "status=", "with error ", "status ")),
		Opcode:    find.WordAfter(text, "opcode=", "opcode "),
		ReqType:   find.WordAfter(text, "req_type="),
		LocalGID:  find.WordAfter(text, "localGid "),
		RemoteGID: find.WordAfter(text, "remoteGids", "remoteGid "), // from 2.20 on no blank follows remoteGids
		HCA:       find.WordAfter(text, " hca "),
	}
	c.Name = codes.CompletionName(c.Status)
	vendor := find.WordAfter(text, "vendor_err=", "vendor_err ", "vendor err ", "vendor error ")
	if n, err := strconv.Atoi(vendor); err == nil {
		c.Vendor, c.HasVendor = n, true
	}
	if _, rest, _ := strings.Cut(text, "vendor err "); c.ReqType == "" {
		c.ReqType = strings.TrimSpace(find.Between(rest, "(", ")"))
	}
	e.Completion = c
	return true
}

func readUCXOverIB(_ *Event, text, _ string) bool { return strings.Contains(text, "/IB ") }

// statusOf reads "12" and "IBV_WC_RETRY_EXC_ERR(12)"; -1 if it is neither.
func statusOf(value string) int {
	if inner := find.Between(value, "(", ")"); inner != "" {
		value = inner
	}
	if n, err := strconv.Atoi(strings.TrimRight(value, ",.")); err == nil {
		return n
	}
	return codes.CompletionStatus(value)
}

const gidTableChanged = "GID table changed"

// readAsync reads an event of a device:
//
//	NET/IB : Got async event : port error
//	NET/IB : mlx5_3:1 async fatal event on QP (0x732d): invalid request local work queue error
//	NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)
//	NET/IB : mlx5_0:1 GID table changed
func readAsync(e *Event, text, _ string) bool {
	a := &Async{}
	e.Async = a
	head, tail, ok := strings.Cut(text, "async fatal event")
	a.Fatal = ok
	if !ok {
		head, tail, ok = strings.Cut(text, "async event")
	}
	if i := strings.Index(text, gidTableChanged); !ok && i >= 0 {
		head, tail = text[:i], text[i:]
	}
	for word := range strings.FieldsSeq(head) {
		device, port, _ := strings.Cut(word, ":")
		if _, isNumber := prefix.Whole([]byte(port)); isNumber && device != "" {
			a.Device = word
		}
	}
	if _, event, ok := strings.Cut(tail, ": "); ok {
		tail = event
	}
	a.Event = strings.TrimSpace(tail)
	if open := strings.LastIndexByte(a.Event, '('); open > 0 && strings.HasSuffix(a.Event, ")") {
		a.Event = a.Event[:open]
	}
	a.Type = codes.EventNamed(a.Event)
	return true
}

// verbsOf reads a failed call:
//
//	Call to ibv_reg_mr failed                                           up to 2.9
//	Call to ibv_modify_qp failed with error No such device errno 19     2.20 to 2.23
//	Call to ibv_modify_qp failed with 61 No data available, on dev mlx5_0:1, curr state INIT, next state RTR, ...
func verbsOf(text string) *Verbs {
	i := strings.Index(text, "ibv_")
	end := i
	for end < len(text) && prefix.IsHost(text[end]) && text[end] != '.' && text[end] != '-' {
		end++
	}
	_, rest, ok := strings.Cut(text[end:], "fail")
	if !ok || end-i > 40 {
		return nil
	}
	v := &Verbs{
		Call:      text[i:end],
		Device:    find.WordAfter(text, "on dev "),
		From:      find.WordAfter(text, "curr state "),
		To:        find.WordAfter(text, "next state "),
		GIDIndex:  -1,
		LocalGID:  find.WordAfter(strings.ReplaceAll(text, "local GID index", ""), "local GID "),
		RemoteGID: find.WordAfter(text, "remote GID "),
	}
	v.Wide = v.Device != "" || v.From != "" || v.LocalGID != "" || v.RemoteGID != ""
	if n, err := strconv.Atoi(find.WordAfter(text, "local GID index ")); err == nil {
		v.GIDIndex = n
	}
	rest = strings.TrimPrefix(rest, "ed")
	if said, ok := strings.CutPrefix(rest, " with "); ok {
		v.readError(said)
	} else if _, said, ok := strings.Cut(rest, ": "); ok {
		v.readError(said)
	}
	return v
}

// readError reads "error Cannot allocate memory", "error Unknown error -12" and "22 Invalid argument, on dev".
func (v *Verbs) readError(said string) {
	said, old := strings.CutPrefix(said, "error ")
	said, _, _ = strings.Cut(said, ",")
	said, _, _ = strings.Cut(said, ". ") // of UCX, with advice
	said, number, _ := strings.Cut(said, " errno ")
	v.Errno, _ = strconv.Atoi(find.WordAfter(number, ""))
	first, others, _ := strings.Cut(said, " ")
	if n, ok := prefix.Whole([]byte(first)); ok && !old {
		v.Errno, said, v.Wide = n, others, true
	}
	if number, ok := strings.CutPrefix(said, "Unknown error "); ok {
		n, _ := strconv.Atoi(find.WordAfter(number, ""))
		v.Errno = max(n, -n)
	}
	v.Error = strings.TrimSpace(said)
	if v.Errno == 0 {
		v.Errno = codes.Errno(v.Error)
	}
}
