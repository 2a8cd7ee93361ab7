package main

// failure is the end: one NIC can no longer reach another, and every other rank fails with that rank.
func (w *writer) failure() {
	first := w.ranks / 3
	peer := (first + gpus) % w.ranks
	w.flush() // NCCL puts an empty line in front of a warning
	w.warn(first, "13:37:01", "transport/net_ib.cc:2271", "NET/IB: Got completion from peer ")
	w.address(100+peer%gpus, peer)
	w.text("<47812> with status=12 opcode=32767 len=0 vendor err 129 (Send) localGid ::ffff:")
	w.address(100+first%gpus, first)
	w.text(" remoteGids::ffff:")
	w.address(100+peer%gpus, peer)
	w.text(" hca mlx5_")
	w.number(first % gpus)
	w.end()
	w.trail(first)
	for rank := range w.ranks {
		if rank == first {
			continue
		}
		switch {
		case rank%gpus == first%gpus && rank%3 == 0:
			w.flushed(rank, first)
		case rank%5 == 0:
			w.closed(rank, first)
		}
		w.watchdog(rank)
	}
	w.text("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
	w.flush()
}

// warn begins a warning as 2.26 to 2.29 write it, with the time in front.
func (w *writer) warn(rank int, at, where, words string) {
	w.text("[2025-11-21 ")
	w.text(at)
	w.text("] ")
	w.prefix(rank, 302)
	w.text(where)
	w.text(" NCCL WARN ")
	w.text(words)
}

// trail is the way that the error went.
func (w *writer) trail(rank int) {
	for _, where := range []string{"transport/net.cc:1302 -> 6", "proxy.cc:748 -> 6",
		"proxy.cc:929 -> 6 [Progress Thread]"} {
		w.say(rank, 302, where)
	}
}

// flushed is a queue pair that was emptied because the other end has gone.
func (w *writer) flushed(rank, peer int) {
	w.flush()
	w.warn(rank, "13:37:02", "transport/net_ib.cc:2271", "NET/IB: Got completion from peer ")
	w.address(100+peer%gpus, peer)
	w.text("<47812> with status=5 opcode=0 len=0 vendor err 249 (Recv) hca mlx5_")
	w.number(rank % gpus)
	w.end()
	w.trail(rank)
}

func (w *writer) closed(rank, peer int) {
	w.flush()
	w.warn(rank, "13:37:03", "misc/socket.cc:64", "socketProgress: Connection closed by remote peer gpu-")
	w.padded(peer/gpus, 4, '0')
	w.text(".train.svc.cluster.local<")
	w.number(40000 + rank)
	w.text(">")
	w.end()
	w.say(rank, 302, "misc/socket.cc:775 -> 6")
}

func (w *writer) watchdog(rank int) {
	w.text("[rank")
	w.number(rank)
	w.text("]:[E1121 13:47:03.512306081 ProcessGroupNCCL.cpp:632] [Rank ")
	w.number(rank)
	w.text("] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=48123, OpType=_REDUCE_SCATTER_BASE, " +
		"NumelIn=268435456, NumelOut=65536, Timeout(ms)=600000) ran for 600071 milliseconds before timing out.")
	w.end()
}
