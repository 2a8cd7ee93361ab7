package bench

import (
	"fmt"
	"strings"
)

// Op is an operation of nccl-tests: the name of its program without "_perf".
type Op string

// The operations of nccl-tests.
const (
	AllReduce     Op = "all_reduce"
	AllGather     Op = "all_gather"
	ReduceScatter Op = "reduce_scatter"
	AllToAll      Op = "alltoall"
	Gather        Op = "gather"
	Scatter       Op = "scatter"
	Broadcast     Op = "broadcast"
	Reduce        Op = "reduce"
	SendRecv      Op = "sendrecv"
	Hypercube     Op = "hypercube"
)

// opOfProgram returns the operation of a program such as /opt/all_reduce_perf_mpi.
func opOfProgram(name string) Op {
	name = name[strings.LastIndexByte(name, '/')+1:]
	op, _, _ := strings.Cut(name, "_perf")
	return Op(op)
}

// BusFactor returns busbw/algbw for an operation over n ranks. It makes busbw comparable with the rate of a link for
// any n (nccl-tests doc/PERFORMANCE.md, "Bus Bandwidth").
func BusFactor(op Op, n int) (float64, error) {
	if n < 2 {
		return 0, fmt.Errorf("bus bandwidth of %s: %d ranks exchange nothing", op, n)
	}
	others := float64(n-1) / float64(n)
	switch op {
	case AllReduce:
		return 2 * others, nil
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return others, nil
	case Broadcast, Reduce, SendRecv, Hypercube:
		return 1, nil
	}
	return 0, fmt.Errorf("bus bandwidth of %q: no such operation of nccl-tests", op)
}

// Busbw converts algorithm bandwidth over n ranks to bus bandwidth.
func Busbw(op Op, n int, algbw GBps) (GBps, error) {
	factor, err := BusFactor(op, n)
	return algbw * GBps(factor), err
}
