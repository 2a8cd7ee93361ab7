package main

import "fmt"

// start writes the lines about the first communicator. Ranks take turns, as processes do that start together.
func (w *writer) start() {
	w.print("W1120 23:55:12.104000 1 torch/distributed/run.py:792] *****************************************")
	const together = 64 // ranks in the same phase
	for first := 0; first < w.ranks; first += together {
		for _, phase := range []func(*writer, int){
			(*writer).environment, (*writer).devices, (*writer).network, (*writer).rings, (*writer).complete,
		} {
			for rank := first; rank < min(first+together, w.ranks); rank++ {
				phase(w, rank)
			}
		}
	}
}

func (w *writer) environment(rank int) {
	w.info(rank, 0, "Bootstrap: Using eth0:%s<0>", address(128, rank))
	w.info(rank, 0, "cudaDriverVersion 12080")
	if rank == 0 {
		w.info(rank, 0, "NCCL version 2.27.7+cuda12.8")
	}
	for _, v := range []string{
		"NCCL_SOCKET_IFNAME set by environment to =eth0",
		"NCCL_IB_HCA set to =mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1",
		"NCCL_IB_TIMEOUT set by environment to 22.",
		"NCCL_IB_TC set by environment to 106.",
		"NCCL_NET_GDR_LEVEL set by environment to PHB",
	} {
		w.info(rank, 0, "%s", v)
	}
	w.info(rank, 300, "NET/Plugin: Could not find: libnccl-net.so. ")
}

func (w *writer) devices(rank int) {
	list := ""
	for d := range gpus {
		w.info(rank, 300, "NET/IB: [%d] mlx5_%d:uverbs%d:1/RoCE provider=Mlx5 speed=400000 context=%s "+
			"pciPath=/sys/devices/pci0000:1%d/0000:1%d:01.0 ar=0", d, d, d, pointer(w.random.Uint64()), d, d)
		list += fmt.Sprintf(" [%d]mlx5_%d:1/RoCE", d, d)
	}
	w.info(rank, 300, "NET/IB : Using%s [RO]; OOB eth0:%s<0>", list, address(128, rank))
}

func pointer(n uint64) string { return fmt.Sprintf("0x%012x", n&(1<<48-1)) }

func (w *writer) network(rank int) {
	w.info(rank, 300, "Initialized NET plugin IB")
	w.info(rank, 300, "Assigned NET plugin IB to comm")
	w.info(rank, 300, "Using network IB")
	w.info(rank, 300, "DMA-BUF is available on GPU device %d", rank%gpus)
	w.communicator(rank, w.ranks, "ncclCommInitRankConfig", "START")
	w.info(rank, 300, "comm %s rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0",
		commAt(rank, w.ranks), rank, w.ranks, (w.ranks+gpus-1)/gpus, min(gpus, w.ranks), rank%gpus)
}

// commAt returns the address of a communicator in the memory of a rank.
func commAt(rank, size int) string {
	return pointer(0x55d0_0000_0000 | uint64(size)<<20 | uint64(rank))
}

// communicator writes the first or the last line of making a communicator.
func (w *writer) communicator(rank, size int, by, end string) {
	w.info(rank, 300, "%s comm %s rank %d nranks %d cudaDev %d nvmlDev %d busId %d000 commId %s - Init %s",
		by, commAt(rank, size), rank*size/w.ranks, size, rank%gpus, rank%gpus, 18+rank%gpus*11,
		pointer(0x1f2e_3d4c_5b00|uint64(size)), end)
}

// channels is the number of channels of a communicator: two on each rail.
const channels = 2 * gpus

func (w *writer) rings(rank int) {
	next, before := (rank+1)%w.ranks, (rank+w.ranks-1)%w.ranks
	trees := ""
	for c := range channels {
		net := fmt.Sprintf("via NET/IB/%d/GDRDMA", c%gpus)
		if rank/gpus != before/gpus {
			w.channel(rank, c, 0, before, rank, "[receive] "+net)
		}
		if rank/gpus != next/gpus {
			w.channel(rank, c, 0, rank, next, "[send] "+net)
		} else {
			w.channel(rank, c, 0, rank, next, "via P2P/CUMEM")
		}
		trees += fmt.Sprintf(" [%d] %d/-1/-1->%d->%d", c, next, rank, before)
	}
	w.info(rank, 300, "Trees%s", trees)
}

// channel writes a line of src/transport/{net,p2p}.cc.
func (w *writer) channel(rank, c, connection, from, to int, way string) {
	w.info(rank, 301, "Channel %02d/%d : %d[%d] -> %d[%d] %s", c, connection, from, from%gpus, to, to%gpus, way)
}

func (w *writer) complete(rank int) {
	w.info(rank, 300, "Connected all rings, use ring PXN 0 GDR 1")
	w.info(rank, 300, "threadThresholds 8/8/64 | 32768/8/64 | 512 | 512")
	w.info(rank, 300, "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, "+
		"2 p2p channels per peer")
	w.communicator(rank, w.ranks, "ncclCommInitRankConfig", "COMPLETE")
}

// communicators writes a few lines of a rank while the training runs: it makes smaller communicators, and channels to
// more peers.
func (w *writer) communicators(rank int) {
	for range 3 + w.random.IntN(10) {
		at := w.next[rank]
		w.next[rank]++
		size := max(2, w.ranks>>(1+at/40%5))
		peer := (rank + gpus<<(at/40%5)) % w.ranks // on another node, on the same rail
		net := fmt.Sprintf("via NET/IB/%d/GDRDMA/Shared", rank%gpus)
		switch c := at % 40; {
		case c == 0:
			w.communicator(rank, size, "ncclCommSplit", "START")
		case c == 39:
			w.communicator(rank, size, "ncclCommSplit", "COMPLETE")
		case c%4 == 1:
			w.channel(rank, c%channels, 1, rank, rank/gpus*gpus+(rank+c)%gpus, "via P2P/CUMEM")
		case c%4 == 2:
			w.channel(rank, c%channels, 1, peer, rank, "[receive] "+net)
		default:
			w.channel(rank, c%channels, 1, rank, peer, "[send] "+net)
		}
	}
}
