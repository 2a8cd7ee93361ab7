package main

// failure ends the log: one NIC can no longer reach another, and every other rank fails with that rank; or no NIC can
// reach another.
func (w *writer) failure() {
	for range w.lost {
		for rank := range w.ranks {
			w.connectionLost(rank)
		}
	}
	first := w.ranks / 3
	w.connectionLost(first)
	w.trail(first)
	for rank := range w.ranks {
		if rank == first {
			continue
		}
		switch {
		case rank%gpus == first%gpus && rank%3 == 0: // its queue pair was flushed because the other end is gone
			w.warn(rank, "13:37:02", "transport/net_ib.cc:2271", "NET/IB: Got completion from peer %s<47812> with "+
				"status=5 opcode=0 len=0 vendor err 249 (Recv) hca mlx5_%d", address(100+first%gpus, first), rank%gpus)
			w.trail(rank)
		case rank%5 == 0:
			w.warn(rank, "13:37:03", "misc/socket.cc:64", "socketProgress: Connection closed by remote peer "+
				"gpu-%04d.train.svc.cluster.local<%d>", first/gpus, 40000+rank)
			w.info(rank, 302, "misc/socket.cc:775 -> 6")
		}
		w.nccls("[rank%d]:[E1121 13:47:03.512306081 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective "+
			"operation timeout: WorkNCCL(SeqNum=48123, OpType=_REDUCE_SCATTER_BASE, NumelIn=268435456, "+
			"NumelOut=65536, Timeout(ms)=600000) ran for 600071 milliseconds before timing out.", rank, rank)
	}
	w.print("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
}

// connectionLost warns that the NIC of the same rail on the next node does not answer.
func (w *writer) connectionLost(rank int) {
	peer, rail := (rank+gpus)%w.ranks, 100+rank%gpus
	w.warn(rank, "13:37:01", "transport/net_ib.cc:2271", "NET/IB: Got completion from peer %s<47812> with status=12 "+
		"opcode=32767 len=0 vendor err 129 (Send) localGid ::ffff:%s remoteGids::ffff:%s hca mlx5_%d",
		address(rail, peer), address(rail, rank), address(rail, peer), rank%gpus)
}

// trail writes the steps of an error on its way up.
func (w *writer) trail(rank int) {
	w.info(rank, 302, "transport/net.cc:1302 -> 6")
	w.info(rank, 302, "proxy.cc:748 -> 6")
	w.info(rank, 302, "proxy.cc:929 -> 6 [Progress Thread]")
}
