package rules

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// bareMetal returns a node whose bridges between GPUs and HCAs have a value in the control register of ACS.
func bareMetal(t *testing.T, acs host.Fact[int]) *host.Snapshot {
	s := rulestest.Recorded(t, "host-baremetal-8x400")
	seen := map[host.PCIAddress]bool{}
	add := func(f host.Function) {
		for _, a := range f.Path.Value.Hops {
			if !seen[a] {
				seen[a] = true
				s.Bridges = append(s.Bridges, host.Function{Address: a, Config: host.PCIConfig{ACS: acs}})
			}
		}
	}
	for i := range s.Devices {
		f := s.Devices[i].Function.Value
		f.Config = host.PCIConfig{MaxPayload: host.Know(256), MaxReadRequest: host.Know(4096)}
		s.Devices[i].Function = host.Know(f)
		add(f)
	}
	for _, g := range s.GPUs {
		add(g.Function)
	}
	return &s
}

func TestAutopsies(t *testing.T) {
	iommu := func(kind host.Fact[string]) func(*host.Snapshot) {
		return func(s *host.Snapshot) {
			i := slices.IndexFunc(s.Devices, func(d host.Device) bool { return s.AccessTo(d.Name) == host.Openable })
			f := s.Devices[i].Function.Value
			f.IOMMUType = kind
			s.Devices[i].Function = host.Know(f)
		}
	}
	for name, tc := range map[string]struct {
		change  func(*host.Snapshot)
		node    *host.Snapshot
		first   check.ID
		fit     Fit
		verdict string
	}{
		"the IOMMU translates, the node was not asked": {
			change: iommu(host.Know("DMA-FQ")), first: nccl.IOMMUPassthrough, fit: Fits,
			verdict: "fits: iommu-passthrough; unknown: acs-redirect, vf-settings",
		},
		"ACS redirects, which only the node sees": {
			node: bareMetal(t, host.Know(0x1d)), first: machine.ACSRedirect, fit: Fits,
			verdict: "one cause fits: acs-redirect",
		},
		"ACS could not be read": {
			node: bareMetal(t, host.Unread[int]("256 bytes")), first: machine.ACSRedirect, fit: Unseen,
			verdict: "no known cause fits; unknown: acs-redirect",
		},
		"the group of one HCA was not read": {
			change: iommu(host.Fact[string]{}), first: nccl.IOMMUPassthrough, fit: Unseen,
			verdict: "no known cause fits; unknown: iommu-passthrough, acs-redirect, vf-settings",
		},
		"DMA-BUF works, but NCCL may not use it": {
			change: func(s *host.Snapshot) { s.Env["NCCL_DMABUF_ENABLE"] = "0" },
			first:  machine.PeermemRegistered, fit: Fits,
			verdict: "fits: peermem-registered; unknown: acs-redirect, vf-settings",
		},
		"a peer-memory module instead of DMA-BUF": {
			change: func(s *host.Snapshot) { s.GPUDirect.OpenModules = host.Know(false) },
			first:  machine.PeermemRegistered, fit: Fits,
			verdict: "fits: peermem-registered; unknown: acs-redirect, vf-settings",
		},
		"too little locked memory is no cause of it": {
			change: func(s *host.Snapshot) {
				s.Limits = host.Limits{MemlockSoft: host.Know[host.Limit](64 << 10), CapEff: host.Know(host.Caps(0))}
			},
			node: bareMetal(t, host.Know(0)), first: nccl.IOMMUPassthrough, fit: Excluded,
			verdict: "no known cause fits",
		},
		"nothing fits": {
			node: bareMetal(t, host.Know(0)), first: nccl.IOMMUPassthrough, fit: Excluded,
			verdict: "no known cause fits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rulestest.Recorded(t, "pod-roce-4vf")
			if tc.change != nil {
				tc.change(&s)
			}
			all := []Machine{{Ref: check.PodRef("train", "h-kim-1"), Node: "gpu-1", Snapshot: s}}
			if tc.node != nil {
				all = append(all, Machine{Ref: check.NodeRef("gpu-1"), Node: "gpu-1", Snapshot: *tc.node})
			}
			found := autopsies(JudgeAll(all))
			if len(found) != 1 {
				t.Fatalf("%d autopsies of one pod", len(found))
			}
			a := found[0]
			if len(a.Causes) != 5 || a.Causes[0].Check != tc.first || a.Causes[0].Fit != tc.fit {
				t.Errorf("want %s of %s first in %+v", tc.fit, tc.first, a.Causes)
			}
			if diff := cmp.Diff(tc.verdict, a.Verdict); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, c := range a.Causes {
				if c.Why == "" || c.Fit == Fits && c.Fix == nil {
					t.Errorf("without a reason or a fix: %+v", c)
				}
			}
		})
	}
}
