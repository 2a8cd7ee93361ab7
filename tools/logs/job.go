package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
)

// gpus is the number of GPUs, and of NICs, of a node.
const gpus = 8

// job describes the log to write.
type job struct {
	ranks   int
	size    int64
	percent int // of NCCL
	lost    int // connections of every rank, at the end
}

// writer writes the lines of a job and counts their bytes.
type writer struct {
	job
	out     *bufio.Writer
	line    []byte
	random  *rand.Rand
	written int64
	nccl    int64 // bytes of NCCL
	step    int   // of the training
	next    []int // by rank: the next line about its communicators
}

// write writes the whole log: the start, training until the size is nearly reached, and the failure.
func (j job) write(to io.Writer) error {
	end := &writer{job: j, out: bufio.NewWriter(io.Discard)}
	end.failure()
	w := &writer{
		job:    j,
		out:    bufio.NewWriterSize(to, 1<<20),
		random: rand.New(rand.NewPCG(3, 4)),
		next:   make([]int, j.ranks),
	}
	w.start()
	for w.written < j.size-end.written {
		if w.nccl*100 < w.written*int64(j.percent) {
			w.communicators(w.random.IntN(j.ranks))
		} else {
			w.training()
		}
	}
	w.failure()
	return w.out.Flush()
}

// print writes a line that is not NCCL's.
func (w *writer) print(format string, args ...any) {
	w.line = append(fmt.Appendf(w.line, format, args...), '\n')
	w.written += int64(len(w.line))
	_, _ = w.out.Write(w.line) // bufio keeps the error until Flush
	w.line = w.line[:0]
}

// info writes a line of NCCL of level INFO. Thread 0 is the one that initializes.
func (w *writer) info(rank, thread int, format string, args ...any) {
	w.prefix(rank, thread)
	w.line = append(w.line, "NCCL INFO "...)
	w.nccls(format, args...)
}

// warn writes a warning as 2.26 to 2.29 do: after an empty line, and with the time.
func (w *writer) warn(rank int, at, where, format string, args ...any) {
	w.print("")
	w.line = fmt.Appendf(w.line, "[2025-11-21 %s] ", at)
	w.prefix(rank, 302)
	w.line = append(append(w.line, where...), " NCCL WARN "...)
	w.nccls(format, args...)
}

// prefix begins a line of NCCL (src/debug.cc).
func (w *writer) prefix(rank, thread int) {
	pid := 20000 + rank%gpus*37 + rank/gpus*3%5000
	w.line = fmt.Appendf(w.line, "gpu-%04d:%d:%d [%d] ", rank/gpus, pid, pid+thread, rank%gpus)
}

// nccls ends a line of NCCL.
func (w *writer) nccls(format string, args ...any) {
	before := w.written
	w.print(format, args...)
	w.nccl += w.written - before
}

// address returns the address of a node: in the network of the pods, or of a rail.
func address(network, rank int) string {
	node := rank / gpus
	return fmt.Sprintf("10.%d.%d.%d", network, node/250, 1+node%250)
}
