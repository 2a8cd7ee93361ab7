package main

import (
	"bufio"
	"io"
	"math/rand/v2"
)

// gpus is how many a node has, and how many NICs.
const gpus = 8

// job is what is written.
type job struct {
	ranks   int
	size    int64
	percent int // of NCCL
}

// writer writes the lines of a job and counts their bytes.
type writer struct {
	job
	out     *bufio.Writer
	line    []byte
	random  *rand.Rand
	written int64
	nccl    int64 // of them, those of NCCL
	step    int   // of the training
	next    []int // by rank: how far it is in the lines of its communicators
}

// write writes the whole log: start, training until the size is nearly reached, end.
func (j job) write(to io.Writer) error {
	end := &writer{job: j, out: bufio.NewWriter(io.Discard), random: rand.New(rand.NewPCG(1, 2))}
	end.failure()
	w := &writer{job: j, out: bufio.NewWriterSize(to, 1<<20), random: rand.New(rand.NewPCG(3, 4)),
		next: make([]int, j.ranks)}
	w.start()
	for w.written < j.size-end.written {
		if w.nccl*100 < w.written*int64(j.percent) {
			w.communicators(w.random.IntN(j.ranks))
		} else {
			w.training()
		}
	}
	w.random = rand.New(rand.NewPCG(1, 2)) // the end that was measured
	w.failure()
	return w.out.Flush()
}

// flush writes the line that was built.
func (w *writer) flush() {
	w.line = append(w.line, '\n')
	w.written += int64(len(w.line))
	_, _ = w.out.Write(w.line) // bufio keeps the error until Flush
	w.line = w.line[:0]
}

// text adds words to the line, number a number.
func (w *writer) text(words string) { w.line = append(w.line, words...) }

func (w *writer) number(n int) { w.padded(n, 0, ' ') }

// padded adds a number that fills a width.
func (w *writer) padded(n, width int, with byte) {
	var digits [20]byte
	at := len(digits)
	for {
		at--
		digits[at] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	for len(digits)-at < width {
		at--
		digits[at] = with
	}
	w.line = append(w.line, digits[at:]...)
}

// hex adds a number as pointers are written.
func (w *writer) hex(n uint64) {
	const digits = "0123456789abcdef"
	w.text("0x")
	for shift := 44; shift >= 0; shift -= 4 {
		w.line = append(w.line, digits[n>>shift&15])
	}
}

// host is the name of the node of a rank, and pid and thread are those of its process.
func (w *writer) host(rank int) {
	w.text("gpu-")
	w.padded(rank/gpus, 4, '0')
}

func pid(rank int) int { return 20000 + rank%gpus*37 + rank/gpus*3%5000 }

// address adds the node's address in a network: that of pods, or that of a rail.
func (w *writer) address(network, rank int) {
	node := rank / gpus
	w.text("10.")
	w.number(network)
	w.text(".")
	w.number(node / 250)
	w.text(".")
	w.number(1 + node%250)
}
