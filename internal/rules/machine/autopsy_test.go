package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
)

func TestLocalProtection(t *testing.T) {
	translates := func(s *host.Snapshot) {
		setFunction(device(s), func(f *host.Function) { f.IOMMUType = host.Know("DMA-FQ") })
	}
	node := read(t, bareMetal)
	config(&node, 4096)
	paths, _ := (&subject{Snapshot: node}).gpuPaths()
	for _, a := range paths {
		node.Bridges = append(node.Bridges, host.Function{Address: a, Config: host.PCIConfig{ACS: host.Know(0)}})
	}
	changed := func(acs host.Fact[int]) *host.Snapshot {
		s := node
		s.Bridges = append([]host.Function{}, node.Bridges...)
		s.Bridges[0].Config.ACS = acs
		return &s
	}
	closed := func(s *host.Snapshot) { s.GPUDirect.OpenModules = host.Know(false) }
	for name, tc := range map[string]struct {
		change  func(*host.Snapshot)
		node    *host.Snapshot
		first   check.ID
		fit     Fit
		verdict string
	}{
		"the IOMMU translates, the node was not asked": {
			translates, nil, nccl.IOMMUPassthrough, Fits,
			"fits: iommu-passthrough; unknown: acs-redirect, vf-settings",
		},
		"ACS redirects, which only the node sees": {
			nil, changed(host.Know(0x1d)), ACSRedirect, Fits, "fits: acs-redirect; unknown: vf-settings",
		},
		"ACS of one bridge could not be read": {
			nil, changed(host.Unread[int]("256 bytes")), ACSRedirect, Unseen,
			"no known cause fits; unknown: acs-redirect, vf-settings",
		},
		"the group of one HCA was not read": {
			func(s *host.Snapshot) {
				setFunction(device(s), func(f *host.Function) { f.IOMMUType = host.Fact[string]{} })
			}, nil, nccl.IOMMUPassthrough, Unseen,
			"no known cause fits; unknown: iommu-passthrough, acs-redirect, vf-settings",
		},
		"DMA-BUF works, but NCCL may not use it": {
			func(s *host.Snapshot) { s.Env["NCCL_DMABUF_ENABLE"] = "0" }, nil, PeermemRegistered, Fits,
			"fits: peermem-registered; unknown: acs-redirect, vf-settings",
		},
		"a peer-memory module instead of DMA-BUF": {
			closed, nil, PeermemRegistered, Fits,
			"fits: peermem-registered; unknown: acs-redirect, vf-settings",
		},
		"nothing fits": {nil, &node, VFSettings, Unseen, "no known cause fits; unknown: vf-settings"},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, pod)
			if tc.change != nil {
				tc.change(&s)
			}
			all := []host.Snapshot{s}
			if tc.node != nil {
				all = append(all, *tc.node)
			}
			a := LocalProtection(all...)
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

func TestTooLittleMemlockIsNoCauseOfIt(t *testing.T) {
	s := read(t, pod)
	s.Limits.MemlockSoft = host.Know[host.Limit](64 << 10)
	for _, c := range LocalProtection(s).Causes {
		if c.Check == MemlockLimit && c.Fit != Excluded {
			t.Errorf("%+v", c)
		}
	}
}
