package nccllog

import (
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// Log holds the facts of one or several runs. Its size does not grow with the input.
type Log struct {
	Runs []Run
}

// Seen reports whether NCCL logged anything.
func (l Log) Seen() bool {
	return slices.ContainsFunc(l.Runs, func(r Run) bool { return len(r.Ranks) > 0 || r.Version != "" })
}

// Run is one start of a job.
type Run struct {
	Ranks     []Rank
	Events    []event.Event          // in the order of the input
	Tests     Tests                  // output of nccl-tests
	Diagnosis Diagnosis              // of NCCL's own diagnostics
	Finished  event.Event            // the last of its kind; no text: no line says that the program succeeded
	Ringed    int                    // ranks that a ring lists: a lower bound of the size of the job
	Env       []Variable             // NCCL variables that are set on command lines or printed by programs
	Ends      map[string]scan.Ending // of each file, by its name
	Trained   int                    // lines of training output at both ends, at most Trained+1
	Version   string                 // if no rank has one
	Truncated bool                   // there was more than is kept
}

// Tests is the header of a run of nccl-tests.
type Tests struct {
	Ranks  int
	Listed int // lines of the header: fewer than Ranks if the log lacks some
	Hosts  []string
}

// Rank is one process on one GPU.
type Rank struct {
	Last     int // sequence number of its last line
	Channels Channels

	Host   string // "" if unknown
	PID    int
	Device int    // of CUDA; -1 if unknown
	Label  string // if the lines name no process: the launcher's prefix, or the file
	File   string
	Glued  bool // seen only in a line that another process had begun

	Number  int  // in the largest communicator; -1 if unknown
	World   int  // ranks of that communicator
	Nodes   int  // machines, or groups of machines that NVLink joins
	MNNVL   bool // NVLink joins machines of the job
	Version string

	Bootstrap Address
	Plugins   []string    // in the order of loading
	Network   string      // the last "Using network"
	Chosen    event.Quote // the line of Network
	ChosenAt  int         // its sequence number
	HCAs      []HCA
	Listed    event.Quote // the list of HCAs
	Verbs     bool        // a NET/IB line names a device
	Virtual   []HCA       // devices that NCCL joined from several
	OOB       Address
	Sockets   []Address
	Env       []Variable

	GPUDirect   GPUDirect
	QueuePair   QueuePair
	Complete    int         // communicators whose initialization succeeded
	CompleteAt  int         // sequence number of the last such line
	Started     bool        // a communicator began to initialize
	Connected   bool        // rings or trees are connected
	ConnectedAt int         // sequence number of the last line that says so
	Topology    event.Quote // the line with the number of nodes
	TrailAt     int         // sequence number of the last "file.cc:123 -> 6" of an error on its way up
	Stopped     bool        // one of these steps was in init.cc, which sets up communicators
	Destroyed   bool        // the program destroyed or aborted a communicator
}

// Address is an interface with its address.
type Address struct {
	Interface string
	IP        string
}

// HCA is one device of the list that NCCL prints.
type HCA struct {
	Index int
	Name  string
	Port  int
	Layer string // IB, RoCE, UNSPECIFIED

	DataDirect bool // GPUs are reached by a PCI function of their own: NCCL calls the device NAME_dma
}

// Variable is an environment variable that NCCL read.
type Variable struct {
	Name, Value string
	At          event.Quote
	Seq         int // sequence number of the line in all input, outside NCCL's own
}

// Channels counts the channels of a rank to other nodes, by transport.
type Channels struct {
	Nets   []NetChannels
	Fabric int // NVLink between nodes (MNNVL)
}

// NetChannels counts the ends of channels over one network.
type NetChannels struct {
	First    event.Quote
	Direct   event.Quote // the first with GDRDMA
	Indirect event.Quote // the first without

	Network         string
	Sends, Receives int
	SendsDirect     int // with GDRDMA
	ReceivesDirect  int
	Devices         uint64 // a bit for each index; the last bit stands for 63 and above
	DevicesDirect   uint64 // of those with GDRDMA
}

// GPUDirect is the output of a rank about GPUDirect RDMA.
type GPUDirect struct {
	Enabled, Disabled []string // HCAs
	DisabledAt        event.Quote
	Far               int    // pairs of GPU and HCA that are too far apart
	Distance          string // the first of them, as NCCL writes it: "5 > 4"
}

// QueuePair holds the fields of the lines about queue pairs.
type QueuePair struct {
	MTU    int         // of enum ibv_mtu: 3 is 1024, 5 is 4096; 0 if unknown
	GIDs   []int       // indexes of the GIDs, in ascending order
	At     event.Quote // the first line with a GID
	HasGID bool        // RoCE
	HasLID bool        // InfiniBand
}
