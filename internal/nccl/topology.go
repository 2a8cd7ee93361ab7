package nccl

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

const topoFile = "NCCL_TOPO_FILE"

// topologyFile reports a topology file that NCCL refuses: its initialization fails. From one that it cannot open, or
// that has no system, it takes nothing: it takes the paths from /sys (src/graph/xml.cc ncclTopoGetXmlFromFile).
func topologyFile(c *computation) {
	t := c.s.Topology
	if t == nil || t.Functions.IsKnown() {
		return
	}
	if t.Refused != "" {
		c.say(check.Finding{
			Check: TopologyFile, Status: check.Fail, Subject: check.EnvRef(topoFile),
			Summary: "NCCL refuses the topology file " + t.Path + ", and its initialization fails: " + t.Refused,
			Evidence: []check.Evidence{
				{Source: t.Origin, Got: topoFile + "=" + t.Path}, {Source: t.Path, Got: t.Refused},
			},
			Fix: check.ByUser("NCCL reads less than XML: write the file without a declaration (<?xml ...?>), text, "+
				"tabs and line breaks inside a tag, with version=\"1\" in <system> and a numaid in each <cpu>; "+
				"or leave the variable unset.", "unset "+topoFile),
		})
		return
	}
	why, fix := "cannot be read: "+t.Functions.Why, "Make it readable for the user of the container, or correct it."
	if !t.Functions.IsUnreadable() {
		why, fix = "is not in the container", "Put it into the image, or mount it from the node."
	}
	c.say(check.Finding{
		Check: TopologyFile, Status: check.Warn, Subject: check.EnvRef(topoFile),
		Summary: "the topology file " + t.Path + " " + why + ": NCCL takes the paths between GPUs and NICs from " +
			"/sys, which hides them in a virtual machine",
		Evidence: []check.Evidence{
			{Source: t.Origin, Got: topoFile + "=" + t.Path},
			{Source: t.Path, Got: t.Functions.String(), Want: "<system> with the PCI functions of the machine"},
		},
		Fix: check.ByUser(fix+" Without a file for this type of machine, leave the variable unset.",
			"ls -l "+t.Path, "unset "+topoFile),
	})
}

// hidesPaths reports whether the machine shows no port above its GPUs and rails, as virtual machines do that give each
// function a host bridge of its own, or ports of the hypervisor alone.
func hidesPaths(s *host.Snapshot, rails []rail.Rail) bool {
	emulated := slices.ContainsFunc(s.Bridges, func(b host.Function) bool {
		return slices.Contains([]string{"0x1b36", "0x15ad", "0x1414"}, b.Vendor.Value) // QEMU, VMware, Hyper-V
	})
	if emulated {
		return true
	}
	flat := func(f host.Function) bool { path, known := f.Path.Get(); return known && len(path.Hops) == 1 }
	below := func(r rail.Rail) bool { return !flat(r.Function.Value) }
	return !slices.ContainsFunc(rail.GPUs(*s), func(g host.GPU) bool { return !flat(g.Function) }) &&
		!slices.ContainsFunc(rails, below)
}

// namePaths returns how to tell NCCL the paths that a virtual machine hides.
func namePaths(level string) *check.Fix {
	return check.ByUser("The virtual machine hides which GPUs and NICs share a PCIe switch. First give NCCL the "+
		"topology file of this type of machine, which its provider publishes (Azure: /opt/microsoft/ndv5-topo.xml for "+
		"ND H100 v5). Only without one, measure whether a higher level is faster.",
		"export "+topoFile+"=FILE", "railhead-pod run --gdr-level "+level+" -- ...")
}

// modelIs reports whether the name of a GPU has one of the words: "NVIDIA GH200 480GB".
func modelIs(g host.GPU, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(g.Model.Value, w) })
}

// withoutGPUDirect reports whether the GPUs have no GPUDirect RDMA at all: the memory of GB10 (DGX Spark) is that of
// the CPU, and NICs reach it without (NVIDIA DGX Spark porting guide).
func withoutGPUDirect(gpus []host.GPU) bool {
	return len(gpus) > 0 && !slices.ContainsFunc(gpus, func(g host.GPU) bool { return !modelIs(g, "GB10") })
}

// byC2C reports whether NCCL reaches a NIC of the GPU's own CPU over C2C: on Grace, by default since 2.27 (src/graph
// paths.cc; NCCL_NET_GDR_C2C). A level that the user sets is kept.
func byC2C(c *computation, g host.GPU) bool {
	_, _, level := c.s.UserSetting("NCCL_NET_GDR_LEVEL")
	if !modelIs(g, "GH200", "GB200", "GB300") || level || c.policy.GDRLevel != "" {
		return false
	}
	value, _, set := c.s.UserSetting("NCCL_NET_GDR_C2C")
	if n, ok := number(value); set && ok {
		return n != 0
	}
	older := func(v version) bool { return v.before(version{2, 27, 0}) }
	return !slices.ContainsFunc(c.versions, older)
}
