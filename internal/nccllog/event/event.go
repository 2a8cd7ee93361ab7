package event

import (
	"time"

	"github.com/railhead/railhead/internal/nccllog/codes"
)

// Kind is the kind of an event.
type Kind uint8

// Kinds of events: first NCCL's own kinds, then the kinds of other programs.
const (
	Warning        Kind = iota // of NCCL, of no kind below
	BadCompletion              // a work request ended with an error
	AsyncEvent                 // of a device
	VerbsFailed                // a call of libibverbs
	ConnectFailed              // TCP
	SocketClosed               // by the peer
	SocketFailed               // any other failure of a socket
	WrongSocket                // the peer uses another transport
	NoInterface                // for bootstrap
	Truncated                  // a message of unexpected size during bootstrap
	SizesDiffer                // a message of unexpected size in a collective
	Stranger                   // a connection from a program that is no rank
	NoDevice                   // NET/IB found none
	NoVerbs                    // libibverbs could not be loaded
	NoRail                     // by railhead-pod, which set NCCL to TCP; Name is the ID of the check that failed
	ProviderFailed             // libibverbs has no driver for a device
	CannotOpen                 // a device
	NoNetworkLeft              // NCCL found no network
	ShmFailed                  // shared memory
	CUDAFailed                 // a call of CUDA or HIP in NCCL
	DuplicateGPU               // two ranks on one GPU
	VersionsDiffer             // of NCCL
	NVLSFailed                 // multicast over NVLink
	PeerAccess                 // GPU to GPU
	OFIFailed                  // initialization of the OFI plugin
	OFINoProvider              // of libfabric
	OFIRegister                // memory registration in the OFI plugin
	OFICompletion              // a request of the OFI plugin
	GDRCopyFailed              //
	LayersDiffer               // InfiniBand on one side, RoCE on the other
	DevicesDiffer              // the peer has other devices
	GIDUnreadable              // the type of a GID
	Trail                      // an error on its way up, of a rank that gave no warning
	Consequence                // follows from another failure
	Watchdog                   // a collective timed out
	Result                     // NCCL's result as the program prints it: unhandled system error
	OutOfMemory                // of a GPU
	CUDAError                  // printed by the program
	CUDAInstall                // driver, library or device missing
	TopologyUnread             // NCCL ends without, or goes on with what it detects
	GPUNotReady                // Fabric Manager does not run
	Rendezvous                 // the launcher or the store is unreachable
	Exception                  // of Python, of no kind above
	Exit                       // of a process, with its code or signal
	OOMKill                    // by the kernel or a cgroup
	TimeLimit                  // of the scheduler
	Aborted                    // by MPI or Ray
	Xid                        // of the GPU driver
	FailedOver                 // an HCA failed, and NCCL goes on with another
	FailoverFailed             // an HCA failed, and no other could take over
	Harmless                   // a warning that means nothing for the run
	NoPassthrough              // of the IOMMU, by RCCL: often harmless
	NoSHARP                    // collectives in the network are not available; NCCL goes on without
	Complaint                  // a line of level ERROR or worse of another program, of no kind above
	FailureWords               // a line of another program that has no level and speaks of a failure
	RankMissing                // by NCCL's RAS service: it did not answer, or is considered dead
	RanksDiffer                // by RAS: they are not at the same operation, or not in the same state
	Reason                     // of a failure that other lines report; Name is the text
	Stalled                    // ranks that wait for others, by Horovod
	RankNamed                  // by RAS, in the lines after what it says of the rank
	Finished                   // the program succeeded
	WrongResults               // of nccl-tests
	Listed                     // its signature has all that the judge needs
	Recoverable                // the same, of a fault after which some programs go on
	Restarted                  // the job, by its launcher or its scheduler
	Gathered                   // the launchers of a job, at their rendezvous
	Kinds
)

// Event is one line about how the run went.
type Event struct {
	Kind      Kind
	Signature string // its ID
	Quote
	Rank   int       // index in Run.Ranks; -1 if unknown
	Number int       // of the rank, by a launcher's prefix or the text; -1 if unknown
	Host   string    // by the text
	PID    int       // of the process that ended, by the text; 0 if unknown
	Time   time.Time // zero if unknown; year 0 if the line has no year
	Seq    int       // sequence number of the line in all input
	Info   bool      // of level INFO, not WARN

	Completion *Completion
	Async      *Async
	Verbs      *Verbs
	Socket     *Socket
	Collective *Collective
	Code       int    // of CUDA, of an exit (negative: signal), of an Xid, of ncclResult_t; number of a collective
	Enqueued   int    // the last collective that the rank started, as its watchdog says; 0 if unknown
	Group      string // the process group of PyTorch; "" if unknown
	Name       string // the text of a CUDA error, the device, the exception
	Label      string // of a launcher, in front of the line
	Detail     Detail
	Raised     Reaction // of an exception
}

// New returns an event of a line that names no rank.
func New(kind Kind, signature string, at Quote) Event {
	return Event{Kind: kind, Signature: signature, Quote: at, Number: -1}
}

// Completion is a work request that ended with an error.
type Completion struct {
	Peer      string // address<port>
	Status    int    // enum ibv_wc_status; -1 if unknown
	Name      string // RETRY_EXC_ERR
	Opcode    string
	Vendor    int
	HasVendor bool
	ReqType   string
	LocalGID  string
	RemoteGID string
	HCA       string
}

// Async is an event of a device.
type Async struct {
	Device string // mlx5_3:1
	Event  string // port error
	Type   codes.Event
	Fatal  bool // NCCL says so
}

// Verbs is a failed call of libibverbs.
type Verbs struct {
	Call      string // ibv_modify_qp
	Errno     int    // 0 if unknown
	Error     string
	Device    string
	From, To  string // states of the queue pair
	GIDIndex  int    // -1 if unknown
	LocalGID  string
	RemoteGID string
	Wide      bool // the form of 2.24 and later, with device, states and GIDs
	Other     bool // not written by NCCL; the program may use other devices
}

// Socket is a failed TCP connection.
type Socket struct {
	Peer  string // address<port>, or a host
	Error string // text of strerror

	Has, Wants string // of WrongSocket: the transports of the peer and of this end
}

// Collective is an operation of a process group, as PyTorch names it: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=3).
type Collective struct {
	Operation string
	Number    int
	Elements  int // of the input
}

// Place is the position of a line: its file and its number, from 1.
type Place struct {
	File string
	Line int
}

// Quote is a line as it was logged, cut if it is long.
type Quote struct {
	At   Place
	Text string
}
