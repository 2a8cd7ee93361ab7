package event

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
)

// IsEnd reports whether the event is the end of a process, as its program, launcher or scheduler tells it.
func (e Event) IsEnd() bool {
	return e.Kind == Exception || e.Kind == Exit || e.Signature == "mpi-abort" || e.IsAnnounced()
}

// IsAnnounced reports whether the scheduler says that it ends a job, or that a node failed. Slurm names one node of the
// job, whichever it ended.
func (e Event) IsAnnounced() bool {
	switch e.Signature {
	case "cancelled", "requeued", "evicted", "node-failure":
		return true
	}
	return e.Kind == TimeLimit
}

// IsWait reports whether the event is a loss that names no peer, but the ranks that wait.
func (e Event) IsWait() bool {
	return e.Kind == Watchdog || e.Kind == TimeLimit
}

// IsOwnException reports whether the event is a mistake of the program, which follows from no other failure.
func (e Event) IsOwnException() bool {
	return e.Kind == Exception && e.Reaction() == NoReaction
}

// Reaction tells how likely a process ends in this way because it lost its peers.
type Reaction int

// Reactions, the least likely first.
const (
	NoReaction  Reaction = iota // a mistake of the program, a crash
	MayReact                    // it does not say
	OftenReacts                 // also its launcher ends processes so
	Reacts                      // it says that it lost a connection
)

// Reaction returns how likely the end of a process follows from the end of another one.
func (e Event) Reaction() Reaction {
	switch e.Kind {
	case Exception:
		return e.Raised
	case Exit:
	default:
		return OftenReacts
	}
	switch e.Code {
	case -11, -8, -7, -4:
		return NoReaction
	case -9: // the kernel, a user, or a launcher whose other processes failed
		return MayReact
	}
	return OftenReacts
}

// generalExceptions are raised for any reason. Those of packages, with a dot in the name, are as well.
var generalExceptions = []string{"RuntimeError", "OSError", "IOError", "Exception", "BaseException", "SystemError"}

func reactionOfException(name, text string) Reaction {
	_, text, _ = strings.Cut(text, name)
	text = strings.ToLower(text)
	general := slices.Contains(generalExceptions, name) || strings.Contains(name, ".")
	switch {
	case find.Any(name, "Connection", "BrokenPipe", "EOFError"),
		general && find.Any(text, "connection", "broken pipe", "lost contact"):
		return Reacts
	case find.Any(name, "Interrupt", "Exit", "Timeout", "Cancel", "Process", "Signal", "Actor", "Worker", "Child"),
		general && find.Any(text, "nccl", "timeout", "timed out", "peer", "socket", "store", "rendezvous", "abort",
			"cancel", "signal", "killed", "died", "worker", "other rank", "shut down"):
		return OftenReacts
	case general:
		return MayReact
	}
	return NoReaction
}
