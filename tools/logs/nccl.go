package main

// info begins a line of NCCL of a rank; thread 0 is the one that initialises.
func (w *writer) info(rank, thread int) {
	w.prefix(rank, thread)
	w.text("NCCL INFO ")
}

// prefix is what stands in front of every line (src/debug.cc).
func (w *writer) prefix(rank, thread int) {
	w.host(rank)
	w.text(":")
	w.number(pid(rank))
	w.text(":")
	w.number(pid(rank) + thread)
	w.text(" [")
	w.number(rank % gpus)
	w.text("] ")
}

// end ends a line of NCCL.
func (w *writer) end() {
	w.nccl += int64(len(w.line)) + 1
	w.flush()
}

func (w *writer) say(rank, thread int, words string) {
	w.info(rank, thread)
	w.text(words)
	w.end()
}

// start is what all ranks say when the first communicator is made. Their lines come in turn, as from processes that
// start together.
func (w *writer) start() {
	w.text("W1120 23:55:12.104000 1 torch/distributed/run.py:792] *****************************************")
	w.flush()
	const together = 64 // ranks that are in the same phase
	for first := 0; first < w.ranks; first += together {
		last := min(first+together, w.ranks)
		for _, phase := range []func(*writer, int){(*writer).environment, (*writer).devices, (*writer).network,
			(*writer).rings, (*writer).complete} {
			for rank := first; rank < last; rank++ {
				phase(w, rank)
			}
		}
	}
}

func (w *writer) environment(rank int) {
	w.info(rank, 0)
	w.text("Bootstrap: Using eth0:")
	w.address(128, rank)
	w.text("<0>")
	w.end()
	w.say(rank, 0, "cudaDriverVersion 12080")
	if rank == 0 {
		w.say(rank, 0, "NCCL version 2.27.7+cuda12.8")
	}
	for _, v := range []string{
		"NCCL_SOCKET_IFNAME set by environment to =eth0",
		"NCCL_IB_HCA set to =mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"NCCL_IB_TIMEOUT set by environment to 22.", "NCCL_IB_TC set by environment to 106.",
		"NCCL_NET_GDR_LEVEL set by environment to PHB",
	} {
		w.say(rank, 0, v)
	}
	w.say(rank, 300, "NET/Plugin: Could not find: libnccl-net.so. ")
}

func (w *writer) devices(rank int) {
	for d := range gpus {
		w.info(rank, 300)
		w.text("NET/IB: [")
		w.number(d)
		w.text("] mlx5_")
		w.number(d)
		w.text(":uverbs")
		w.number(d)
		w.text(":1/RoCE provider=Mlx5 speed=400000 context=")
		w.hex(w.random.Uint64())
		w.text(" pciPath=/sys/devices/pci0000:1")
		w.number(d)
		w.text("/0000:1")
		w.number(d)
		w.text(":01.0 ar=0")
		w.end()
	}
	w.info(rank, 300)
	w.text("NET/IB : Using")
	for d := range gpus {
		w.text(" [")
		w.number(d)
		w.text("]mlx5_")
		w.number(d)
		w.text(":1/RoCE")
	}
	w.text(" [RO]; OOB eth0:")
	w.address(128, rank)
	w.text("<0>")
	w.end()
}

func (w *writer) network(rank int) {
	w.say(rank, 300, "Initialized NET plugin IB")
	w.say(rank, 300, "Assigned NET plugin IB to comm")
	w.say(rank, 300, "Using network IB")
	w.info(rank, 300)
	w.text("DMA-BUF is available on GPU device ")
	w.number(rank % gpus)
	w.end()
	w.communicator(rank, w.ranks, "ncclCommInitRankConfig", "START")
	w.info(rank, 300)
	w.text("comm ")
	w.hex(commAt(rank, w.ranks))
	w.text(" rank ")
	w.number(rank)
	w.text(" nRanks ")
	w.number(w.ranks)
	w.text(" nNodes ")
	w.number((w.ranks + gpus - 1) / gpus)
	w.text(" localRanks ")
	w.number(min(gpus, w.ranks))
	w.text(" localRank ")
	w.number(rank % gpus)
	w.text(" MNNVL 0")
	w.end()
}

// commAt is where a communicator lies in the memory of a rank.
func commAt(rank, of int) uint64 { return 0x55d0_0000_0000 | uint64(of)<<20 | uint64(rank) }

// communicator is the first or the last line of making one.
func (w *writer) communicator(rank, of int, by, end string) {
	w.info(rank, 300)
	w.text(by)
	w.text(" comm ")
	w.hex(commAt(rank, of))
	w.text(" rank ")
	w.number(rank * of / w.ranks)
	w.text(" nranks ")
	w.number(of)
	w.text(" cudaDev ")
	w.number(rank % gpus)
	w.text(" nvmlDev ")
	w.number(rank % gpus)
	w.text(" busId ")
	w.number(18 + rank%gpus*11)
	w.text("000 commId ")
	w.hex(0x1f2e_3d4c_5b00 | uint64(of))
	w.text(" - Init ")
	w.text(end)
	w.end()
}

// channels is how many a communicator has: two on each rail.
const channels = 2 * gpus

func (w *writer) rings(rank int) {
	next, before := (rank+1)%w.ranks, (rank+w.ranks-1)%w.ranks
	for c := range channels {
		if rank/gpus != before/gpus {
			w.channel(rank, c, 0, before, rank, "[receive] via NET/IB/", c%gpus, "/GDRDMA")
		}
		switch {
		case rank/gpus != next/gpus:
			w.channel(rank, c, 0, rank, next, "[send] via NET/IB/", c%gpus, "/GDRDMA")
		default:
			w.channel(rank, c, 0, rank, next, "via P2P/CUMEM", -1, "")
		}
	}
	w.info(rank, 300)
	w.text("Trees")
	for c := range channels {
		w.text(" [")
		w.number(c)
		w.text("] ")
		w.number(next)
		w.text("/-1/-1->")
		w.number(rank)
		w.text("->")
		w.number(before)
	}
	w.end()
}

// channel is one line of src/transport/{net,p2p}.cc; device -1 is none.
func (w *writer) channel(rank, c, connection, from, to int, way string, device int, rest string) {
	w.info(rank, 301)
	w.text("Channel ")
	w.padded(c, 2, '0')
	w.text("/")
	w.number(connection)
	w.text(" : ")
	w.number(from)
	w.text("[")
	w.number(from % gpus)
	w.text("] -> ")
	w.number(to)
	w.text("[")
	w.number(to % gpus)
	w.text("] ")
	w.text(way)
	if device >= 0 {
		w.number(device)
	}
	w.text(rest)
	w.end()
}

func (w *writer) complete(rank int) {
	w.say(rank, 300, "Connected all rings, use ring PXN 0 GDR 1")
	w.say(rank, 300, "threadThresholds 8/8/64 | 32768/8/64 | 512 | 512")
	w.say(rank, 300, "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer")
	w.communicator(rank, w.ranks, "ncclCommInitRankConfig", "COMPLETE")
}

// communicators are the lines of a rank while the training runs: communicators of fewer ranks are made, and channels to
// more peers. A few lines of one rank come together.
func (w *writer) communicators(rank int) {
	for range 3 + w.random.IntN(10) {
		at := w.next[rank]
		w.next[rank]++
		of := max(2, w.ranks>>(1+at/40%5))
		peer := (rank + gpus<<(at/40%5)) % w.ranks // on another node, and on the same rail
		switch c := at % 40; {
		case c == 0:
			w.communicator(rank, of, "ncclCommSplit", "START")
		case c == 39:
			w.communicator(rank, of, "ncclCommSplit", "COMPLETE")
		case c%4 == 1:
			w.channel(rank, c%channels, 1, rank, rank/gpus*gpus+(rank+c)%gpus, "via P2P/CUMEM", -1, "")
		case c%4 == 2:
			w.channel(rank, c%channels, 1, peer, rank, "[receive] via NET/IB/", rank%gpus, "/GDRDMA/Shared")
		default:
			w.channel(rank, c%channels, 1, rank, peer, "[send] via NET/IB/", rank%gpus, "/GDRDMA/Shared")
		}
	}
}
