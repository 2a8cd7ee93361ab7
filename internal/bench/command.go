package bench

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/host"
)

// Process is one program that measures, as it is started in a pod.
type Process struct {
	Pod  int
	Argv []string
	NUMA host.Fact[int] // the node whose processors and memory it should use
}

// Test is one measurement of a link: a server at its end, and a client at its beginning, which sends.
type Test struct {
	Link           Link
	Tool           Tool
	Server, Client Process
	Limit          time.Duration // after which either process is killed
}

// cudaSpare is what CUDA takes beside, with eight GPUs.
const cudaSpare = 20 * time.Second

// Measure is what of a link is measured, and with what.
type Measure string

// The measures.
const (
	Write      Measure = "write"        // bandwidth, host memory
	WriteOfGPU Measure = "write-of-gpu" // bandwidth, GPU memory
	Latency    Measure = "latency"
	Reach      Measure = "reach" // whether anything comes through
	TCPOfPod   Measure = "tcp-of-pod"
	TCPOfRail  Measure = "tcp-of-rail"
)

// Test is the measurement of a link, over the TCP port that its server listens on.
func (f Fleet) Test(m Measure, l Link, port int) Test {
	switch m {
	case TCPOfPod, TCPOfRail:
		return f.tcp(m, l, port)
	case Write, WriteOfGPU, Latency, Reach:
	}
	t := Test{Link: l, Tool: IBWriteBW, Limit: f.Duration + f.Spare}
	arguments := []string{"--report_gbits", "-s", strconv.Itoa(f.Size), "-q", strconv.Itoa(f.QPs), "-D", f.seconds()}
	switch m {
	case WriteOfGPU:
		t.Limit += cudaSpare
	case Latency:
		const iterations = "1000"
		t.Tool, arguments = IBWriteLat, []string{"-n", iterations}
	case Reach:
		const iterations = "20"
		t.Limit, arguments = f.Spare, []string{"--report_gbits", "-s", "4096", "-n", iterations}
	case Write, TCPOfPod, TCPOfRail:
	}
	server := f.Pods[l.To.Pod].IP
	if strings.Contains(server, ":") {
		arguments = append(arguments, "--ipv6-addr") // of the exchange of parameters, by TCP
	}
	words := func(e End, more ...string) []string {
		return slices.Concat(f.perftest(t.Tool, m, e, port), arguments, more)
	}
	t.Server = Process{l.To.Pod, words(l.To), f.at(l.To).NUMA}
	t.Client = Process{l.From.Pod, words(l.From, server), f.at(l.From).NUMA}
	return t
}

func (f Fleet) seconds() string { return strconv.Itoa(max(1, int(f.Duration/time.Second))) }

// perftest are the words that depend on the end. -F: the governor of the processors is not its matter.
func (f Fleet) perftest(tool Tool, m Measure, e End, port int) []string {
	r := f.at(e)
	words := []string{string(tool), "-d", r.Device, "-i", strconv.Itoa(r.Port), "-p", strconv.Itoa(port), "-F"}
	if r.GID >= 0 {
		words = append(words, "-x", strconv.Itoa(r.GID))
	}
	if m == WriteOfGPU {
		// CUDA's own order is the fastest first; perftest takes CUDA's numbers (CUDA C Programming Guide, CUDA_DEVICE_ORDER).
		words = append([]string{"env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, append(words, "--use_cuda="+strconv.Itoa(r.GPU.Or(0)))...)
		if p := f.Pods[e.Pod]; p.NoPeermem && p.Tools.Has(PerftestDMABUF) {
			words = append(words, "--use_cuda_dmabuf")
		}
	}
	return words
}

// streams of a TCP measurement: one of them is bound to one processor.
const streams = 4

//go:embed tcp.py
var tcpScript string

// tcp measures TCP by iperf3, or by a script where both ends have no more than Python.
func (f Fleet) tcp(m Measure, l Link, port int) Test {
	address := f.Pods[l.To.Pod].IP
	if m == TCPOfRail {
		address = f.at(l.To).Address
	}
	t := Test{Link: l, Tool: Iperf3, Limit: f.Duration + f.Spare}
	t.Server = Process{Pod: l.To.Pod, Argv: []string{"iperf3", "-s", "-1", "-p", strconv.Itoa(port)}}
	t.Client = Process{Pod: l.From.Pod, Argv: []string{
		"iperf3", "-c", address, "-p", strconv.Itoa(port), "-t", f.seconds(), "-P", strconv.Itoa(streams), "-J",
	}}
	if ok, _ := f.Both(l.From.Pod, l.To.Pod, Iperf3); !ok {
		t.Tool = Python3
		t.Server.Argv = []string{"python3", "-c", tcpScript, "serve", strconv.Itoa(port)}
		t.Client.Argv = []string{"python3", "-c", tcpScript, "send", address, strconv.Itoa(port), f.seconds(), strconv.Itoa(streams)}
	}
	if m == TCPOfRail {
		t.Server.NUMA, t.Client.NUMA = f.at(l.To).NUMA, f.at(l.From).NUMA
	}
	return t
}

// Lacks says why a measure cannot be taken between two pods; "" when it can.
func (f Fleet) Lacks(m Measure, from, to int) string {
	both := func(tools ...Tool) string {
		for _, tool := range tools {
			if ok, why := f.Both(from, to, tool); !ok {
				return why
			}
		}
		return ""
	}
	if why := both(Timeout); why != "" {
		return why + ", without which a process could be left behind"
	}
	switch m {
	case Write, Reach:
		return both(IBWriteBW)
	case WriteOfGPU:
		return both(IBWriteBW, PerftestCUDA)
	case Latency:
		return both(IBWriteLat)
	case TCPOfPod, TCPOfRail:
		if both(Iperf3) != "" && both(Python3) != "" {
			return both(Iperf3) + ", and not both have python3"
		}
	}
	return ""
}

// tool is what a link is measured with, as people would type it.
func (f Fleet) tool(m Measure, l Link) string {
	t := f.Test(m, l, 1)
	switch t.Tool {
	case Iperf3, Python3:
		return fmt.Sprintf("%s, %d streams", t.Tool, streams)
	case IBWriteBW:
		return fmt.Sprintf("%s -s %d -q %d", t.Tool, f.Size, f.QPs)
	case IBWriteLat, PerftestCUDA, PerftestDMABUF, Torchrun, AllReducePerf, Mpirun, Timeout, Taskset:
	}
	return string(t.Tool)
}
