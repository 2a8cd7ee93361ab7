package sysfs

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

const (
	nvidiaGPUs   = "proc/driver/nvidia/gpus"
	imexChannels = "dev/nvidia-caps-imex-channels" // NVIDIA IMEX guide, channels
)

// The vendors whose display-class functions are accelerators; the others (Matrox, ASPEED) are the board's console.
var gpuVendors = map[string]bool{"0x10de": true, "0x1002": true, "0x8086": true}

func readGPUs(in *input, s *host.Snapshot) {
	for _, name := range in.list(pciDevices) {
		a, err := host.ParsePCIAddress(name)
		switch {
		case err != nil:
		case isGPU(in.tree, name):
			s.GPUs = append(s.GPUs, describeGPU(in, a))
		case isDataDirect(in.tree, name):
			s.DataDirect = append(s.DataDirect, in.functions.read(a, functionPath(in.tree, name)))
		}
	}
	s.GPUDirect = gpuDirect(in.tree)
	if channels := in.list(imexChannels); len(channels) > 0 {
		s.IMEXChannels = host.Know(len(channels))
	}
}

// isGPU recognizes PCI functions of class 0x03 (display controller) and 0x1200 (processing accelerator, AMD Instinct).
func isGPU(t *tree, name string) bool {
	class := t.text(pciDevices + "/" + name + "/class").Value
	accelerator := strings.HasPrefix(class, "0x0302") || strings.HasPrefix(class, "0x1200")
	if !accelerator && !strings.HasPrefix(class, "0x03") {
		return false
	}
	vendor := t.text(pciDevices + "/" + name + "/vendor").Value
	return gpuVendors[vendor] && (vendor != "0x8086" || accelerator) // Intel's display functions belong to the CPU
}

// isDataDirect recognizes the Data Direct functions of ConnectX-8 (Linux drivers/infiniband/hw/mlx5/data_direct.c).
func isDataDirect(t *tree, name string) bool {
	return t.text(pciDevices+"/"+name+"/vendor").Value == "0x15b3" &&
		t.text(pciDevices+"/"+name+"/device").Value == "0x2100"
}

func describeGPU(in *input, a host.PCIAddress) host.GPU {
	t := in.tree
	g := host.GPU{Function: in.functions.read(a, functionPath(t, a.String()))}
	for line := range strings.Lines(t.file(nvidiaGPUs + "/" + a.String() + "/information").Value) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Model":
			g.Model = host.Know(value)
		case "GPU UUID":
			g.UUID = host.Know(value)
		case "Device Minor":
			g.Minor = host.Convert(host.Know(value), parseInt)
		}
	}
	// A node whose driver is in a container has the device nodes there, and none in its own /dev.
	if minor, ok := g.Minor.Get(); ok && t.exists("dev") && in.probes.OpenDevice != nil {
		g.Given = host.Know(t.exists("dev/nvidia" + strconv.Itoa(minor)))
	}
	return g
}

// peermemFiles are the files by whose existence NCCL finds a peer-memory module
// (NCCL src/misc/gdrwrap.cc and src/transport/net_ib: 2.18 to 2.30).
var peermemFiles = []string{
	"sys/kernel/mm/memory_peers/nv_mem/version",
	"sys/kernel/mm/memory_peers/nv_mem_nc/version",
	"sys/kernel/mm/memory_peers/nvidia-peermem/version",
	"sys/module/nvidia_peermem/version",
}

func gpuDirect(t *tree) host.GPUDirect {
	var g host.GPUDirect
	for _, name := range peermemFiles {
		if _, err := fs.Stat(t.root, name); err == nil {
			g.Peermem = append(g.Peermem, "/"+name)
		}
	}
	g.PeerClients = t.list("sys/kernel/mm/memory_peers") // modules that registered with MOFED's ib_core
	if version := t.file("proc/driver/nvidia/version"); version.IsKnown() {
		first, _, _ := strings.Cut(version.Value, "\n")
		g.OpenModules = host.Know(strings.Contains(first, "Open Kernel Module"))
		g.DriverVersion = driverVersion(first)
	}
	return g
}

// driverVersion finds "570.124.06" in the NVRM line.
func driverVersion(line string) host.Fact[string] {
	for word := range strings.FieldsSeq(line) {
		if major, rest, ok := strings.Cut(word, "."); ok && isDigits(major) && strings.Trim(rest, "0123456789.") == "" {
			return host.Know(word)
		}
	}
	return host.Fact[string]{}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
