package story

// Transport moved the data between the nodes of a run.
type Transport int

// Transports. UnknownTransport: no line shows it.
const (
	UnknownTransport Transport = iota
	NoTransport                // one node needs no network
	Unconnected                // the run failed before a connection between nodes was usable
	RDMA                       // verbs
	Plugin                     // a plugin's network; its name does not say whether it uses RDMA
	TCP                        // NCCL's own sockets
	MixedTransport             // TCP on some channels, RDMA or a plugin on others
	NVLink                     // a multi-node NVLink fabric (MNNVL)
)

// Traffic counts the channels between the nodes of a run.
type Traffic struct {
	Networks  []string // as NCCL names them: IB, IBext_v11, Socket
	Channels  int      // one for two ends, or for one end whose peer's log is missing
	Ends      int      // of channels, as far as they were seen
	Direct    int      // ends with GPUDirect
	Ranks     int      // with channels between nodes
	OnTCP     []string // ranks with channels over TCP: "rank 3 on node-2"
	Devices   []string // as far as the ranks named them
	Truncated bool     // the log has more than is counted
}
