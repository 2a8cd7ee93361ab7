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

// Process is a command in a pod.
type Process struct {
	Pod  int
	Argv []string
	NUMA host.Fact[int] // node whose processors and memory to use
}

// Test is one measurement of a link: a server in the pod To, and a client in the pod From, which sends.
type Test struct {
	Link           Link
	Tool           Tool
	Server, Client Process
	Limit          time.Duration // after which either process is killed
}

// cudaSpare is the time that CUDA takes to start with eight GPUs.
const cudaSpare = 20 * time.Second

// Measure is a property of a link that can be measured.
type Measure string

// The measures of a link.
const (
	Write      Measure = "write"        // bandwidth, host memory
	WriteOfGPU Measure = "write-of-gpu" // bandwidth, GPU memory
	Latency    Measure = "latency"
	Reach      Measure = "reach" // whether it carries any data
	TCPOfPod   Measure = "tcp-of-pod"
	TCPOfRail  Measure = "tcp-of-rail"
)

// Test returns the measurement of a link. The server listens on the TCP port.
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

// perftest returns the arguments that depend on the end. -F silences its check of the CPU frequency governor.
func (f Fleet) perftest(tool Tool, m Measure, e End, port int) []string {
	r := f.at(e)
	words := []string{string(tool), "-d", r.Device, "-i", strconv.Itoa(r.Port), "-p", strconv.Itoa(port), "-F"}
	if r.GID >= 0 {
		words = append(words, "-x", strconv.Itoa(r.GID))
	}
	if m == WriteOfGPU {
		// perftest takes CUDA's numbers, by default the fastest GPU first (CUDA C Programming Guide,
		// CUDA_DEVICE_ORDER).
		words = append([]string{"env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, words...)
		words = append(words, "--use_cuda="+strconv.Itoa(r.GPU.Or(0)))
		if p := f.Pods[e.Pod]; p.NoPeermem && p.Tools.Has(PerftestDMABUF) {
			words = append(words, "--use_cuda_dmabuf")
		}
	}
	return words
}

// streams of a TCP measurement. One stream is limited by one processor.
const streams = 4

//go:embed tcp.py
var tcpScript string

// tcp measures TCP with iperf3, or with a Python script if one end has no iperf3.
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
	if f.missingTool(l.From.Pod, l.To.Pod, Iperf3) != "" {
		t.Tool = Python3
		t.Server.Argv = []string{"python3", "-c", tcpScript, "serve", strconv.Itoa(port)}
		t.Client.Argv = []string{
			"python3", "-c", tcpScript, "send", address, strconv.Itoa(port), f.seconds(), strconv.Itoa(streams),
		}
	}
	if m == TCPOfRail {
		t.Server.NUMA, t.Client.NUMA = f.at(l.To).NUMA, f.at(l.From).NUMA
	}
	return t
}

// Missing returns why two pods cannot be measured, "" if they can.
func (f Fleet) Missing(m Measure, from, to int) string {
	both := func(tools ...Tool) string { return f.missingTool(from, to, tools...) }
	if why := both(Timeout); why != "" {
		return why + ", which is needed to end every process"
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
			return both(Iperf3) + ", and not both pods have python3"
		}
	}
	return ""
}

// tool returns the command that measures a link, in short.
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
