package bench

import (
	"slices"
	"strings"
)

// Tool is a program in the image of a pod that is used to measure.
type Tool string

// The tools that ProbeScript looks for.
const (
	IBWriteBW      Tool = "ib_write_bw"     // perftest
	IBWriteLat     Tool = "ib_write_lat"    // perftest
	PerftestCUDA   Tool = "perftest-cuda"   // perftest built with CUDA: --use_cuda
	PerftestDMABUF Tool = "perftest-dmabuf" // perftest that supports GPU memory by DMA-BUF: --use_cuda_dmabuf
	Iperf3         Tool = "iperf3"          //
	Python3        Tool = "python3"         //
	Torchrun       Tool = "torchrun"        // PyTorch
	AllReducePerf  Tool = "all_reduce_perf" // nccl-tests built with MPI
	Mpirun         Tool = "mpirun"          // Open MPI
	Timeout        Tool = "timeout"         // coreutils or busybox: without it nothing is started
	Taskset        Tool = "taskset"         // util-linux
)

// Tools are the tools in an image.
type Tools []Tool

// Has reports whether the image has a tool.
func (t Tools) Has(tool Tool) bool { return slices.Contains(t, tool) }

// ProbeScript writes the available tools, one a line. It runs in dash, bash and busybox.
const ProbeScript = `
for tool in ib_write_bw ib_write_lat iperf3 python3 torchrun timeout taskset; do
	command -v "$tool" > /dev/null 2>&1 && echo "$tool"
done
case $(mpirun --version 2>&1) in *"Open MPI"* | *OpenRTE*) echo mpirun ;; esac
tests=$(command -v all_reduce_perf_mpi || command -v all_reduce_perf)
case $tests:$(ldd "$tests" 2>/dev/null) in /*_mpi:* | /*libmpi*) echo all_reduce_perf ;; esac
help=$(ib_write_bw --help 2>&1)
case $help in *--use_cuda=*) echo perftest-cuda ;; esac
case $help in *--use_cuda_dmabuf*) echo perftest-dmabuf ;; esac
exit 0
`

// ParseTools reads the output of ProbeScript.
func ParseTools(text string) Tools {
	var all Tools
	known := Tools{
		IBWriteBW, IBWriteLat, PerftestCUDA, PerftestDMABUF, Iperf3, Python3, Torchrun, AllReducePerf, Mpirun,
		Timeout, Taskset,
	}
	for line := range strings.Lines(text) {
		if t := Tool(strings.TrimSpace(line)); known.Has(t) && !all.Has(t) {
			all = append(all, t)
		}
	}
	return all
}

// missingTool names the first of the tools that one of two pods does not have, "" if both have all.
func (f Fleet) missingTool(a, b int, tools ...Tool) string {
	for _, tool := range tools {
		for _, p := range []int{a, b} {
			if !f.Pods[p].Tools.Has(tool) {
				return "the image of " + f.Pods[p].Name + " has no " + tool.withPackage()
			}
		}
	}
	return ""
}

// withPackage names a tool with the package that it is part of.
func (t Tool) withPackage() string {
	switch t {
	case IBWriteBW, IBWriteLat:
		return string(t) + " (perftest)"
	case PerftestCUDA:
		return "perftest built with CUDA"
	case Torchrun:
		return "torchrun (PyTorch)"
	case AllReducePerf:
		return "all_reduce_perf (nccl-tests with MPI)"
	case Mpirun:
		return "mpirun (Open MPI)"
	case PerftestDMABUF, Iperf3, Python3, Timeout, Taskset:
	}
	return string(t)
}
