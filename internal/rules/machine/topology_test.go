package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/nccl"
)

const (
	virtualMachine = "vm-topology-file"
	ofMachine      = "opt/microsoft/ndv5-topo.xml"
)

// topologyWith returns a topology file of the machine: each GPU below one switch with its NIC, or on a CPU of its own.
func topologyWith(together bool) string {
	var b strings.Builder
	b.WriteString(`<system version="1">`)
	for i := 1; i <= 8; i++ {
		gpu := fmt.Sprintf(`<pci busid="%04x:00:00.0" class="0x030200"/>`, i)
		nic := fmt.Sprintf(`<pci busid="%04x:00:00.0" class="0x020700"/>`, 0x100+i)
		if together {
			fmt.Fprintf(&b, `<cpu numaid="%d"><pci busid="ffff:ff:%02x.0" class="0x060400">%s%s</pci></cpu>`, i/5, i, gpu, nic)
		} else {
			fmt.Fprintf(&b, `<cpu numaid="0">%s</cpu><cpu numaid="1">%s</cpu>`, gpu, nic)
		}
	}
	return b.String() + "</system>"
}

// The distance of GPUs and NICs is the one of NCCL's topology file.
func TestTopologyFile(t *testing.T) {
	file := func(content string) hosttest.Edit { return hosttest.Edit{Files: map[string]string{ofMachine: content}} }
	unset := hosttest.Env("NCCL_TOPO_FILE", nil)
	for name, test := range map[string]struct {
		edit   hosttest.Edit
		change func(*host.Snapshot)
		want   check.ID // of the first finding; empty: none
		says   string
		never  string
	}{
		"missing in the container": {
			want: nccl.TopologyFile, says: "is not in the container", never: "--gdr-level",
		},
		"not readable": {edit: file("! EACCES"), want: nccl.TopologyFile, says: "cannot be read: "},
		"refused by NCCL": {
			edit: file(`<?xml version="1.0"?><system version="1"/>`), want: nccl.TopologyFile,
			says: "its initialization fails: XML Parse : expected >, got '?'",
		},
		"no topology":                            {edit: file("<html></html>"), want: nccl.TopologyFile, says: "has no <system>"},
		"each GPU below one switch with its NIC": {edit: file(topologyWith(true))},
		"all GPUs on another CPU than the NICs": {
			edit: file(topologyWith(false)), want: nccl.GPUDirectDistance, says: "SYS away",
		},
		"no variable": {
			edit: unset, want: nccl.GPUDirectDistance, says: "hides which GPUs and NICs share a PCIe switch",
		},
		"no variable, and GPUs of Grace": {edit: unset, change: grace("2.27.5")},
		"GPUs of Grace, and a library that does not use C2C": {
			edit: unset, want: nccl.GPUDirectDistance, says: "NODE",
			change: grace("2.21.5"),
		},
		"GB10, which has no GPUDirect RDMA": {
			edit: unset,
			change: func(s *host.Snapshot) {
				models("NVIDIA GB10")(s)
				s.GPUDirect = host.GPUDirect{}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := hosttest.Edited(t, virtualMachine, test.edit)
			if test.change != nil {
				test.change(&s)
			}
			found := Pod(s, Options{}).AtLeast(check.Unknown)
			if test.want == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) == 0 || found[0].Check != test.want {
				t.Fatalf("found %+v, want %s", found, test.want)
			}
			text := found[0].Summary + found[0].Fix.Text + strings.Join(found[0].Fix.Commands, " ")
			if !strings.Contains(text, test.says) || test.never != "" && strings.Contains(text, test.never) {
				t.Errorf("%s\nwant %q and not %q", text, test.says, test.never)
			}
		})
	}
}

// grace gives all GPUs a CPU that they reach over C2C, and the image a version of NCCL.
func grace(version string) func(*host.Snapshot) {
	return func(s *host.Snapshot) {
		models("NVIDIA GH200 480GB")(s)
		s.NCCL.Libraries = []host.NCCLLibrary{{Path: "/usr/lib/libnccl.so." + version, Version: version}}
	}
}

// models gives all GPUs a model.
func models(name string) func(*host.Snapshot) {
	return func(s *host.Snapshot) {
		for i := range s.GPUs {
			s.GPUs[i].Model = host.Know(name)
		}
	}
}
