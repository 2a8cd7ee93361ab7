package wire

import "github.com/railhead/railhead/internal/host"

// Counters of ports by their meaning (NVIDIA, Understanding mlx5 Linux counters; Linux
// drivers/infiniband/sw/rxe/rxe_hw_counters.c).
var (
	lossCounters = []string{
		"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err", // mlx5
		"out_of_seq_request", "rcvd_seq_err", "retry_exceeded_err", "duplicate_request", // rxe; the last mlx5, too
	}
	unreadyCounters = []string{
		"rnr_nak_retry_err", "out_of_buffer", // mlx5
		"rcvd_rnr_err", "send_rnr_err", // rxe
	}
	// repeatCounters count acknowledgements that a sender waited for in vain (rxe_comp.c, COMPST_ERROR_RETRY).
	repeatCounters = []string{
		"local_ack_timeout_err", // mlx5
		"completer_retry_err",   // rxe
	}
	// duplicateCounters count packets that a receiver has already, of mlx5 and rxe.
	duplicateCounters = []string{"duplicate_request"}
	// requestCounters count what the NIC received for all queue pairs, also for those that the kernel does not list.
	requestCounters = []string{"rx_write_requests", "rx_read_requests", "rx_atomic_requests"}
)

// grown returns by how much some counters of a device grew, if it has one of them.
func grown(before, after host.WireDevice, names []string) host.Fact[uint64] {
	var sum host.Fact[uint64]
	for i, p := range after.Ports[:min(len(before.Ports), len(after.Ports))] {
		for _, name := range names {
			then, counted := before.Ports[i].Counters.Value[name]
			now, counts := p.Counters.Value[name]
			if counts && counted && now >= then { // less: they were reset
				sum = host.Know(sum.Value + now - then)
			}
		}
	}
	return sum
}
