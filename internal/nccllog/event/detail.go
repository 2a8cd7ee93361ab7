package event

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// Detail tells events of one kind apart.
type Detail uint8

// Details, with the kinds that have them.
const (
	Plain       Detail = iota
	Uncaught           // Exception: PyTorch printed it when it ended the program
	Sticky             // CUDAFailed, CUDAError: of a kernel, so that every later call fails, too
	Unspecified        // Watchdog: the line fits a timeout as well as another error
	InSetUp            // OFIFailed: it only happens before data can go over a connection
	Unanswered         // OFICompletion: the receiver was not reached
	NoIoctl            // OFICompletion: an undocumented error
	OverTCP            // WrongSocket, SizesDiffer: this end uses NET/Socket
	OverVerbs          // Warning, FailedOver, Listed: of NET/IB
	AtSocket           // Trail, Rendezvous, Recoverable: from the source of TCP sockets
	ProcessEnd         // Complaint: of a process that ended
	Told               // Exit, Complaint: by a signal with which users, schedulers and launchers end processes
	OverFabric         // CUDAFailed, PeerAccess, NVLSFailed: of memory that other machines may map over NVLink
	Diagnosed          // Listed: by NCCL's own diagnostics
	Partial            // Finished: a result of a program that goes on
	Stated             // Finished: in words that also a script may print, whatever became of its program
)

// unspecifiedWords are in lines of PyTorch's ProcessGroupNCCL.cpp about a process that it ends after a timeout, or
// after an error of NCCL or CUDA.
var unspecifiedWords = []string{
	"have failed or timed out", "we are taking the entire process down", "ncclCommWatchdog",
}

// stickyWords are in the names of errors of a kernel. An invalid argument or a system error may have another cause.
var stickyWords = []string{
	"illegal memory access", "launch failure", "device-side assert", "misaligned", "ECC", "illegal instruction",
	"uncorrectable",
}

// ReadDetails reads the fields that depend on the whole line.
func (e *Event) ReadDetails() {
	label, _ := prefix.LabelOf([]byte(e.Text))
	e.Label = string(label)
	switch e.Kind {
	case Exception:
		e.Raised = reactionOfException(e.Name, e.Text)
		e.detail(Uncaught, e.Number >= 0 && strings.Contains(e.Text, fmt.Sprintf("[rank%d]: %s", e.Number, e.Name)))
	case CUDAFailed, CUDAError:
		e.detail(Sticky, find.Any(e.Name, stickyWords...))
	case Watchdog:
		e.detail(Unspecified, find.Any(e.Text, unspecifiedWords...))
	case OFIFailed:
		e.detail(InSetUp, find.Any(e.Text, "open ", "nitialize", "ndpoint", "fi_domain", "fi_fabric"))
	case OFICompletion:
		e.detail(Unanswered, find.Any(e.Text, "nresponsive", "nreachable", "not reach"))
		e.detail(NoIoctl, strings.Contains(e.Text, "Inappropriate ioctl"))
	case WrongSocket:
		e.Socket = &Socket{}
		e.Socket.Has, e.Socket.Wants = socketTypes(e.Text)
		e.detail(OverTCP, e.Socket.Wants == netSocket)
	case SizesDiffer:
		e.detail(OverTCP, strings.Contains(e.Text, netSocket))
	case Warning, FailedOver, Listed:
		e.detail(OverVerbs, strings.Contains(e.Text, netIB))
	case Trail:
		e.detail(AtSocket, strings.Contains(e.Text, "misc/socket.cc:"))
	case Rendezvous, Recoverable:
		e.detail(AtSocket, strings.Contains(e.Text, " socket.cpp:"))
	default:
	}
}

func (e *Event) detail(d Detail, is bool) {
	if is {
		e.Detail = d
	}
}

const (
	netSocket = "NET/Socket"
	netIB     = "NET/IB"
)

// socketTypes reads "wrong type 3 != 4": received and expected (NCCL src/include/socket.h).
func socketTypes(text string) (has, wants string) {
	names := map[string]string{"0": "none", "1": "bootstrap", "2": "proxy", "3": netSocket, "4": netIB, "5": "RAS"}
	_, types, _ := strings.Cut(text, "wrong type ")
	has, wants, _ = strings.Cut(types, " != ")
	wants, _, _ = strings.Cut(strings.TrimSpace(wants), " ")
	return names[has], names[wants]
}
