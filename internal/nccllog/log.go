package nccllog

import "slices"

// Place is the position of a line: its file, and its number from 1.
type Place struct {
	File string
	Line int
}

// Quote is a line as it was logged, cut if it is long.
type Quote struct {
	At   Place
	Text string
}

// Log holds the facts of one or several runs: plain values, bounded whatever the size of the input.
type Log struct {
	Runs  []Run
	Lines int // read in all
}

// Seen reports whether any line of NCCL was seen.
func (l Log) Seen() bool {
	return slices.ContainsFunc(l.Runs, func(r Run) bool { return len(r.Ranks) > 0 || r.Version != "" })
}

// Run is one start of a job.
type Run struct {
	Ranks  []Rank
	Events []Event        // in the order in which they were read
	Counts map[Kind]int   // of events, those that are not kept included
	Tests  Tests          // the output of nccl-tests
	Ringed int            // the highest rank in the order of a ring, plus one: there are at least so many
	Env    []Variable     // assignments that are written in the log beside NCCL's own lines
	Ends   map[string]int // lines of each file, by its name
	// Trained counts the first lines that look like those of a training program.
	Trained int
	Version string // where no rank says it
	// Truncated says that more was seen than is kept.
	Truncated bool
}

// Tests is the header and the end of a run of nccl-tests.
type Tests struct {
	Ranks    int
	Hosts    []string
	Finished Quote // "# Out of bounds values : 0 OK" or "# Avg bus bandwidth"
}

// Rank is one process on one GPU.
type Rank struct {
	Host   string // "" where no line names it
	PID    int
	Device int    // of CUDA; -1 where no line names it
	Label  string // the launcher's prefix, or the file, where lines name no process

	Number     int // in the largest communicator; -1 when no line says it
	World      int // ranks of that communicator
	Nodes      int
	LocalRanks int
	CommID     string
	Version    string

	Bootstrap Address
	Plugins   []string // as they were loaded
	Network   string   // the last "Using network"
	Chosen    Quote
	HCAs      []HCA
	Listed    Quote // the list of HCAs
	Verbs     bool  // NET/IB said something of a device
	Virtual   []HCA // devices that NCCL joined from several
	Relaxed   bool  // [RO]
	OOB       Address
	Sockets   []Address
	Env       []Variable

	Channels   Channels
	GPUDirect  GPUDirect
	QueuePair  QueuePair
	Started    int   // communicators whose initialisation began
	Complete   int   // those whose initialisation ended well
	CompleteAt int   // the line of the last one, counted as First and Last are
	Connected  bool  // rings or trees
	Rings      int   // lines of rings
	Trees      int   // lines of trees
	NVLS       bool  // multicast is available
	SHARP      bool  // SHARP or CollNet is set up
	Topology   Quote // the line that says how many nodes there are
	Trail      []Step
	TrailAt    int  // the line of the last step, counted as First and Last are
	Destroyed  bool // its communicator was destroyed or aborted by the program

	First, Last int // of its lines, counted over all input
	Lines       int
	File        string
	Glued       bool // known only from a line that another process wrote into
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
}

// Variable is an environment variable that NCCL said it read.
type Variable struct {
	Name, Value string
	At          Quote
}

// Channels counts the channels of a rank by transport.
type Channels struct {
	Nets    []NetChannels
	P2P     int // inside a node, GPU to GPU
	SHM     int // inside a node, through memory of the host
	Fabric  int // between nodes over NVLink (MNNVL)
	CollNet int
}

// NetChannels counts the ends of channels over one network.
type NetChannels struct {
	Network         string
	Sends, Receives int
	SendsDirect     int // with GDRDMA
	ReceivesDirect  int
	Proxied         int // through another GPU's rank (PXN)
	Shared          int
	Devices         uint64 // a bit per index, the last one for 63 and above
	First           Quote
	Direct          Quote // the first with GDRDMA
	Indirect        Quote // the first without
}

// GPUDirect is the output of a rank about GPUDirect RDMA.
type GPUDirect struct {
	Enabled, Disabled     []string // HCAs that can, and that cannot
	EnabledAt, DisabledAt Quote
	Near, Far             int   // pairs of GPU and HCA that are near enough, and that are not
	FarAt                 Quote // with the distance
	DMABuf                bool
}

// QueuePair holds the fields of the lines about queue pairs.
type QueuePair struct {
	MTU    int // as the enumeration of verbs: 3 is 1024, 5 is 4096; 0 when no line says it
	GID    int // index; -1 when no line says it
	LID    int // -1 when no line says it
	HasGID bool
	HasLID bool
}

// Step is one line of the trail that an error leaves on its way up.
type Step struct {
	Source string // transport/net.cc:1134
	Code   int    // of ncclResult_t
}
