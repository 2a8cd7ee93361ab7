package nccllog

import "time"

// Kind is the kind of an event.
type Kind uint8

// Kinds of events: NCCL's own first, then those of the programs around it.
const (
	Warning        Kind = iota // NCCL's, of no kind below
	BadCompletion              // a work request ended with an error
	AsyncEvent                 // of a device
	VerbsFailed                // a call of libibverbs
	ConnectFailed              // a TCP connection could not be made
	SocketClosed               // by the peer
	SocketFailed               // any other failure of a socket
	WrongSocket                // the peer speaks another transport
	NoInterface                // for bootstrap or set-up
	Truncated                  // a message of another size than expected, while ranks meet
	SizesDiffer                // a message of another size than expected, in a collective
	Stranger                   // a connection of something that is no rank
	NoDevice                   // NET/IB found none
	NoVerbs                    // libibverbs could not be loaded
	ProviderFailed             // libibverbs found no driver for a device
	CannotOpen                 // a device
	NoNetworkLeft              // NCCL found no network at all
	ShmFailed                  // shared memory
	CUDAFailed                 // a call of CUDA or HIP in NCCL
	DuplicateGPU               //
	VersionsDiffer             // NCCL says so
	NVLSFailed                 // multicast over NVLink
	PeerAccess                 // GPU to GPU
	OFIFailed                  // set-up of the OFI plugin
	OFINoProvider              //
	OFIRegister                // memory registration in the OFI plugin
	OFICompletion              // a request of the OFI plugin
	GDRCopyFailed              //
	LayersDiffer               // IB on one side, RoCE on the other
	DevicesDiffer              // other devices on the other side
	GIDUnreadable              // the type of a GID could not be read
	Consequence                // a message that only follows from another failure
	Watchdog                   // a collective did not end in time
	Result                     // NCCL's result in the words of the program: unhandled system error
	OutOfMemory                // of a GPU
	CUDAError                  // said by the program
	CUDAInstall                // driver, library or device missing
	Rendezvous                 // the launcher or the store could not be reached
	Exception                  // of Python, of no kind above
	Exit                       // of a process, with its code or signal
	OOMKill                    // by the kernel, or by a cgroup
	TimeLimit                  // of the scheduler
	Aborted                    // by MPI, or by Ray
	Xid                        // of the GPU's driver
	Finished                   // the program ended well
	Listed                     // a row of the table of signatures says all
	kinds
)

// Event is one line about how the run went.
type Event struct {
	Kind      Kind
	Signature string // ID of the row
	Quote
	Source string    // file:line of NCCL, where it stands
	Rank   int       // index in Run.Ranks; -1 when no line tells
	Number int       // the rank's number, where a launcher's prefix or the text tells; else -1
	Host   string    // where the text tells
	Time   time.Time // zero when the line has none; year 0 when it has no year
	Seq    int       // of its line, counted over all input
	Info   bool      // of level INFO: not said as a warning

	Completion *Completion
	Async      *Async
	Verbs      *Verbs
	Socket     *Socket
	Code       int    // of CUDA, of an exit (negative: signal), of an Xid, of ncclResult_t
	Name       string // of the failure: the text of the CUDA error, the device, the exception
}

// Completion is a work request that ended with an error.
type Completion struct {
	Peer      string // address<port>
	Status    int
	Name      string // RETRY_EXC_ERR
	Opcode    string
	Vendor    int // as printed: decimal
	HasVendor bool
	ReqType   string
	LocalGID  string
	RemoteGID string
	HCA       string
}

// Async is an event of a device.
type Async struct {
	Device string // mlx5_3:1
	On     string // QP, CQ, or ""
	Event  string // port error
	Fatal  bool
}

// Verbs is a call of libibverbs that failed.
type Verbs struct {
	Call      string // ibv_modify_qp
	Errno     int    // 0 when the line does not tell
	Error     string
	Device    string
	From, To  string // states of the queue pair
	GIDIndex  int    // -1 when the line does not tell
	LocalGID  string
	RemoteGID string
	Wide      bool // the form of 2.24 and later, which has the device, the states and the GIDs
}

// Socket is a failure of a TCP connection.
type Socket struct {
	Peer  string // address<port>, or a host
	Error string // the system's words
}
