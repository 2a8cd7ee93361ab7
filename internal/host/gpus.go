package host

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const nvidiaGPUs = "proc/driver/nvidia/gpus"

// The vendors whose display-class functions are accelerators; the others (Matrox, ASPEED) are the board's console.
var gpuVendors = map[string]bool{"0x10de": true, "0x1002": true, "0x8086": true}

// gpus reads the GPUs. For a launch those of the NVIDIA driver suffice; else every PCI function of class 0x03
// (display controller) or 0x1200 (processing accelerator, AMD Instinct) counts.
func (r *reader) gpus() []GPU {
	driver := r.list(nvidiaGPUs)
	if r.brief && len(driver) > 0 {
		gpus := make([]GPU, 0, len(driver))
		for _, name := range driver {
			if a, err := ParsePCIAddress(strings.ToLower(name)); err == nil {
				gpus = append(gpus, r.gpu(a))
			}
		}
		return gpus
	}
	var gpus []GPU
	for _, name := range r.list(pciDevices) {
		a, err := ParsePCIAddress(name)
		if err != nil {
			continue
		}
		class := r.text(path.Join(pciDevices, name, "class")).Value
		accelerator := strings.HasPrefix(class, "0x0302") || strings.HasPrefix(class, "0x1200")
		display := strings.HasPrefix(class, "0x03") && !strings.HasPrefix(class, "0x0302")
		if !accelerator && !display {
			continue
		}
		vendor := r.text(path.Join(pciDevices, name, "vendor")).Value
		if gpuVendors[vendor] && (vendor != "0x8086" || accelerator) { // Intel's display functions are the CPU's own
			gpus = append(gpus, r.gpu(a))
		}
	}
	return gpus
}

func (r *reader) gpu(a PCIAddress) GPU {
	g := GPU{Function: r.function(a, r.functionPath(a.String()))}
	for line := range strings.Lines(r.file(path.Join(nvidiaGPUs, a.String(), "information")).Value) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Model":
			g.Model = Know(value)
		case "GPU UUID":
			g.UUID = Know(value)
		case "Device Minor":
			g.Minor = convert(Know(value), parseInt)
		}
	}
	if minor, ok := g.Minor.Get(); ok && r.exists("dev") {
		g.Given = Know(r.exists("dev/nvidia" + strconv.Itoa(minor)))
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

func (r *reader) gpuDirect() GPUDirect {
	var g GPUDirect
	for _, name := range peermemFiles {
		if _, err := fs.Stat(r.root, name); err == nil {
			g.Peermem = append(g.Peermem, "/"+name)
		}
	}
	g.PeerClients = r.peerClients()
	if version := r.file("proc/driver/nvidia/version"); version.IsKnown() {
		first, _, _ := strings.Cut(version.Value, "\n")
		g.OpenModules = Know(strings.Contains(first, "Open Kernel Module"))
		g.DriverVersion = driverVersion(first)
	}
	return g
}

// driverVersion finds "570.124.06" in the NVRM line.
func driverVersion(line string) Fact[string] {
	for word := range strings.FieldsSeq(line) {
		if major, rest, ok := strings.Cut(word, "."); ok && isDigits(major) && strings.Trim(rest, "0123456789.") == "" {
			return Know(word)
		}
	}
	return Fact[string]{}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
