package codes

import (
	"slices"
	"strings"
)

// Event is an asynchronous event of an RDMA device: the numbers of ibv_event_type (rdma-core v64 libibverbs/verbs.h).
type Event int

// Events, in the order of ibv_event_type.
const (
	UnknownEvent Event = iota - 1
	CQError
	QPFatal
	QPRequestError
	QPAccessError
	Established
	SendQueueDrained
	PathMigrated
	PathMigrationError
	DeviceFatal
	PortActive
	PortError
	LIDChange
	PKeyChange
	SMChange
	SRQError
	SRQLimit
	LastWQE
	Reregister
	GIDChange
	WQFatal
)

// events has the texts of ibv_event_type_str (rdma-core v64 libibverbs/enum_strs.c), by number.
var events = []string{
	"CQ error",
	"local work queue catastrophic error",
	"invalid request local work queue error",
	"local access violation work queue error",
	"communication established",
	"send queue drained",
	"path migrated",
	"path migration request error",
	"local catastrophic error",
	"port active",
	"port error",
	"LID change",
	"P_Key change",
	"SM change",
	"SRQ catastrophic error",
	"SRQ limit reached",
	"last WQE reached",
	"client reregistration",
	"GID table change",
	"WQ fatal",
}

// EventNamed returns the event with a text of ibv_event_type_str or of NCCL.
func EventNamed(text string) Event {
	switch {
	case text == "GID table changed": // NCCL 2.23 and later
		return GIDChange
	case strings.Contains(text, "device fatal"):
		return DeviceFatal
	}
	return Event(slices.Index(events, text))
}
